"""Replies that cannot be used are mended within the step, for agents of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.workflow import Context
from workflows.errors import WorkflowRuntimeError

from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend import NormalizationError
from tests.core.strategies import emitted_text
from tests.integrations.llama_index.agents import ACT, BAD, FINISH
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    KINDS,
    NARRATED,
    QUESTION,
    WAYS,
    WRITTEN,
    ask,
    attached,
    block,
    message,
    planned,
    run,
    scripted,
)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_replies_are_mended_within_the_step(kind: str, way: str, *, streaming: bool) -> None:
    """Two steps stay two, only after a result is a refused reply shown, and nothing is kept."""
    llm = scripted(NARRATED, CALLS[kind], NARRATED, "", ANSWERS[kind])
    # LlamaIndex's own workflow throws away what comes in the last iteration.
    most = 3 if way == "in a workflow" else 2
    ran = run(attached(way, kind, llm, streaming=streaming), llm, max_iterations=most)
    assert ran.answer in ("3", "It is 3.")
    assert [result for _, _, result in ran.made] == ["3"]
    assert ran.issues == [("narrated", "retry"), ("narrated", "retry"), ("empty", "retry")]
    assert ran.repeats() == [1] * 5
    first, again, second, *others = ran.prompts
    assert again[:-1] == first == [QUESTION]
    shown = [NARRATED] if kind == "function" else []  # of ReAct the loop does not know the step
    assert [other[:-1] for other in others] == [[*second, *shown], second]
    assert not any(NARRATED in said for said in (*again, *second))
    described = "You described a tool call but did not make it"
    corrections = [prompt[-1].split(".")[0] for prompt in (again, *others)]
    assert corrections == [described, described, "Your reply was empty"]
    assert ran.remembered[0] == QUESTION
    for text in (NARRATED, described, "Your reply was empty"):
        assert not any(text in said for said in ran.remembered)


def test_a_refused_call_after_a_result_is_shown_with_its_answer() -> None:
    """Who sees its own call sees what was wrong as the answer to it, and nothing twice."""
    wrong = message(block("ad", {"a": 3, "b": 4}, "call_2"))
    llm = scripted(CALLS["function"], wrong, ANSWERS["function"])
    ran = run(planned("function", llm), llm)
    assert ran.answer == "It is 3."
    *_, call, answer = llm.asked[-1]
    assert call.blocks == wrong.blocks
    assert (answer.role.value, answer.additional_kwargs) == ("tool", {"tool_call_id": "call_2"})
    assert str(answer.content).startswith("Unknown tool. Did you mean `add`?")
    assert not any("Unknown tool" in said for said in ran.remembered)


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_two_retries(kind: str) -> None:
    """The third refused reply is the last; what it says is the answer, as nothing is better."""
    ran = ask(kind, *(f"{NARRATED} {'!' * n}" for n in range(2)), NARRATED)
    outcomes = [("narrated", "retry"), ("narrated", "retry"), ("narrated", "gave_up")]
    assert (ran.issues, ran.answer) == (outcomes, NARRATED)
    assert [said.removeprefix("Thought: \nAnswer: ") for said in ran.remembered] == [
        QUESTION,
        NARRATED,
    ]
    assert ran.state["loopmend"]["kept"]["issue"] == {"pattern": "narrated", "streak": 1}


def test_the_count_of_retries_is_yours() -> None:
    """`max_retries` says how often; 0 is never, and then there are only words about it."""
    said = [f"{NARRATED} {'!' * n}" for n in range(5)]
    assert len(ask("function", *said, max_retries=4).llm.asked) == 5
    ran = ask("function", "", max_retries=0)
    assert (ran.answer, ran.issues) == (
        "Gave up after 0 retries: The reply is empty.",
        [("empty", "gave_up")],
    )
    assert ran.remembered == [QUESTION, ran.answer]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_instead_of_words(kind: str) -> None:
    """With `on_failure="raise"` the run ends with all that is known, and a clean scratchpad."""
    ran = ask(kind, "", NARRATED, " ", on_failure="raise")
    assert isinstance(ran.error, NormalizationError)
    assert (ran.error.failure.pattern.value, ran.error.retries) == ("empty", 2)
    assert str(ran.error).startswith("Gave up after 2 retries: ")
    key = "current_reasoning" if kind == "react" else "scratchpad"
    assert ran.state[key] == []


def test_no_more_retries_in_a_turn_after_giving_up() -> None:
    """Who did not take two corrections gets none in later steps, but again in the next turn."""
    llm = scripted(*(call("subtract", a=n) for n in range(3)), "", NARRATED, "", "It is 3.")
    agent = planned("function", llm)
    ctx: Context[Any] = Context(agent)
    ran = run(agent, llm, ctx=ctx)
    assert ran.made[0][2].startswith("Tool subtract not found")
    assert [outcome for _, outcome in ran.issues] == ["retry", "retry", "gave_up"]
    again = run(agent, llm, "And 2 + 2?", ctx=ctx, memory=ran.memory)
    assert (again.answer, [outcome for _, outcome in again.issues]) == ("It is 3.", ["retry"] * 2)
    assert "gave_up" not in again.state["loopmend"]["turn"]


def test_what_is_fine_is_left_alone() -> None:
    """Replies without a fault are the agent's own objects, in any dialect that it was asked for."""
    for kind in KINDS:
        ran = ask(kind, CALLS[kind], ANSWERS[kind])
        assert (ran.issues, len(ran.llm.asked)) == ([], 2)
    ran = ask("react", "Thought: a question\nAnswer: Which Oslo?")
    assert (ran.answer, ran.issues) == ("Which Oslo?", [])


SCHEMA = {"schema_argument": "response_format"}
junk: st.SearchStrategy[Any] = st.one_of(
    emitted_text,
    st.sampled_from(
        [NARRATED, BAD, ACT, FINISH, "", "  ", WRITTEN, "<execute>add(1, 2)</execute>"]
    ),
    st.builds(
        '{{"type": "tool_call", "name": "{}", "arguments": {{"a": 1, "b": 2}}}}'.format,
        st.sampled_from(["add", "sum_up"]),
    ),
    st.just('{"type": "final", "content": "It is 3."}'),
    st.builds(lambda: call("add", a=1, b=2)),
    st.builds(lambda: call("sum_up", a=1)),
    st.builds(lambda text: message(block("add", text)), emitted_text),
    st.builds(lambda: ConnectionError("down")),
)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    script=st.lists(junk, min_size=1, max_size=6),
    retries=st.integers(0, 3),
    client=st.sampled_from([{}, SCHEMA, {**SCHEMA, "refuses": True}]),
    hook=st.fixed_dictionaries(
        {
            "on_failure": st.sampled_from(["raise", "return", lambda _, output: output]),
            "constrain": st.sampled_from(["retry", "always", False]),
        }
    ),
)
def test_whatever_is_said(
    kind: str, script: Sequence[Any], retries: int, client: dict[str, Any], hook: dict[str, Any]
) -> None:
    """A step asks at most once more than it may retry, and a run ends as it is documented to."""
    steps = 4
    llm = ScriptedLLM(script=script, repeat=True, **client)
    own = hooks(max_retries=retries, **hook)
    ran = run(planned(kind, llm, hook=own), llm, max_iterations=steps)
    known = (type(None), NormalizationError, WorkflowRuntimeError, ConnectionError)
    assert isinstance(ran.error, known)
    assert len(llm.asked) <= steps * (1 + retries) + 1  # one for the answer at the cap
    asked_again = [event.attempt for event in ran.events if hasattr(event, "attempt")]
    assert all(attempt <= retries for attempt in asked_again)
    assert set(ran.repeats()) <= {1}
