"""For langchain-classic. Needs the extra `classic`: `pip install "loopmend[classic]"`.

`create_react_agent` and its kin take `AgentActionOutputParser` as it is; `initialize_agent` and
its agent classes insist on a subclass of their own base class.
"""

from __future__ import annotations

from typing import Any, Final

from loopmend._extras import require_extra

require_extra("langchain_classic", extra="classic", needed_by="langchain_loopmend.classic")

from langchain_classic.agents import AgentOutputParser  # noqa: E402
from langchain_classic.output_parsers.structured import (  # noqa: E402
    StructuredOutputParser as LangChainStructuredParser,
)
from langchain_core.exceptions import OutputParserException  # noqa: E402
from langchain_core.output_parsers import BaseOutputParser  # noqa: E402
from langchain_core.outputs import Generation  # noqa: E402
from langchain_core.runnables import Runnable, RunnableSequence  # noqa: E402
from pydantic import ConfigDict  # noqa: E402
from typing_extensions import override  # noqa: E402

from langchain_loopmend.errors import correction_of, said_by  # noqa: E402
from langchain_loopmend.guarded_agents import LoopStop, with_loop_guard  # noqa: E402
from langchain_loopmend.parsers import AgentActionOutputParser  # noqa: E402
from langchain_loopmend.value_parsers import value_parser  # noqa: E402
from loopmend import (  # noqa: E402
    Failure,
    FailurePattern,
    ReadingConfig,
    read_turn,
)
from loopmend.mending import correction  # noqa: E402

__all__ = [
    "LoopStop",
    "ReActOutputParser",
    "StructuredOutputParser",
    "handle_parsing_error",
    "replace_output_parser",
    "with_loop_guard",
]

_PREFIX: Final = "Could not parse LLM output: "
_FORM_ASKED: Final = ReadingConfig(plain_text="error", detect_signals=False)


class ReActOutputParser(AgentActionOutputParser, AgentOutputParser):
    """`AgentActionOutputParser` for `initialize_agent(..., agent_kwargs={"output_parser": …})`.

    >>> from langchain_classic.agents import AgentOutputParser
    >>> isinstance(ReActOutputParser(), AgentOutputParser)
    True
    """

    model_config = ConfigDict(extra="forbid")  # which the other base class would ignore


class StructuredOutputParser(LangChainStructuredParser):
    """LangChain's `StructuredOutputParser`, but it reads what models really write.

    >>> from langchain_classic.output_parsers import ResponseSchema
    >>> city = ResponseSchema(name="city", description="a city")
    >>> StructuredOutputParser.from_response_schemas([city]).parse("Sure! {'city': 'Oslo',}")
    {'city': 'Oslo'}
    """

    model_config = ConfigDict(extra="forbid")

    @override
    def parse(self, text: str) -> dict[str, Any]:
        """Read a text.

        Raises:
            ValueParseException: No object with these keys can be read with certainty.
        """
        return dict(value_parser(self).parse(text))

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> dict[str, Any]:
        return dict(value_parser(self).parse_result(result))

    @override
    async def aparse_result(
        self, result: list[Generation], *, partial: bool = False
    ) -> dict[str, Any]:
        return self.parse_result(result)


def handle_parsing_error(error: OutputParserException) -> str:
    """Return what to tell the model; for `AgentExecutor(handle_parsing_errors=…)`.

    Works with any parser: for LangChain's own it reads the model's reply again to say
    precisely what is wrong, where the executor would say "Invalid or incomplete response".

    >>> from langchain_core.exceptions import OutputParserException
    >>> error = OutputParserException("Could not parse LLM output: `I will search for it.`")
    >>> handle_parsing_error(error).splitlines()[0]
    'You described a tool call but did not make it. Describing a call does not run it.'
    """
    if error.send_to_llm and isinstance(error.observation, str) and not _is_langchain_own(error):
        return error.observation
    text = _reply(error)
    if text is None:
        return correction_of(None, error) or ""
    turn = read_turn(text, config=_FORM_ASKED)
    failure = turn.failure
    if failure is None:  # we could read it, but the parser in use could not
        failure = Failure(
            FailurePattern.MALFORMED, "The reply is not in the requested form.", turn.span
        )
    return correction(failure, "react")


def replace_output_parser(
    agent: Runnable[Any, Any], parser: BaseOutputParser[Any] | None = None
) -> Runnable[Any, Any]:
    """Return an agent with another parser at its end.

    For constructors that take no parser, such as `create_json_chat_agent` and
    `create_structured_chat_agent`.

    Args:
        agent: What the constructor returned.
        parser: The parser to put there; by default one for agent actions.

    Raises:
        TypeError: The agent does not end with a parser.

    >>> from langchain_core.output_parsers import StrOutputParser
    >>> from langchain_core.runnables import RunnableLambda
    >>> agent = RunnableLambda(lambda text: text) | StrOutputParser()
    >>> replace_output_parser(agent).invoke("Final Answer: 4").return_values
    {'output': '4'}
    """
    steps = agent.steps if isinstance(agent, RunnableSequence) else []
    if not steps or not isinstance(steps[-1], BaseOutputParser):
        msg = "the agent does not end with an output parser"
        raise TypeError(msg)
    last = AgentActionOutputParser() if parser is None else parser
    return RunnableSequence(*steps[:-1], last, name=agent.name)


def _is_langchain_own(error: OutputParserException) -> bool:
    return str(error.observation).startswith("Invalid Format:")


def _reply(error: OutputParserException) -> str | None:
    """Return the model's reply that an error of LangChain's parsers is about."""
    if isinstance(error.llm_output, str):
        return error.llm_output
    message, prefix, text = said_by(error).partition(_PREFIX)
    return text.strip().removeprefix("`").removesuffix("`") if prefix and not message else None
