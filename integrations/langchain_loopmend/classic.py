"""For agents of langchain-classic. Needs the extra `classic`: `pip install "loopmend[classic]"`.

`create_react_agent` and its kin take `AgentActionOutputParser` as it is; `initialize_agent` and
the agent classes behind it insist on a subclass of their own base class.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from loopmend._extras import require_extra

require_extra("langchain_classic", extra="classic", needed_by="langchain_loopmend.classic")

from langchain_classic.agents import AgentOutputParser  # noqa: E402
from langchain_core.agents import AgentAction, AgentFinish  # noqa: E402
from langchain_core.exceptions import OutputParserException  # noqa: E402
from langchain_core.output_parsers import BaseOutputParser  # noqa: E402
from langchain_core.runnables import (  # noqa: E402
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnablePassthrough,
    RunnableSequence,
)

from langchain_loopmend.attempts import correction, said_by  # noqa: E402
from langchain_loopmend.parsers import AgentActionOutputParser  # noqa: E402
from loopmend import (  # noqa: E402
    CallResult,
    Failure,
    FailurePattern,
    LoopPolicy,
    Nudge,
    ReadingConfig,
    Retry,
    RetryPolicy,
    Stop,
    Turn,
    read_turn,
)

__all__ = [
    "ReActOutputParser",
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


def handle_parsing_error(error: OutputParserException) -> str:
    """Return what to tell the model; for `AgentExecutor(handle_parsing_errors=…)`.

    Works with any parser: for LangChain's own it reads the model's reply once more to say
    precisely what is wrong, where the executor would say "Invalid or incomplete response".

    >>> from langchain_core.exceptions import OutputParserException
    >>> error = OutputParserException("Could not parse LLM output: `I will search for it.`")
    >>> handle_parsing_error(error).split(". ")[1]
    'It tells what will be done, but calls nothing'
    """
    if error.send_to_llm and isinstance(error.observation, str) and not _is_langchain_own(error):
        return error.observation
    text = _reply(error)
    if text is None:
        return correction(None, error, 0)
    turn = read_turn(text, config=_FORM_ASKED)
    if turn.failure is None:  # we could read it, but the parser in use could not
        failure = Failure(FailurePattern.MALFORMED, "It is in another form.", turn.span)
        turn = Turn(failure=failure)
    decision = RetryPolicy().decide(turn, 0)
    return decision.messages[0].content if isinstance(decision, Retry) else ""


def replace_output_parser(
    agent: Runnable[Any, Any], parser: BaseOutputParser[Any] | None = None
) -> Runnable[Any, Any]:
    """Return an agent with another parser at its end.

    For constructors that take none, such as `create_json_chat_agent` and
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


def with_loop_guard(
    agent: Runnable[Any, Any],
    *,
    soft: int = 3,
    hard: int = 6,
    window: int = 30,
    exclude_tools: Collection[str] = (),
) -> Runnable[Any, Any]:
    """Return an agent that is nudged, then stopped, when it makes the same call again and again.

    The nudge stands after the latest observation; the stop is the answer, with the result that
    kept coming. An executor would go on to its cap of iterations and return neither.

    Args:
        agent: What a constructor such as `create_react_agent` returned.
        soft: From so many times on the model is told.
        hard: From so many times on the run is ended.
        window: How many of the latest calls count.
        exclude_tools: Tools that may be repeated at will, such as those that poll.

    Raises:
        ValueError: Not `1 < soft <= hard`.

    >>> from langchain_core.agents import AgentAction
    >>> from langchain_core.runnables import RunnableLambda
    >>> agent = with_loop_guard(RunnableLambda(lambda given: "goes on"), soft=2, hard=3)
    >>> agent.invoke({"intermediate_steps": [(AgentAction("search", "Oslo", ""), "a city")] * 3})
    ... # doctest: +ELLIPSIS
    AgentFinish(return_values={'output': 'I stopped: search was called 3 times ...
    """
    policy = LoopPolicy(soft, hard, window, exclude_tools)
    guard: Runnable[Any, Any] = RunnableLambda(
        lambda given: _guarded(given, policy), name="loop_guard"
    )
    branch: Runnable[Any, Any] = RunnableBranch(
        (lambda given: isinstance(given, AgentFinish), RunnablePassthrough()), agent
    )
    # The executor tells by the type whether there may be several actions at once.
    return (guard | branch).with_types(output_type=agent.OutputType)


def _guarded(given: dict[str, Any], policy: LoopPolicy) -> dict[str, Any] | AgentFinish:
    steps: list[tuple[AgentAction, Any]] = given.get("intermediate_steps") or []
    made = [CallResult(action.tool, action.tool_input, str(seen)) for action, seen in steps]
    decision = policy.decide(made)
    if isinstance(decision, Stop):
        return AgentFinish({"output": decision.content}, decision.content)
    if isinstance(decision, Nudge):
        action, seen = steps[-1]
        return {
            **given,
            "intermediate_steps": [*steps[:-1], (action, f"{seen}\n{decision.content}")],
        }
    return given


def _is_langchain_own(error: OutputParserException) -> bool:
    return str(error.observation).startswith("Invalid Format:")


def _reply(error: OutputParserException) -> str | None:
    """Return the model's reply that an error of LangChain's parsers is about."""
    if isinstance(error.llm_output, str):
        return error.llm_output
    message, prefix, text = said_by(error).partition(_PREFIX)
    return text.strip().removeprefix("`").removesuffix("`") if prefix and not message else None
