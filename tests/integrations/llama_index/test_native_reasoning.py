"""What LlamaIndex's own agents do wrong with reasoning, arguments and answers: D9 to D14.

The table in `test_native_defects.py` says which switch stands for which.
"""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ResponseReasoningStep
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.workflow import Context
from typing_extensions import override
from workflows.errors import WorkflowRuntimeError

from llama_index_loopmend import Mends, PlannerStepHook, with_planner
from llama_index_loopmend.testing import ScriptedLLM
from tests.integrations.llama_index.agents import ACT, FINISH
from tests.integrations.llama_index.mended import (
    WRITTEN,
    native,
    planned,
    run,
    scripted,
    switched_off,
)


@pytest.mark.parametrize(("mends", "stale"), [(None, False), ("fresh_reasoning", True)])
def test_d9_reasoning_leaks_into_the_next_run(mends: str | None, *, stale: bool) -> None:
    """Natively a run starts with what a failed one left behind; ours starts afresh."""
    leaks = []
    for make in (native, planned if mends is None else without_fresh):
        llm = scripted(ACT, ACT, FINISH)
        agent = make("react", llm)
        ctx: Context[Any] = Context(agent)
        failed = run(agent, llm, ctx=ctx, max_iterations=2)
        assert isinstance(failed.error, WorkflowRuntimeError)
        again = run(agent, llm, "And 2 + 2?", ctx=ctx, memory=failed.memory)
        leaks.append(any("Action: add" in text for text in again.prompts[2]))
    assert leaks == [True, stale]


def without_fresh(kind: str, llm: ScriptedLLM) -> Any:
    """Return an agent that keeps what others left behind."""
    return planned(kind, llm, mends=Mends(fresh_reasoning=False))


HAND_OVER = (
    'Thought: ask the clerk\nAction: handoff\nAction Input: {"to_agent": "clerk", "reason": "sums"}'
)


@pytest.mark.parametrize("way", ["native", "planned", "off"])
def test_d9_a_specialist_is_not_told(way: str) -> None:
    """Natively a specialist learns nothing of a ReAct agent's handover; ours does, and it ends."""
    llm = scripted(HAND_OVER, "It is 3.")
    boss = native("react", llm, name="boss", description="leads", can_handoff_to=["clerk"])
    clerk = native("function", llm, name="clerk", description="adds")
    if way != "native":
        mends = Mends(fresh_reasoning=way == "planned")
        boss = with_planner(boss, PlannerStepHook(mends=mends))
    ran = run(AgentWorkflow(agents=[boss, clerk], root_agent="boss"), llm)
    assert ran.answer == "It is 3."
    told = any("handoff" in text for text in ran.prompts[1])
    assert (told, bool(ran.state["current_reasoning"])) == (way == "planned", way != "planned")
    assert ran.repeats() == [1, 1]


NESTED = 'Thought: t\nAction: keep\nAction Input: {"value": {"deep": [true, null]}}'


def keep(value: Any) -> str:
    """Keep a value."""
    return type(value).__name__


def test_d11_the_model_sees_python() -> None:
    """Natively actions come back as Python, with types of a JSON library; ours as JSON."""
    shown, types = [], []
    for make in (native, planned, python_history):
        llm = scripted(NESTED, FINISH)
        ran = run(make("react", llm, tools=[keep]), llm)
        shown.append(ran.prompts[1][1].partition("Action Input: ")[2])
        types.append(ran.made[0][2])
    assert shown == [
        "{'value': AttributedDict([('deep', [True, None])])}",
        '{"value": {"deep": [true, null]}}',
        "{'value': {'deep': [True, None]}}",
    ]
    assert types == ["AttributedDict", "dict", "dict"]
    llm = scripted(NESTED, FINISH)
    mends = {"tolerant_reading": False, "json_history": False}
    agent = switched_off("react", llm, {"tools": [keep]}, **mends)
    assert shown[0] in run(agent, llm).prompts[1][1]


def python_history(kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    """Return an agent that shows actions as natively."""
    return planned(kind, llm, mends=Mends(json_history=False), **options)


def test_d11_a_salvaged_action_is_shown_as_natively() -> None:
    """Also an action that had to be made anew is shown as Python where that is wanted."""
    llm = scripted(WRITTEN, FINISH)
    ran = run(with_planner(native("react", llm), PlannerStepHook(mends=Mends())), llm)
    assert ran.prompts[1][1].endswith('Action Input: {"a": 1, "b": 2}')
    llm = scripted(WRITTEN, FINISH)
    hook = PlannerStepHook(mends=Mends(json_history=False))
    ran = run(with_planner(native("react", llm), hook), llm)
    assert ran.prompts[1][1].endswith("Action Input: {'a': 1, 'b': 2}")


def search(query: str, limit: int = 3, *, exact: bool = False) -> str:
    """Search the web."""
    return f"{query} {limit} {exact}"


def test_d12_arguments_are_dropped() -> None:
    """Natively arguments in Python lose all that are no texts; ours keeps them."""
    text = (
        "Thought: t\nAction: search\nAction Input: {'query': \"what's\", 'limit': 5, 'exact': True}"
    )
    results = []
    for make in (native, planned, with_native_parser):
        llm = scripted(text, FINISH)
        results.append(run(make("react", llm, tools=[search]), llm).made[0][2])
    assert results == ["what's 3 False", "what's 5 True", "what's 3 False"]


def with_native_parser(kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    """Return an agent that believes the native parser."""
    return switched_off(kind, llm, options, tolerant_reading=False)


class Refusing(ReActOutputParser):
    """A parser that wants a number, and says so with LlamaIndex's own error for parsers."""

    @override
    def parse(self, output: str, is_streaming: bool = False) -> Any:
        if "3" not in output:
            raise OutputParserException("numberless")
        return super().parse(output, is_streaming)


def test_d13_llama_indexs_own_error_kills_the_run() -> None:
    """Natively a parser's own error ends the run; ours tells the model what the parser says."""
    runs = []
    for make, mends in ((native, {}), (planned, {}), (planned, {"retry_in_step": False})):
        llm = scripted("Thought: t\nAnswer: three", FINISH)
        options = {"mends": Mends(**mends)} if make is planned else {}
        runs.append(run(make("react", llm, output_parser=Refusing(), **options), llm))
    theirs, ours, off = runs
    assert isinstance(theirs.error, OutputParserException)
    assert isinstance(off.error, OutputParserException)
    assert (ours.answer, ours.issues) == ("3", [("malformed", "retry")])
    assert ours.prompts[1][-1] == "Your last reply cannot be used. numberless"


class Clean(ReActOutputParser):
    """A parser that cleans the answer."""

    @override
    def parse(self, output: str, is_streaming: bool = False) -> Any:
        step = super().parse(output, is_streaming)
        assert isinstance(step, ResponseReasoningStep)
        return ResponseReasoningStep(thought=step.thought, response=step.response.strip("*. "))


@pytest.mark.parametrize(
    ("said", "raw"),
    [("Thought: t\nAnswer: **3**.", "**3**."), ("Thought: the Answer: is near\nAnswer: 3", None)],
)
def test_d14_the_parsed_answer_is_ignored(said: str, raw: str | None) -> None:
    """Natively the answer is what follows the first `Answer:`; ours is what the parser found."""
    answers = []
    for make, mends in ((native, {}), (planned, {}), (planned, {"parsed_answer": False})):
        llm = scripted(said)
        options = {"mends": Mends(**mends)} if make is planned else {}
        answers.append(run(make("react", llm, output_parser=Clean(), **options), llm).answer)
    assert answers[0] == answers[2] == (raw or "is near\nAnswer: 3")
    assert answers[1] == Clean().parse(said).response
