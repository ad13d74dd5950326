"""For langchain-classic. Needs the extra `classic`: `pip install "loopmend[classic]"`.

`create_react_agent` and its kin take `AgentActionOutputParser` as it is; `initialize_agent` and
its agent classes insist on a subclass of their own base class.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from loopmend.adapting import require_extra

require_extra("langchain_classic", extra="classic", needed_by="langchain_loopmend.classic")

from langchain_classic.agents import AgentOutputParser  # noqa: E402
from langchain_classic.agents.agent import (  # noqa: E402
    ExceptionTool,
    RunnableAgent,
    RunnableMultiActionAgent,
)
from langchain_classic.output_parsers.structured import (  # noqa: E402
    StructuredOutputParser as LangChainStructuredParser,
)
from langchain_core.agents import AgentAction, AgentFinish  # noqa: E402
from langchain_core.exceptions import OutputParserException  # noqa: E402
from langchain_core.output_parsers import BaseOutputParser  # noqa: E402
from langchain_core.outputs import Generation  # noqa: E402
from langchain_core.runnables import Runnable, RunnableSequence  # noqa: E402
from pydantic import BaseModel, ConfigDict  # noqa: E402
from typing_extensions import override  # noqa: E402

from langchain_loopmend.errors import correction_of, reason_in  # noqa: E402
from langchain_loopmend.messages import ENDED  # noqa: E402
from langchain_loopmend.parsers import AgentActionOutputParser  # noqa: E402
from langchain_loopmend.streaming import Immediate  # noqa: E402
from langchain_loopmend.value_parsers import value_parser  # noqa: E402
from loopmend import (  # noqa: E402
    Failure,
    FailurePattern,
    LoopPolicy,
    ReadingConfig,
    StopReason,
    read_turn,
)
from loopmend.adapting import written  # noqa: E402
from loopmend.mending import (  # noqa: E402
    CallResult,
    CapError,
    Nudge,
    OnCap,
    Stop,
    answer_at_cap,
    ask_before_cap,
    check_on_cap,
    correction,
)

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
_CAP: Final = "its iteration or time limit"
_NO_CALL: Final = ExceptionTool().name  # so the executor notes a reply that it could not read
_ANSWER_LABEL: Final = "Final Answer"
Steps = Sequence[tuple[AgentAction, Any]]


class ReActOutputParser(AgentActionOutputParser, AgentOutputParser):
    """`AgentActionOutputParser` for `initialize_agent(..., agent_kwargs={"output_parser": …})`.

    >>> from langchain_classic.agents import AgentOutputParser
    >>> isinstance(ReActOutputParser(), AgentOutputParser)
    True
    """

    model_config = ConfigDict(extra="forbid")  # which the other base class would ignore


class StructuredOutputParser(Immediate, LangChainStructuredParser):
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


def handle_parsing_error(error: OutputParserException) -> str:
    """Return a correction for the model; for `AgentExecutor(handle_parsing_errors=…)`.

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
    message, prefix, text = reason_in(error).partition(_PREFIX)
    return text.strip().removeprefix("`").removesuffix("`") if prefix and not message else None


# Agents that are told when they go in circles, and answer at the cap


class LoopStop(AgentFinish):
    """Ends a run in the model's place.

    The run's result then has the key `loopmend_ended`.

    >>> LoopStop(return_values={"output": "?"}, log="?").reason
    'max_iterations'
    """

    reason: str = StopReason.MAX_ITERATIONS.value
    """Why, in a trace's terms."""

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return False  # it belongs to one run


class _Guarded(BaseModel):
    """What a guarded agent does at the executor's cap."""

    policy: Any
    """When it is told that it goes in circles, a `LoopPolicy`."""
    on_cap: OnCap = "answer"

    def plan(self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any) -> Any:
        """Plan the next step, told that it goes in circles if it does."""
        steps = _guarded(self.policy, intermediate_steps, kwargs)
        if isinstance(steps, AgentFinish):
            return steps
        return super().plan(steps, callbacks, **kwargs)  # type: ignore[misc] # of the agent

    async def aplan(self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any) -> Any:
        """Do the same without blocking."""
        steps = _guarded(self.policy, intermediate_steps, kwargs)
        if isinstance(steps, AgentFinish):
            return steps
        return await super().aplan(steps, callbacks, **kwargs)  # type: ignore[misc] # as above

    def return_stopped_response(
        self, early_stopping_method: str, intermediate_steps: Steps, **kwargs: Any
    ) -> AgentFinish:
        """Return what to answer at the cap.

        Raises:
            CapError: That is what `on_cap` says.
            ValueError: The method is neither `"force"` nor `"generate"`.
        """
        if early_stopping_method not in ("force", "generate"):
            msg = f"Got unsupported early_stopping_method `{early_stopping_method}`"
            raise ValueError(msg)
        answer = answer_at_cap(_calls(intermediate_steps), _CAP)
        if self.on_cap == "raise":
            raise CapError(answer)
        said = None
        if early_stopping_method == "generate" and intermediate_steps:
            told = _told(intermediate_steps, ask_before_cap(_question(kwargs)))
            said = _last_word(self.runnable, {**kwargs, "intermediate_steps": told})  # type: ignore[attr-defined] # of the agent
        return _ended(answer.content if said is None else said, answer.reason)


class GuardedAgent(_Guarded, RunnableAgent):
    """What `with_loop_guard` returns for an agent that makes one call at a time."""


class GuardedMultiActionAgent(_Guarded, RunnableMultiActionAgent):
    """What `with_loop_guard` returns for an agent that may make several calls at once."""


def with_loop_guard(  # noqa: PLR0913 - each is a choice of its own
    agent: Runnable[Any, Any],
    *,
    warn_after: int = 2,
    stop_after: int | None = None,
    window: int = 30,
    exclude_tools: Collection[str] = (),
    on_cap: OnCap = "answer",
) -> GuardedAgent | GuardedMultiActionAgent:
    """Return an agent for `AgentExecutor` whose model gets a warning when it goes in circles.

    The warning follows the latest observation. At the executor's limit of iterations or time the
    run ends with an answer from the results so far, where the executor says "Agent stopped due to
    iteration limit or time limit." With `early_stopping_method="generate"` the agent first asks the
    model for that answer.

    Args:
        agent: What a constructor such as `create_react_agent` returned.
        warn_after: Repeats before the model is warned.
        stop_after: Repeats before the run ends; never by default.
        window: How many of the latest calls count.
        exclude_tools: Tools that may repeat freely.
        on_cap: What to do at the executor's limit: `"answer"` from the results, or `"raise"` a
            `loopmend.mending.CapError`.

    Raises:
        ValueError: Not `1 < warn_after <= stop_after`, or another `on_cap`.

    >>> from langchain_core.agents import AgentAction
    >>> from langchain_core.runnables import RunnableLambda
    >>> agent = with_loop_guard(RunnableLambda(lambda given: "goes on"), warn_after=2, stop_after=3)
    >>> agent.plan([(AgentAction("search", "Oslo", ""), "a city")] * 3).return_values["output"]
    'Stopped: search was called 3 times with the same arguments and the same result: a city'
    """
    check_on_cap(on_cap)
    policy = LoopPolicy(warn_after, stop_after, window, exclude_tools)
    kind = GuardedMultiActionAgent if _makes_several(agent) else GuardedAgent
    return kind(runnable=agent, policy=policy, on_cap=on_cap)


def _makes_several(agent: Runnable[Any, Any]) -> bool:
    """Tell whether an agent may make several calls at once, as the executor tells it."""
    try:
        return bool(agent.OutputType == list[AgentAction] | AgentFinish)
    except TypeError:  # it does not say
        return False


def _guarded(policy: LoopPolicy, steps: Steps, given: dict[str, Any]) -> Steps | AgentFinish:
    label = _ANSWER_LABEL if _writes_labels(steps) else ""
    decision = policy.decide(_calls(steps), _question(given), answer_label=label)
    if isinstance(decision, Stop):
        return _ended(decision.content, decision.reason)
    if isinstance(decision, Nudge):
        return _told(steps, decision.content)
    return steps


def _last_word(agent: Runnable[Any, Any], given: dict[str, Any]) -> str | None:
    """Return what the agent answers when it is asked a last time, or nothing if it goes on."""
    try:
        said = agent.invoke(given)
    except OutputParserException:
        return None
    answer = said.return_values.get("output") if isinstance(said, AgentFinish) else None
    return str(answer) if answer else None


def _writes_labels(steps: Steps) -> bool:
    """Tell whether an agent writes ReAct text: then a line of what it said is labelled so."""
    said = (getattr(action, "log", "") for action, _ in steps)
    return any(line.strip().startswith("Action:") for log in said for line in log.splitlines())


def _calls(steps: Steps) -> list[CallResult]:
    return [
        CallResult(a.tool, a.tool_input, written(s) if isinstance(s, (dict, list)) else str(s))
        for a, s in steps
        if a.tool != _NO_CALL
    ]


def _question(given: dict[str, Any]) -> str:
    asked = given.get("input")
    return asked if isinstance(asked, str) else ""


def _told(steps: Steps, note: str) -> list[tuple[AgentAction, Any]]:
    """Return the steps with a note behind the latest observation."""
    action, seen = steps[-1]
    return [*steps[:-1], (action, f"{seen}\n{note}")]


def _ended(content: str, reason: str) -> LoopStop:
    return LoopStop(return_values={"output": content, ENDED: reason}, log=content, reason=reason)
