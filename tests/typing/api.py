"""How the public API looks to a type checker. Checked by mypy, never run."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import assert_type

from loopmend import (
    AdvisedPlan,
    Ask,
    AskUser,
    Done,
    FailurePattern,
    FinalAnswer,
    GaveUp,
    JsonReader,
    JsonReading,
    Mending,
    Planner,
    Reply,
    RetryPolicy,
    ToolCall,
    Turn,
    explain,
    read_json,
    read_turn,
)
from loopmend.contracts import (
    ActionCandidate,
    AgentAction,
    GrammarOk,
    MetaSignal,
    NormalizationPattern,
    PlannedAction,
    Stuck,
    TaskExecutionPlan,
    TaskOperatingState,
    TaskStateInput,
    classify_scratchpad_grammar,
    detect_meta_signal,
    detect_normalization_failure,
    from_json,
    parse_action,
    plan,
    synthesize_task_state,
    to_json,
)
from loopmend.planning import Explanation, PlanRule
from loopmend.reading import Problem


def every_action_is_handled(text: str) -> str:
    """A match over the three actions is exhaustive."""
    action = parse_action(text)
    match action:
        case FinalAnswer(content):
            assert_type(content, str)
            return content
        case ToolCall(name, arguments):
            assert_type(arguments, Any)
            return name
        case AskUser(question):
            return question


def tags_are_literals(action: AgentAction) -> None:
    """The tag narrows the union."""
    if action.type == "tool_call":
        assert_type(action, ToolCall)
        assert_type(action.type, Literal["tool_call"])


def verdicts(text: str) -> None:
    """Verdicts are unions or optional values."""
    assert_type(detect_normalization_failure(text), NormalizationPattern | None)
    signal: MetaSignal | None = detect_meta_signal(text)
    if isinstance(signal, Stuck):
        assert_type(signal.hypothesis, str | None)
    outcome = classify_scratchpad_grammar(text)
    if isinstance(outcome, GrammarOk):
        assert_type(outcome.blocks, int)


def planning() -> None:
    """Lists are welcome where values keep tuples."""
    turn = TaskStateInput("go", intents=["Execution"], fit_agent_names=("a",))
    state = synthesize_task_state(turn)
    assert_type(state, TaskOperatingState)
    planned = plan(state, turn)
    assert_type(planned, TaskExecutionPlan)
    assert_type(planned.selected, PlannedAction)


def _own_rule(state: TaskOperatingState, input: TaskStateInput) -> ActionCandidate | None:
    """Any function of this form is a rule."""


def advising(turn: TaskStateInput) -> None:
    """Rules of one's own are functions; both kinds of plan can be explained."""
    rule: PlanRule = _own_rule
    advised = Planner([rule, _own_rule]).advise(turn, form="react")
    assert_type(advised, AdvisedPlan)
    assert_type(advised.contract, TaskExecutionPlan)
    assert_type(advised.selected, PlannedAction)
    assert_type(explain(advised), Explanation)
    assert_type(explain(advised.contract).rows[0].rank, int)


def wire(final: FinalAnswer) -> None:
    """A class comes back as itself, a union as anything."""
    assert_type(from_json(FinalAnswer, to_json(final)), FinalAnswer)
    assert_type(from_json(AgentAction, to_json(final)), Any)


def values(text: str) -> None:
    """A value is anything; what is wrong with it is in parts."""
    reading = read_json(text, dict[str, int])
    assert_type(reading, JsonReading)
    assert_type(reading.value, Any)
    if reading.failure is not None:
        assert_type(reading.failure.problems, tuple[Problem, ...])
    assert_type(JsonReader({"type": "object"}).close(), JsonReading)
    match Mending(schema=int).reply(Reply(text)):
        case Done() as done:
            assert_type(done.reading, JsonReading | None)


def reading(text: str) -> None:
    """A turn is a value; a step is one of three."""
    turn = read_turn(text, tools=[planning, "search", {"name": "f"}])
    assert_type(turn, Turn)
    if turn.failure is not None:
        assert_type(turn.failure.pattern, FailurePattern)
    match Mending(policy=RetryPolicy()).reply(Reply(text)):
        case Done(accepted):
            assert_type(accepted, Turn)
        case Ask(messages):
            assert_type(messages[0].content, str)
        case GaveUp(failure):
            assert_type(failure.message, str)
