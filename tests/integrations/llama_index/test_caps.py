"""What happens when a run goes in circles or runs out of steps, as users reported it."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.tools import FunctionTool
from workflows.errors import WorkflowRuntimeError

from llama_index_loopmend import LoopGuardHook, NormalizationHook, PlannedAgentWorkflow, with_hooks
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend import StopReason
from tests.integrations.llama_index.agents import ACT, add, fail, recorded
from tests.integrations.llama_index.mended import WRITTEN, Ran, native, planned, run, scripted

ADD = call("add", a=1, b=2)
ACTS: dict[str, Any] = {"react": ACT, "function": ADD, "code": "<execute>add(1, 2)</execute>"}
WAYS = ("class", "wrapped", "planned workflow", "LlamaIndex's workflow")


def guarded(way: str, kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    """Return an agent whose loops are guarded, in one of the ways."""
    hook: list[Any] = [LoopGuardHook(**options)]
    if way == "class":
        return planned(kind, llm, hook=hook)
    if way == "wrapped":
        return with_hooks(native(kind, llm), hook)
    if way == "planned workflow":
        return PlannedAgentWorkflow(agents=[native(kind, llm)], hooks=hook)
    return AgentWorkflow(agents=[planned(kind, llm, hook=hook)])


def ended(ran: Ran) -> str:
    """Return why loopmend ended a run."""
    assert ran.output is not None
    return str(ran.output["loopmend_ended"])


@pytest.mark.parametrize("kind", list(ACTS))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["force", "generate"])
def test_issue_14843_an_answer_instead_of_an_error(way: str, kind: str, method: Any) -> None:
    """At the limit the run ends with an answer from what was found, and says that it is none."""
    llm = scripted(ACTS[kind], ACTS[kind], "So it is 3.")
    ran = run(guarded(way, kind, llm), llm, max_iterations=2, early_stopping_method=method)
    assert (ran.answer, ended(ran)) == ("So it is 3.", "max_iterations")
    assert ran.prompts[2][-1].startswith("This is the last step: no more calls. Answer from")
    assert any(text.endswith("3") for text in ran.prompts[2][1:-1])
    assert ran.remembered[-1].endswith("So it is 3.")


def test_issue_14843_the_error_is_yours_to_choose() -> None:
    """With `on_cap="raise"` the limit is LlamaIndex's own affair."""
    llm = scripted(ADD, repeat=True)
    ran = run(guarded("class", "function", llm, on_cap="raise"), llm, max_iterations=2)
    assert isinstance(ran.error, WorkflowRuntimeError)
    with pytest.raises(ValueError, match="on_cap must be 'answer' or 'raise', not 'stop'"):
        LoopGuardHook(on_cap="stop")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "last", ["", "I will use the add tool.", ConnectionError("down"), "Let me see. Action: add"]
)
def test_issue_14843_what_was_found_if_the_model_is_of_no_use(last: Any) -> None:
    """Whatever the model says then, the user learns what was found."""
    llm = scripted(ADD, ADD, last)
    ran = run(guarded("class", "function", llm), llm, max_iterations=2)
    assert ran.answer == "Stopped: the run reached its step limit. Results so far: add(1, 2): 3"
    llm = scripted(ADD, last)
    ran = run(guarded("class", "function", llm), llm, max_iterations=1)
    assert ran.answer == "Stopped: the run reached its step limit. Results so far: none"


@pytest.mark.parametrize("said", ["Thought: done\nAnswer: 3", "Answer: 3", "3"])
def test_issue_14843_a_label_is_no_part_of_the_answer(said: str) -> None:
    """A model that goes on in the form of its prompt has still answered."""
    llm = scripted(ACT, ACT, said)
    assert run(guarded("class", "react", llm), llm, max_iterations=2).answer == "3"


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_cap_ends_a_run_in_any_order_of_hooks(kind: str) -> None:
    """What a hook before it makes of the last reply is capped, too: the run does not go on."""
    orders = ([NormalizationHook(), LoopGuardHook()], [LoopGuardHook(), NormalizationHook()])
    for order in orders:
        llm = scripted(WRITTEN, repeat=True)
        ran = run(with_hooks(native(kind, llm), list(order)), llm, max_iterations=3)
        assert ran.answer == "Stopped: the run reached its step limit. Results so far: add(1, 2): 3"
        assert len(llm.asked) == 4


def answering(kind: str, tool: Any) -> tuple[Any, ScriptedLLM]:
    """Return a guarded agent that looks something up and then calls a tool that answers."""
    direct = FunctionTool.from_defaults(tool, return_direct=True)
    acts = [f"Thought: go\nAction: {name}\nAction Input: {{}}" for name in ("look", "give")]
    calls = acts if kind == "react" else [call("look"), call("give")]
    llm = scripted(*calls, *calls[1:] * 9)
    return with_hooks(native(kind, llm, tools=[look, direct]), [LoopGuardHook()]), llm


def look() -> str:
    """Look something up."""
    return "a lamp"


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_tool_that_answers_may_run_in_the_last_step(kind: str) -> None:
    """Its result is the answer, for which no step is needed; it is let fail but once."""
    fails = True

    def give() -> str:
        """Give it to the user."""
        if fails:
            msg = "no"
            raise ValueError(msg)
        return "Your lamp."

    agent, llm = answering(kind, give)
    failed = run(agent, llm, max_iterations=2)
    told = "The last call failed: no. Results so far: look(): a lamp"
    assert failed.answer == f"Stopped: the run reached its step limit. {told}"
    assert (ended(failed), len(failed.made)) == ("max_iterations", 2)
    fails = False
    agent, llm = answering(kind, give)
    ran = run(agent, llm, max_iterations=2)
    assert (ran.answer, len(llm.asked)) == ("Your lamp.", 2)
    assert ran.output is not None
    assert "loopmend_ended" not in ran.output
    agent, llm = answering(kind, give)
    llm.script = llm.script[1:]
    assert ended(run(agent, llm, max_iterations=1)) == "max_iterations"


def test_issue_12209_the_model_is_told_of_its_last_step() -> None:
    """Who has one step left is told to answer, and natively learns nothing."""
    acts = [call("add", f"call_{n}", a=n, b=n) for n in range(2)]
    for hooked in (False, True):
        llm = scripted(*acts, "It is 2.")
        agent = guarded("class", "function", llm) if hooked else native("function", llm)
        ran = run(agent, llm, max_iterations=3)
        told = ["This is the last step" in str(prompt) for prompt in ran.asked]
        assert told == [False, False, hooked]
        assert (ran.error is None) is hooked


@pytest.mark.parametrize("kind", ["react", "function"])
def test_issue_16982_the_same_call_again_and_again(kind: str) -> None:
    """A model that repeats itself is told so, and stopped where that is wanted."""
    llm = scripted(ACTS[kind], repeat=True)
    theirs = run(native(kind, llm), llm, max_iterations=6)
    assert isinstance(theirs.error, WorkflowRuntimeError)
    llm = scripted(ACTS[kind], repeat=True)
    ours = run(guarded("class", kind, llm, stop_after=3), llm, max_iterations=6)
    assert ours.answer.startswith("Stopped: add was called 3 times with the same arguments")
    assert (ended(ours), len(llm.asked)) == ("blocked", 3)
    assert ours.prompts[2][-1].startswith("You called add 2 times with the same arguments")
    assert "You called add" not in str([ours.asked[1], ours.remembered])


def test_a_stopped_loop_is_no_cap() -> None:
    """A trace tells a policy that stopped a loop from a limit that was reached."""
    looped = guarded("class", "function", scripted(ADD, repeat=True), stop_after=3)
    capped = guarded("class", "function", scripted(ADD, ADD, "So it is 3."))
    assert recorded(looped).reason == StopReason.BLOCKED.value
    assert recorded(capped, max_iterations=2).reason == StopReason.MAX_ITERATIONS.value


def test_errors_are_told_to_the_model_as_results() -> None:
    """What failed is not what was found."""
    llm = scripted(call("fail", why="no"), ADD, "")
    agent = planned("function", llm, hook=[LoopGuardHook()], tools=[fail, add])
    said = "The last call failed: no. Results so far: none"
    assert run(agent, llm, max_iterations=2).answer.endswith(said)


def test_handovers_back_and_forth() -> None:
    """Agents that hand the work to each other are told and stopped, whatever reasons they give."""
    turns = iter(range(20))

    def over(name: str) -> Any:
        return lambda _: call("handoff", to_agent=name, reason=f"reason {next(turns)}")

    llms = [scripted(over(name), repeat=True) for name in ("b", "a")]
    agents = [
        native("function", llm, name=name, description=name)
        for name, llm in zip("ab", llms, strict=True)
    ]
    hook = LoopGuardHook(stop_after=4)
    flow = PlannedAgentWorkflow(agents=agents, root_agent="a", hooks=[hook])
    ran = run(flow, llms[0], max_iterations=15)
    assert ended(ran) == "blocked"
    assert sum(len(llm.asked) for llm in llms) < 15
    assert any("Do not hand it over again" in str(llm.asked) for llm in llms)


@pytest.mark.parametrize(
    ("name", "may"), [("nobody", ["c"]), ("b", ["c"]), ("b", [])], ids=["unknown", "not", "none"]
)
def test_handovers_that_are_refused(name: str, may: list[str]) -> None:
    """Whom nobody handed over to did not get the work: the model is told to fix its call."""
    over = [call("handoff", f"call_{n}", to_agent=name, reason=f"reason {n}") for n in range(3)]
    llms = scripted(*over, "I cannot."), scripted(), scripted()
    agents = [
        native("function", llm, name=each, description=each, can_handoff_to=may)
        for llm, each in zip(llms, "abc", strict=True)
    ]
    flow = PlannedAgentWorkflow(agents=agents, root_agent="a", hooks=[LoopGuardHook()])
    ran = run(flow, llms[0])
    assert ran.answer == "I cannot."
    told = [str(prompt[-1].content) for prompt in ran.asked]
    assert "handoff failed 3 times in a row. Now fix what its last error names" in told[3]
    assert "Do not hand it over again" not in str(told)
