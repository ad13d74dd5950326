"""What a planner can know from a conversation, and what the model should be told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend.contracts import (
    PlannedAction,
    RetrievalMetrics,
    TaskStateInput,
    plan,
    synthesize_task_state,
)
from loopmend.planning import (
    observe_conversation,
    plan_correction,
    plan_hints,
    response_skeleton,
)
from tests.core.strategies import any_text


@pytest.mark.parametrize(
    ("text", "skeleton"),
    [
        ("", "empty"),
        ("Hello.", "narrative"),
        ("Which one?", "narrative+question"),
        ("# Title\n\ntext", "heading"),
        ("- a\n- b", "list"),
        ("First:\n1. a\n2. b", "narrative+list"),
        ("| a | b |\n| c | d |", "table"),
        ("```python\nx\n```", "code"),
    ],
)
def test_skeletons(text: str, skeleton: str) -> None:
    """A reply's structure is told without its words."""
    assert response_skeleton(text) == skeleton


@given(any_text)
def test_skeletons_are_total(text: str) -> None:
    """Any text has a structure."""
    assert response_skeleton(text)


def test_wrong_types() -> None:
    """Only text has one."""
    with pytest.raises(TypeError, match="`text` must be a str"):
        response_skeleton(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown"):
        observe_conversation(["go"], unknown=1)


def test_observed() -> None:
    """Messages tell lengths, structures and phrases; what the host knows better wins."""
    said = "This is a rather long sentence with more than eight words in it"
    observed = observe_conversation(["first message", "go"], [said] * 7, tool_count=2)
    assert observed.user_content == "go"
    assert observed.recent_user_message_lengths == (13, 2)
    assert observed.recent_response_skeletons == ("narrative",) * 5
    assert observed.self_echo_fragments == (said,) * 5
    assert observed.tool_search_stats is not None
    assert observe_conversation(["go"], tool_count=2, intents=["chat"]).intents == ("chat",)
    unknown = RetrievalMetrics(budget_utilization=1.0)
    assert observe_conversation([]) == TaskStateInput("", retrieval_metrics=unknown)


ASKS = "Once you have the number of the reservation, I can change the flight to {}."
LISTS = "Here are all the flights that leave on that day from Oslo:\n- {}\n- SK4108"


@pytest.mark.parametrize(
    ("replies", "hints"),
    [
        ([ASKS.format(day) for day in ("Monday", "Tuesday", "Friday")], 2),
        ([ASKS.format("Monday"), "The fare has no refund, as it is the cheapest one there is."], 0),
        ([LISTS.format(flight) for flight in ("SK4035", "SK4041", "SK4049")], 0),
        (["Your seat is by the window, in the row behind the wing, as you like it."] * 2, 0),
        (
            [
                "The fare of that flight has no refund, because it is the cheapest one there is.",
                "You may take two pieces of luggage with you, and each of them may weigh 20 kg.",
                "Breakfast comes with the ticket, and so does a seat that you can choose online.",
            ],
            0,
        ),
    ],
)
def test_hints_are_for_who_goes_round_in_circles(replies: list[str], hints: int) -> None:
    """Prose may be built alike, lists have to be, and short messages may be answers."""
    users = ["I want to change my flight, please", "I do not have it here", "Is there no way?"]
    known = observe_conversation([*users, "So?"], replies, tool_count=1)
    assert len(plan_hints(synthesize_task_state(known))) == hints


def test_with_tools_a_turn_is_a_task() -> None:
    """Without tools it is talk."""
    selected = []
    for count in (0, 3):
        known = observe_conversation(["go"], tool_count=count)
        selected.append(plan(synthesize_task_state(known), known).selected)
    assert selected == [PlannedAction.ANSWER_DIRECTLY, PlannedAction.CONTINUE_CENTRALIZED]


@given(st.lists(any_text, max_size=6), st.lists(any_text, max_size=6), st.integers(0, 3))
def test_observing_is_total(users: list[str], replies: list[str], tools: int) -> None:
    """Any conversation can be planned from."""
    known = observe_conversation(users, replies, tool_count=tools)
    state = synthesize_task_state(known)
    assert isinstance(plan_hints(state), tuple)
    assert plan_correction(plan(state, known)) is None


def test_hints_of_all_rules() -> None:
    """What a less confident rule has to say is not lost when another action is selected."""
    known = TaskStateInput(
        "go",
        intents=["execution"],
        previous_turn_had_protocol_issues=True,
        recent_response_skeletons=["list"] * 3,
        recent_user_message_lengths=[90, 40, 5],
        provider_breaker_open=True,
    )
    state = synthesize_task_state(known)
    planned = plan(state, known)
    assert planned.selected is PlannedAction.RETURN_BLOCKER
    protocol = plan_correction(planned, form="react")
    vary, engagement = plan_hints(state)
    assert protocol is not None
    assert protocol.startswith("Your last reply broke the tool protocol. Call the tool")
    assert vary.startswith("Vary")
    assert engagement.startswith("The user's messages are getting shorter.")
