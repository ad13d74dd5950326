"""What LlamaIndex's own agents do wrong and agents with hooks right, as far as a user feels it.

Each test shows both, so that it fails as soon as LlamaIndex mends a defect itself:

| defect                                                        | mended by           |
|---------------------------------------------------------------|---------------------|
| D1 a retry repeats the user's message                         | `NormalizationHook` |
| D2 a retry shows the bad reply before what came before it     | `NormalizationHook` |
| D3 bad replies are shown, all but the latest not, without end | `NormalizationHook` |
| D4 calls in JSON or XML, and narrated ones, are the answer    | `NormalizationHook` |
| D5 saying nothing is the answer of a `FunctionAgent`          | `NormalizationHook` |
| D6 an answer without a thought is refused                     | the parser          |
| D7 an answer in the last iteration is thrown away             | `LoopGuardHook`     |
| D8 the answer at the cap is made without what was found       | `LoopGuardHook`     |
| D9 reasoning leaks into the next run, and not to a specialist | any hook            |
| D11 the model sees its actions as Python                      | the parser          |
| D12 arguments that are no texts are dropped                   | the parser          |
| D13 LlamaIndex's own error for parsers kills the run          | `NormalizationHook` |
| D14 the answer that the parser found is ignored               | any hook            |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ResponseReasoningStep
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.workflow import Context
from typing_extensions import override
from workflows.errors import WorkflowRuntimeError

from llama_index_loopmend import LoopGuardHook, PlannedAgentWorkflow, with_hooks
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import ACT, BAD, FINISH
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.mended import (
    CALLS,
    NARRATED,
    QUESTION,
    Ran,
    native,
    planned,
    run,
    scripted,
)

Make = Callable[[ScriptedLLM], Any]
JSON_CALL = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
WRITTEN = {
    "json": JSON_CALL,
    "fenced": f"```json\n{JSON_CALL}\n```",
    "xml": f"<tool_call>{JSON_CALL}</tool_call>",
}


def both(kind: str, *script: Any, repeat: bool = False, **options: Any) -> tuple[Ran, Ran]:
    """Run the native agent and the planned one with the same script."""
    first, second = (scripted(*script, repeat=repeat) for _ in range(2))
    return run(native(kind, first), first, **options), run(planned(kind, second), second, **options)


def place(ran: Ran, prompt: int, *parts: str) -> list[int]:
    """Return at which places of a prompt texts first stand."""
    said = ran.prompts[prompt]
    return [next(at for at, text in enumerate(said) if part in text) for part in parts]


def test_d1_a_retry_repeats_the_users_message() -> None:
    """Natively a retry shows the user's message twice; ours shows it once."""
    theirs, ours = both("react", BAD, FINISH)
    assert [theirs.repeats(), ours.repeats()] == [[1, 2], [1, 1]]
    assert {theirs.answer, ours.answer} == {"3"}


def test_d2_a_retry_is_out_of_order() -> None:
    """Natively the bad reply stands before what was done before it; ours is not shown again."""
    theirs, ours = both("react", ACT, BAD, FINISH)
    bad, error, observed = place(theirs, 2, BAD, "Error while parsing", "Observation: 3")
    assert bad < error < observed
    observed, corrected = place(ours, 2, "Observation: 3", "Call the tool with a line")
    assert observed < corrected == len(ours.prompts[2]) - 1
    assert BAD not in ours.prompts[2]


def test_d3_retries_forget_and_never_end() -> None:
    """Natively the latest bad reply is shown, until the cap; ours shows none, and ends."""
    other = BAD.replace("see", "think")
    theirs, ours = both("react", BAD, other, FINISH)
    for bad, shown in ((BAD, [False, False]), (other, [True, False])):
        assert [bad in ran.prompts[2] for ran in (theirs, ours)] == shown
    assert len(ours.prompts[1]) == len(ours.prompts[2]) == 2
    theirs, ours = both("react", BAD, repeat=True, max_iterations=7)
    assert [len(ran.llm.asked) for ran in (theirs, ours)] == [7, 2]
    assert isinstance(theirs.error, WorkflowRuntimeError)
    assert ours.answer.startswith("Gave up after 1 retry: ")


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("kind", ["react", "function"])
def test_d4_a_written_call_is_the_answer(kind: str, text: str) -> None:
    """Natively a call that is not in the agent's form is the answer; ours makes it."""
    theirs, ours = both(kind, text, FINISH if kind == "react" else "It is 3.")
    assert (theirs.answer, theirs.made, len(theirs.llm.asked)) == (text, [], 1)
    assert ours.made == [("add", {"a": 1, "b": 2}, "3")]
    assert ours.answer in ("3", "It is 3.")


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_d4_a_written_call_is_asked_for_anew_if_you_want(text: str) -> None:
    """With `salvage=False` the model has to make it through the interface."""
    llm = scripted(text, "It is 3.")
    ran = run(planned("function", llm, hook=hooks(salvage=False)), llm)
    assert (ran.answer, ran.issues) == ("It is 3.", [("textual_call", "retry")])


@pytest.mark.parametrize("kind", ["react", "function", "code"])
def test_d4_a_narrated_call_is_the_answer(kind: str) -> None:
    """Natively what the model says it will do is the answer; ours has it done."""
    answer = FINISH if kind == "react" else "It is 3."
    theirs, ours = both(kind, NARRATED, CALLS[kind], answer)
    assert theirs.answer == NARRATED
    assert [result for _, _, result in ours.made] == ["3"]
    assert ours.issues == [("narrated", "retry")]


@pytest.mark.parametrize("text", ["", "   "])
def test_d5_saying_nothing_is_the_answer(text: str) -> None:
    """Natively a function-calling agent answers with nothing; ours is asked again."""
    theirs, ours = both("function", text, CALLS["function"], "It is 3.")
    assert theirs.answer == text
    assert (ours.answer, ours.issues) == ("It is 3.", [("empty", "retry")])


def test_d5_after_a_result_it_is_a_way_to_finish() -> None:
    """Natively silence after a result is the answer; ours asks for one, and then takes silence."""
    theirs, ours = both("function", call("add", a=1, b=2), "", "")
    assert (theirs.answer, len(theirs.llm.asked)) == ("", 2)
    assert (ours.answer, ours.issues) == ("", [("empty", "retry")])


def test_d6_an_answer_needs_a_thought() -> None:
    """Natively an answer without a thought is refused until the cap; ours is the answer."""
    theirs, ours = both("react", "Answer: 3", repeat=True, max_iterations=4)
    assert isinstance(theirs.error, WorkflowRuntimeError)
    assert len(theirs.llm.asked) == 4
    assert (ours.answer, len(ours.llm.asked)) == ("3", 1)
    llm = scripted("Answer: 3")
    strict = run(planned("react", llm, output_parser=ReActOutputParser()), llm)
    assert (strict.answer, len(strict.llm.asked)) == ("3", 1)


WAYS: dict[str, tuple[Make, Make]] = {
    "alone": (lambda llm: native("react", llm), lambda llm: planned("react", llm)),
    "in a workflow": (
        lambda llm: AgentWorkflow(agents=[native("function", llm)]),
        lambda llm: PlannedAgentWorkflow(agents=[native("function", llm)]),
    ),
    "in LlamaIndex's workflow": (
        lambda llm: AgentWorkflow(agents=[native("function", llm)]),
        lambda llm: AgentWorkflow(agents=[planned("function", llm)]),
    ),
}
"""The native way, and ours."""


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("most", [1, 2])
def test_d7_the_last_answer_is_thrown_away(make: tuple[Make, Make], most: int) -> None:
    """Natively an answer in the last iteration is an error; ours counts."""
    ends = []
    for made in make:
        kind = "react" if make is WAYS["alone"] else "function"
        llm = scripted(*[CALLS[kind]] * (most - 1), "It is 3.")
        ends.append(run(made(llm), llm, max_iterations=most))
    theirs, ours = ends
    assert isinstance(theirs.error, WorkflowRuntimeError)
    assert (ours.answer, len(ours.llm.asked)) == ("It is 3.", most)


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
def test_d8_the_last_call_sees_nothing(make: tuple[Make, Make]) -> None:
    """Natively the answer at the cap is made without what tools found; ours has it at hand."""
    prompts = []
    for made in make:
        act = ACT if make is WAYS["alone"] else CALLS["function"]
        llm = scripted(act, act, "It is 3, I think.")
        ran = run(made(llm), llm, max_iterations=2, early_stopping_method="generate")
        assert ran.answer == "It is 3, I think."
        prompts.append(ran.prompts[2])
    assert [any(text.endswith("3") for text in prompt[1:]) for prompt in prompts] == [False, True]
    assert [prompt.count(QUESTION) for prompt in prompts] == [1, 1]


def test_d9_reasoning_leaks_into_the_next_run() -> None:
    """Natively a run starts with what a failed one left behind; ours starts afresh."""
    leaks = []
    for hook in (None, hooks(on_cap="raise")):
        llm = scripted(ACT, ACT, FINISH)
        agent = native("react", llm) if hook is None else planned("react", llm, hook=hook)
        ctx: Context[Any] = Context(agent)
        failed = run(agent, llm, ctx=ctx, max_iterations=2)
        assert isinstance(failed.error, WorkflowRuntimeError)
        again = run(agent, llm, "And 2 + 2?", ctx=ctx, memory=failed.memory)
        leaks.append(any("Action: add" in text for text in again.prompts[2]))
    assert leaks == [True, False]


HAND_OVER = (
    'Thought: ask the clerk\nAction: handoff\nAction Input: {"to_agent": "clerk", "reason": "sums"}'
)


@pytest.mark.parametrize("hooked", [False, True])
def test_d9_a_specialist_is_not_told(*, hooked: bool) -> None:
    """Natively a specialist learns nothing of a ReAct agent's handover; ours does, and it ends."""
    llm = scripted(HAND_OVER, "It is 3.")
    boss = native("react", llm, name="boss", description="leads", can_handoff_to=["clerk"])
    clerk = native("function", llm, name="clerk", description="adds")
    boss = with_hooks(boss, [LoopGuardHook()]) if hooked else boss
    ran = run(AgentWorkflow(agents=[boss, clerk], root_agent="boss"), llm)
    assert ran.answer == "It is 3."
    told = any("handoff" in text for text in ran.prompts[1])
    assert (told, bool(ran.state["current_reasoning"])) == (hooked, not hooked)
    assert ran.repeats() == [1, 1]


NESTED = 'Thought: t\nAction: keep\nAction Input: {"value": {"deep": [true, null]}}'


def keep(value: Any) -> str:
    """Keep a value."""
    return type(value).__name__


def test_d11_the_model_sees_python() -> None:
    """Natively actions come back as Python, with types of a JSON library; ours as JSON."""
    shown, types = [], []
    for make in (native, planned):
        llm = scripted(NESTED, FINISH)
        ran = run(make("react", llm, tools=[keep]), llm)
        shown.append(ran.prompts[1][1].partition("Action Input: ")[2])
        types.append(ran.made[0][2])
    assert shown == [
        "{'value': AttributedDict([('deep', [True, None])])}",
        '{"value": {"deep": [true, null]}}',
    ]
    assert types == ["AttributedDict", "dict"]


def search(query: str, limit: int = 3, *, exact: bool = False) -> str:
    """Search the web."""
    return f"{query} {limit} {exact}"


def test_d12_arguments_are_dropped() -> None:
    """Natively arguments in Python lose all that are no texts; ours keeps them."""
    text = (
        "Thought: t\nAction: search\nAction Input: {'query': \"what's\", 'limit': 5, 'exact': True}"
    )
    results = []
    for make in (native, planned):
        llm = scripted(text, FINISH)
        ran = run(make("react", llm, tools=[search]), llm)
        results.append(ran.made[0][2])
    assert results == ["what's 3 False", "what's 5 True"]


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
    for make in (native, planned):
        llm = scripted("Thought: t\nAnswer: three", FINISH)
        runs.append(run(make("react", llm, output_parser=Refusing()), llm))
    theirs, ours = runs
    assert isinstance(theirs.error, OutputParserException)
    assert (ours.answer, ours.issues) == ("3", [("malformed", "retry")])
    assert ours.prompts[1][-1] == "Your last reply could not be used: numberless"


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
    for make in (native, planned):
        llm = scripted(said)
        ran = run(make("react", llm, output_parser=Clean()), llm)
        answers.append(ran.answer)
    assert answers[0] == (raw or "is near\nAnswer: 3")
    assert answers[1] == Clean().parse(said).response
