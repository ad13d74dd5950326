"""What LlamaIndex's own agents do wrong, and planned ones right, unless that is switched off.

Each test shows all three, so that it fails as soon as LlamaIndex mends a defect itself:

| defect                                                        | switch of `Mends`           |
|---------------------------------------------------------------|-----------------------------|
| D1 a retry repeats the user's message                         | `retry_in_step`             |
| D2 a retry shows the bad reply before what came before it     | `retry_in_step`             |
| D3 only the latest bad reply is shown, and retries never end  | `retry_in_step`             |
| D4 calls in JSON or XML are the answer                        | `tolerant_reading`, and     |
|                                                               | `salvage` of the hook       |
|    … and so are narrated ones                                 | both of the above           |
| D5 saying nothing is the answer of a `FunctionAgent`          | `retry_in_step`             |
| D6 an answer without a thought is refused                     | `tolerant_reading`          |
| D7 an answer in the last iteration is thrown away             | `last_answer`               |
| D8 the answer at the cap is made without what was found       | `informed_stop`             |
| D9 reasoning leaks into the next run, and not to a specialist | `fresh_reasoning`           |
| D11 the model sees its actions as Python                      | `json_history`              |
| D12 arguments that are no texts are dropped                   | `tolerant_reading`          |
| D13 LlamaIndex's own error for parsers kills the run          | `retry_in_step`             |
| D14 the answer that the parser found is ignored               | `parsed_answer`             |

With `tolerant_reading` off an agent also gets LlamaIndex's own parser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow
from workflows.errors import WorkflowRuntimeError

from llama_index_loopmend import Mends, PlannedAgentWorkflow, PlannerStepHook
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import ACT, BAD, FINISH
from tests.integrations.llama_index.mended import (
    CALLS,
    NARRATED,
    QUESTION,
    Ran,
    native,
    planned,
    run,
    scripted,
    switched_off,
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


def without(
    mends: Sequence[str], kind: str, *script: Any, repeat: bool = False, **options: Any
) -> Ran:
    """Run the planned agent with some mends switched off."""
    llm = scripted(*script, repeat=repeat)
    return run(switched_off(kind, llm, **dict.fromkeys(mends, False)), llm, **options)


def place(ran: Ran, prompt: int, *parts: str) -> list[int]:
    """Return at which places of a prompt texts first stand."""
    said = ran.prompts[prompt]
    return [next(at for at, text in enumerate(said) if part in text) for part in parts]


def test_d1_a_retry_repeats_the_users_message() -> None:
    """Natively a retry shows the user's message twice; ours shows it once."""
    theirs, ours = both("react", BAD, FINISH)
    off = without(["retry_in_step"], "react", BAD, FINISH)
    assert [theirs.repeats(), ours.repeats(), off.repeats()] == [[1, 2], [1, 1], [1, 2]]
    assert {theirs.answer, ours.answer, off.answer} == {"3"}


def test_d2_a_retry_is_out_of_order() -> None:
    """Natively the bad reply stands before what was done before it; ours stands where it was."""
    script = (ACT, BAD, FINISH)
    theirs, ours = both("react", *script)
    off = without(["retry_in_step"], "react", *script)
    for ran in (theirs, off):
        bad, error, observed = place(ran, 2, BAD, "Error while parsing", "Observation: 3")
        assert bad < error < observed
    observed, bad, corrected = place(ours, 2, "Observation: 3", BAD, "cannot be used")
    assert observed < bad < corrected == len(ours.prompts[2]) - 1


def test_d3_retries_forget_and_never_end() -> None:
    """Natively only the latest bad reply is shown, until the cap; ours shows both, and ends."""
    other = BAD.replace("see", "think")
    theirs, ours = both("react", BAD, other, FINISH)
    off = without(["retry_in_step"], "react", BAD, other, FINISH)
    assert [BAD in ran.prompts[2] for ran in (theirs, ours, off)] == [False, True, False]
    first, second = place(ours, 2, BAD, other)
    assert first < second
    theirs, ours = both("react", BAD, repeat=True, max_iterations=7)
    off = without(["retry_in_step"], "react", BAD, repeat=True, max_iterations=7)
    assert [len(ran.llm.asked) for ran in (theirs, ours, off)] == [7, 2, 7]
    assert isinstance(theirs.error, WorkflowRuntimeError)
    assert isinstance(off.error, WorkflowRuntimeError)
    assert ours.answer.startswith("I could not go on: ")


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_d4_react_takes_a_written_call_for_the_answer(text: str) -> None:
    """Natively a call that is not in ReAct's form is the answer; ours makes it."""
    theirs, ours = both("react", text, FINISH)
    off = without(["tolerant_reading"], "react", text)
    assert [theirs.answer, off.answer] == [text, text]
    assert [(ran.made, len(ran.llm.asked)) for ran in (theirs, off)] == [([], 1)] * 2
    assert ours.made == [("add", {"a": 1, "b": 2}, "3")]
    assert ours.answer == "3"


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_d4_function_takes_a_written_call_for_the_answer(text: str) -> None:
    """Natively a call in the text is the answer; ours makes it, or asks again if not allowed to."""
    theirs, ours = both("function", text, "It is 3.")
    assert (theirs.answer, theirs.made) == (text, [])
    assert (ours.answer, ours.made) == ("It is 3.", [("add", {"a": 1, "b": 2}, "3")])
    for mends, answer in ((Mends(), "It is 3."), (Mends(retry_in_step=False), text)):
        llm = scripted(text, "It is 3.")
        hook = PlannerStepHook(salvage=False, mends=mends)
        assert run(planned("function", llm, hook=hook), llm).answer == answer


@pytest.mark.parametrize("kind", ["react", "function", "code"])
def test_d4_a_narrated_call_is_the_answer(kind: str) -> None:
    """Natively what the model says it will do is the answer; ours has it done."""
    answer = FINISH if kind == "react" else "It is 3."
    theirs, ours = both(kind, NARRATED, CALLS[kind], answer)
    off = without(["retry_in_step", "tolerant_reading"], kind, NARRATED)
    assert [theirs.answer, off.answer] == [NARRATED, NARRATED]
    assert [result for _, _, result in ours.made] == ["3"]
    assert [ours.issues, off.issues[:1]] == [
        [("narrated", "retry")],
        [] if kind == "react" else [("narrated", "noticed")],
    ]


@pytest.mark.parametrize("text", ["", "   "])
def test_d5_saying_nothing_is_the_answer(text: str) -> None:
    """Natively a function-calling agent answers with nothing; ours is asked again."""
    theirs, ours = both("function", text, CALLS["function"], "It is 3.")
    off = without(["retry_in_step"], "function", text)
    assert [theirs.answer, off.answer] == [text, text]
    assert off.issues == [("empty", "noticed")]
    assert (ours.answer, ours.issues) == ("It is 3.", [("empty", "retry")])


def test_d6_an_answer_needs_a_thought() -> None:
    """Natively an answer without a thought is refused until the cap; ours is the answer."""
    theirs, ours = both("react", "Answer: 3", repeat=True, max_iterations=4)
    mends = ["retry_in_step", "tolerant_reading"]
    off = without(mends, "react", "Answer: 3", repeat=True, max_iterations=4)
    for ran in (theirs, off):
        assert isinstance(ran.error, WorkflowRuntimeError)
        assert len(ran.llm.asked) == 4
    assert (ours.answer, len(ours.llm.asked)) == ("3", 1)
    strict = without(["tolerant_reading"], "react", "Answer: 3", repeat=True, max_iterations=4)
    assert (strict.answer, len(strict.llm.asked)) == ("3", 2)


def in_workflow(agent: Any, **hook: Any) -> Any:
    """Put an agent into a workflow that plans."""
    return PlannedAgentWorkflow(agents=[agent], step_hook=PlannerStepHook(**hook))


LAST: dict[str, tuple[Make, Make, Make]] = {
    "alone": (
        lambda llm: native("react", llm),
        lambda llm: planned("react", llm),
        lambda llm: switched_off("react", llm, last_answer=False, informed_stop=False),
    ),
    "in a workflow": (
        lambda llm: AgentWorkflow(agents=[native("function", llm)]),
        lambda llm: in_workflow(native("function", llm)),
        lambda llm: in_workflow(
            native("function", llm), mends=Mends(last_answer=False, informed_stop=False)
        ),
    ),
}
"""The native way, ours, and ours switched off."""


@pytest.mark.parametrize("make", LAST.values(), ids=LAST)
def test_d7_the_last_answer_is_thrown_away(make: tuple[Make, Make, Make]) -> None:
    """Natively an answer in the last iteration is an error; ours counts."""
    ends = []
    for made in make:
        llm = scripted("It is 3.")
        ends.append(run(made(llm), llm, max_iterations=1))
    theirs, ours, off = ends
    assert isinstance(theirs.error, WorkflowRuntimeError)
    assert isinstance(off.error, WorkflowRuntimeError)
    assert (ours.answer, ours.state["num_iterations"]) == ("It is 3.", 1)


def test_d7_a_call_in_the_last_iteration_is_still_too_late() -> None:
    """What is more than an answer ends at the cap as natively, also with early stopping."""
    theirs, ours = both("react", ACT, repeat=True, max_iterations=2)
    for ran in (theirs, ours):
        assert isinstance(ran.error, WorkflowRuntimeError)
        assert len(ran.llm.asked) == 2
    stopped = [
        len(ran.llm.asked)
        for ran in both(
            *("react", FINISH, "late"), max_iterations=1, early_stopping_method="generate"
        )
    ]
    assert stopped == [2, 1]


SEARCHES: dict[str, tuple[str, Sequence[Any]]] = {
    "react": ("alone", [ACT]),
    "function": ("in a workflow", [CALLS["function"]]),
}


@pytest.mark.parametrize(("way", "script"), SEARCHES.values(), ids=SEARCHES)
def test_d8_the_last_call_sees_nothing(way: str, script: Sequence[Any]) -> None:
    """Natively the answer at the cap is made without what tools found; ours has it at hand."""
    prompts = []
    for made in LAST[way]:
        llm = scripted(*script, *script, "It is 3, I think.")
        ran = run(made(llm), llm, max_iterations=2, early_stopping_method="generate")
        assert ran.answer == "It is 3, I think."
        prompts.append(ran.prompts[2])
    assert [any(text.endswith("3") for text in prompt[1:]) for prompt in prompts] == [
        *(False, True, False)
    ]
    assert [prompt.count(QUESTION) for prompt in prompts] == [1, 1, 1]
    assert "Action: add" not in prompts[1][-2].splitlines()[-1]


def test_one_call_of_a_tool_is_enough_for_d5() -> None:
    """Saying nothing after a tool's result is how models finish, and no defect."""
    llm = scripted(call("add", a=1, b=2), "")
    ran = run(planned("function", llm), llm)
    assert (ran.answer, ran.issues) == ("", [])
