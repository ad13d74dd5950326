"""Synthesis: thresholds, self-echo and declared actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from loopmend.contracts import (
    BehavioralHistory,
    DeclaredAction,
    MemoryTierBreakdown,
    RetrievalMetrics,
    TaskStateInput,
    ToolSearchStats,
    assess_declared_action,
    extract_echo_fragments,
    plan,
    synthesize_task_state,
)

PHRASE = "The deployment failed because the disk was full again"
OTHER = "We could try to restart the whole cluster before noon"


def history(**changes: object) -> BehavioralHistory:
    """Synthesize from a message and return what it says of the latest turns."""
    return synthesize_task_state(
        TaskStateInput(**{"user_content": "", **changes})  # type: ignore[arg-type]
    ).behavioral_history


@pytest.mark.parametrize(
    ("similarity", "used", "gap"),
    [(0.49, 0.79, True), (0.5, 0.0, False), (0.0, 0.8, False), (float("nan"), 0.0, False)],
)
def test_recall_gap(similarity: float, used: float, *, gap: bool) -> None:
    """Memory falls short below a similarity of 0.5 unless 0.8 of the budget was used."""
    metrics = RetrievalMetrics(avg_similarity=similarity, budget_utilization=used)
    state = synthesize_task_state(TaskStateInput("", retrieval_metrics=metrics))
    assert state.memory_confidence.recall_gap is gap


def test_empty_tiers_are_named() -> None:
    """Tiers that returned nothing are listed, but only where tiers are known."""
    metrics = RetrievalMetrics(retrieval_count=3, tiers=MemoryTierBreakdown(working=1, semantic=2))
    known = synthesize_task_state(TaskStateInput("", retrieval_metrics=metrics))
    unknown = synthesize_task_state(TaskStateInput(""))
    assert known.memory_confidence.empty_tiers == ("episodic", "procedural", "relationship")
    assert unknown.memory_confidence.empty_tiers == ()


@pytest.mark.parametrize(("tokens", "pressured"), [(1999, True), (2000, False)])
def test_budget_pressure(tokens: int, *, pressured: bool) -> None:
    """Fewer than 2,000 tokens are pressing."""
    state = synthesize_task_state(TaskStateInput("", remaining_budget_tokens=tokens))
    assert state.runtime_constraints.budget_pressured is pressured


@pytest.mark.parametrize(
    ("considered", "selected", "relevant"), [(0, 5, 1), (9, 5, 3), (9, 2, 2), (2, 2, 1)]
)
def test_high_relevance(considered: int, selected: int, relevant: int) -> None:
    """At most one tool in three, and at least one, counts as highly relevant."""
    stats = ToolSearchStats(considered, selected, 7)
    fit = synthesize_task_state(TaskStateInput("", tool_search_stats=stats)).tool_fit
    assert (fit.high_relevance_count, fit.available_count, fit.token_savings) == (
        relevant,
        considered,
        7,
    )


@pytest.mark.parametrize(
    ("skeletons", "streak", "pattern"),
    [
        ([], 0, None),
        (["a", "a"], 0, None),
        (["b", "a", "a", "a"], 3, "a"),
        (["a", "a", "a", "b"], 0, None),
        (["", "", ""], 3, ""),
    ],
)
def test_repetition(skeletons: Sequence[str], streak: int, pattern: str | None) -> None:
    """Three equal skeletons at the end are a repetition."""
    found = history(recent_response_skeletons=skeletons)
    assert found.structural_repetition is (streak > 0)
    assert (found.repetition_streak, found.repeated_pattern) == (streak, pattern)
    assert (found.variation_hint is not None) is (streak > 0)


@pytest.mark.parametrize(
    ("lengths", "declining"),
    [
        ([50, 40, 29], True),
        ([50, 40, 30], False),
        ([40, 40, 20], False),
        ([40, 20], False),
        ([5, 90, 60, 10], True),
    ],
)
def test_engagement(lengths: Sequence[int], *, declining: bool) -> None:
    """Three messages, each shorter, the last under 30 characters, are a decline."""
    assert history(recent_user_message_lengths=lengths).engagement_declining is declining


def test_self_echo() -> None:
    """The share of own phrases in the message is the risk; above 0.3 it is named."""
    found = history(
        user_content=f"you said: {PHRASE.upper()},  and so on",
        self_echo_fragments=[OTHER, PHRASE, "too short"],
    )
    assert found.self_echo_risk == 0.5
    assert found.echo_fragment == PHRASE
    assert found.variation_hint is not None


@pytest.mark.parametrize(("echoed", "suspicious"), [(3, False), (4, True)])
def test_a_little_echo_is_no_echo(echoed: int, *, suspicious: bool) -> None:
    """A share of 0.3 is not suspicious, a larger one is."""
    said = [f"{PHRASE} {n}" for n in range(echoed)]
    fragments = [*said, *(f"{OTHER} {n}" for n in range(10 - echoed))]
    found = history(user_content=". ".join(said), self_echo_fragments=fragments)
    assert found.self_echo_risk == echoed / 10
    assert (found.echo_fragment is not None) is suspicious
    assert (found.variation_hint is not None) is suspicious


@pytest.mark.parametrize(("words", "counts"), [(7, False), (8, True)])
def test_phrases_have_eight_words(words: int, *, counts: bool) -> None:
    """A phrase of seven words is common language."""
    phrase = " ".join("abcdefgh"[:words])
    assert (extract_echo_fragments([phrase]) == (phrase,)) is counts
    assert (
        history(user_content=phrase, self_echo_fragments=[phrase]).self_echo_risk == 1
    ) is counts


@pytest.mark.parametrize(
    "word", ["attack", "burn", "delete", "drop", "format", "wipe", "Shut down"]
)
def test_words_of_lasting_harm(word: str) -> None:
    """Such a word makes a declared action one of high consequence."""
    action = assess_declared_action(f"I open it, then {word} it")
    assert action is not None
    assert action.high_consequence
    harmless = assess_declared_action("I open the formatter")
    assert harmless is not None
    assert not harmless.high_consequence


def test_a_phrase_must_be_repeated_whole() -> None:
    """Half of a phrase is not an echo of it, nor is nothing at all."""
    assert history(user_content=PHRASE[:40], self_echo_fragments=[PHRASE]).self_echo_risk == 0
    assert history(user_content=PHRASE).self_echo_risk == 0


def test_repetition_and_echo_give_both_hints() -> None:
    """The hint names each reason once."""
    found = history(
        user_content=PHRASE, self_echo_fragments=[PHRASE], recent_response_skeletons=["a"] * 3
    )
    assert found.variation_hint is not None
    assert found.variation_hint.count(":") == 2


def test_echo_fragments_are_sentences_of_eight_words() -> None:
    """Sentences are cut at punctuation and line ends; shorter ones are dropped."""
    text = f"Sure! {PHRASE}... Yes.\n{OTHER}\nVersion 3.11 of it"
    assert extract_echo_fragments([text, "No."]) == (PHRASE, OTHER)


@pytest.mark.parametrize(
    ("message", "action"),
    [
        ("I open the chest. Then rest.", DeclaredAction("open", "I open the chest")),
        ("We reopened it", DeclaredAction("open", "We reopened it")),
        ("Search it, then I ATTACK!", DeclaredAction("attack", "Search it, then I ATTACK!", True)),
        ("Pick\nup. I pick up the phone", DeclaredAction("pick up", "I pick up the phone")),
        ("cas\nt I pick\nup, then format: open it", DeclaredAction("open", "open it", True)),
        ("What is the capital of France?", None),
    ],
)
def test_declared_action(message: str, action: DeclaredAction | None) -> None:
    """The first verb of the list that the message contains declares an action."""
    assert assess_declared_action(message) == action
    state = synthesize_task_state(TaskStateInput(message)).declared_action
    assert (state.action_declared, state.action) == (action is not None, action)
    assert state.high_consequence is (action is not None and action.high_consequence)


def test_a_supplied_action_is_kept() -> None:
    """The host's own finding wins over the search in the message."""
    supplied = DeclaredAction("cast", "a spell", high_consequence=True)
    state = synthesize_task_state(TaskStateInput("I open it", declared_action=supplied))
    assert state.declared_action.action == supplied
    assert state.declared_action.high_consequence


def test_sequences_become_tuples() -> None:
    """Lists are welcome, and cannot be changed behind the value's back."""
    intents = ["Execution"]
    turn = TaskStateInput("", intents=intents)
    intents.append("chat")
    assert turn.intents == ("Execution",)
    assert hash(turn) == hash(TaskStateInput("", intents=("Execution",)))


def test_a_string_is_not_a_sequence_of_names() -> None:
    """One string where several are expected is a mistake, not a list of letters."""
    with pytest.raises(TypeError, match="`intents` must be a sequence"):
        TaskStateInput("", intents="Execution")


@pytest.mark.parametrize(
    "fields",
    [
        {"user_content": None},
        {"authority": 1},
        {"inference_mode": b"standard"},
        {"intents": [None]},
        {"fit_agent_names": ["a", 1]},
    ],
)
def test_text_fields_are_text(fields: dict[str, Any]) -> None:
    """A field that is not text is refused where it is given, not where it is used."""
    with pytest.raises(TypeError, match="must be a str"):
        TaskStateInput(**{"user_content": "", **fields})


def test_arguments_of_another_type() -> None:
    """The functions name the argument and the type they need."""
    anything: Any = None
    with pytest.raises(TypeError, match="`input` must be a TaskStateInput, not NoneType"):
        synthesize_task_state(anything)
    with pytest.raises(TypeError, match="`state` must be a TaskOperatingState"):
        plan(anything, TaskStateInput(""))
    with pytest.raises(TypeError, match="`input` must be a TaskStateInput"):
        plan(synthesize_task_state(TaskStateInput("")), anything)
    with pytest.raises(TypeError, match="several messages"):
        extract_echo_fragments("one message")


def test_defaults_are_what_the_documents_say() -> None:
    """What is left out counts as zero, empty or unknown; the mode is standard."""
    turn = TaskStateInput("x")
    assert (turn.inference_mode, turn.authority, turn.remaining_budget_tokens) == (
        "standard",
        "",
        0,
    )
