"""A text with what was read of it marked in place."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.timing import fastest
from loopmend import (
    AskUser,
    Failure,
    FailurePattern,
    ReadingConfig,
    Repair,
    ToolCall,
    Turn,
    read_turn,
)
from loopmend.rendering import show_turn
from loopmend.rendering.html import visible
from tests.core.rendering.pages import Page, shown
from tests.core.strategies import emitted_text

REACT = """Thought: look
Action: search
Action Input: {'q': 'Oslo',}
Observation: made up"""


def page_of(text: str, turn: Turn) -> Page:
    """Show a text and take apart what is shown."""
    return Page(str(show_turn(text, turn)))


def quoted(page: Page) -> str:
    """Return the text as it is shown, without signs and notes."""
    return page.text("pre", but=("style", "sup", "span note")).removeprefix("\n")


def test_repairs_are_marked_in_place() -> None:
    """Each repair is marked where it is, with a number that the legend explains."""
    page = page_of(REACT, read_turn(REACT))
    assert quoted(page) == REACT
    assert page.text("mark action repair") == "'q''Oslo',"
    assert page.text("mark repair") == "Observation: made up"
    assert page.text("sup") == "1123"
    assert page.titles == ["quotes", "quotes", "trailing comma", "made-up continuation cut off"]
    assert page.text("span key repair") == "1 quotes2 trailing comma3 made-up continuation cut off"
    assert "search" in page.text("td")


def test_a_failure_is_marked_in_place() -> None:
    """What is at fault is marked in the text, and said in words below."""
    text = "Well.\nAction: serach[Oslo]"
    page = page_of(text, read_turn(text, tools=["search"]))
    assert page.text("mark action failure") == "Action: serach[Oslo]"
    assert page.text("sup") == "!"
    assert page.text("span failed").endswith("The nearest tool is `search`.")
    assert page.count("span", "bad") == 1
    assert page.text("span key") == "! unknown_tool"


def test_an_exact_reading_has_nothing_but_its_action_marked() -> None:
    """Where all is well the action alone is marked."""
    page = page_of("It is 4.", read_turn("It is 4."))
    assert page.count("mark") == 0
    assert page.text("span action") == "It is 4."
    assert page.text("span chip") == "plain textexact"


def test_an_empty_text() -> None:
    """Where nothing was said, that is said."""
    page = page_of("", read_turn(""))
    assert page.text("pre").strip() == "The reply is empty."
    assert quoted(page) == ""


def test_salvaged_actions_are_shown_with_the_failure() -> None:
    """Both the failure and how sure the actions are can be seen."""
    turn = read_turn("Action: search", config=ReadingConfig(salvage=True))
    assert page_of("Action: search", turn).text("span chip") == "reactsalvagedmissing_input"


def test_places_without_width_are_seen() -> None:
    """What is missing at a place is marked by a bar there, several kinds beside each other."""
    failure = Failure(FailurePattern.TRUNCATED, "cut off", (2, 2))
    turn = Turn(failure=failure, repairs=(Repair("closed", (2, 2)), Repair("closed", (2, 2))))
    page = page_of("{}", turn)
    assert [css for tag, css in page.seen if tag == "mark"] == ["failure point", "repair point"]
    assert page.text("sup") == "!1"


places = st.tuples(st.integers(-5, 40), st.integers(-5, 40))


@given(emitted_text, places, st.lists(st.tuples(st.sampled_from("abc"), places), max_size=8))
def test_any_places_can_be_marked(
    text: str, place: tuple[int, int], repairs: list[tuple[str, tuple[int, int]]]
) -> None:
    """Overlapping, reversed and out of range: the text is shown once, whole and in order."""
    failure = Failure(FailurePattern.MALFORMED, "m", place)
    turn = Turn(failure=failure, repairs=tuple(Repair(*each) for each in repairs), span=place[::-1])
    page = page_of(text, turn)
    assert quoted(page) == visible(text)
    over = {at for _, (a, b) in repairs for at in range(*sorted((a, b))) if 0 <= at < len(text)}
    marked = "".join(
        data
        for within, data in page._text
        if any(each.startswith("mark") and " repair" in each for each in within)
    )
    assert marked == visible("".join(text[at] for at in sorted(over)))


def test_a_huge_text_is_cut_around_what_counts() -> None:
    """Its two ends and what lies around the failure are shown, with what is left out counted."""
    text = "x" * 50_000 + "FAULT" + "y" * 50_000
    turn = Turn(failure=Failure(FailurePattern.MALFORMED, "m", (50_000, 50_005)))
    page = page_of(text, turn)
    assert page.text("mark failure") == "FAULT"
    assert page.text("pre").count("characters are left out") == 2
    assert "45,500 characters" in page.text("pre")
    assert len(quoted(page)) == 4000 + 1000 + 1500


def test_a_mark_that_reaches_over_a_cut_has_its_sign_once() -> None:
    """What begins before a part that is shown goes on there without its sign."""
    text = "x" * 100_000
    turn = Turn(repairs=(Repair("cut off", (10, 100_000)), Repair("end", (100_000, 100_000))))
    page = page_of(text, turn)
    assert page.text("sup") == "12"
    assert len(page.text("mark repair")) == 4000 - 10 + 1500


def test_the_number_of_marks_is_bounded() -> None:
    """Of very many repairs the first are marked, and the others counted."""
    turn = Turn(repairs=tuple(Repair(f"r{n}", (n, n + 1)) for n in range(1000)))
    page = page_of("x" * 1000, turn)
    assert page.text("mark repair") == "x" * 200
    notes = page.text("span note")
    assert "180 other kinds" in notes
    assert "800 more repairs are not marked" in notes


def test_time_is_linear() -> None:
    """Twice the text with twice the repairs costs at most about twice the time."""

    def case(size: int) -> partial[Any]:
        text = "<&\x00" * size
        repairs = tuple(Repair(f"r{n}", (0, n)) for n in range(size))
        return partial(show_turn, text, Turn(repairs=repairs))

    small, large = fastest(case(20_000)), fastest(case(40_000))
    assert large < 3 * small + 0.005


def test_only_texts_and_turns_are_shown() -> None:
    """Anything else is an error that says what was expected."""
    wrong: Any = b"x"
    with pytest.raises(TypeError, match="`text` must be a str, not bytes"):
        show_turn(wrong, Turn())
    with pytest.raises(TypeError, match="`turn` must be a Turn, not bytes"):
        show_turn("x", wrong)


def test_a_turn_by_itself() -> None:
    """Without its text a turn shows its parts, with the repairs counted."""
    page = shown(read_turn(REACT))
    assert page.text("th") == "callthoughtrepairs"
    assert page.text("span chip warn") == (
        "repairedquotes, 2 timestrailing commamade-up continuation cut off"
    )


def test_all_parts_of_a_turn() -> None:
    """Questions, signals and what is too much to show."""
    calls = tuple(ToolCall("f", {"n": n}) for n in range(25))
    page = shown(Turn(calls, repairs=tuple(Repair(f"r{n}", (0, 0)) for n in range(30))))
    assert page.text("th").count("call") == 20
    assert "… and 5 more… and 10 other kinds" in page.text("span note")
    assert "questionWhich?" in shown(Turn((AskUser("Which?"),))).text("tr")
    stuck = "<stuck><attempt>a</attempt><request>b</request></stuck>"
    assert "Stuck(" in shown(read_turn(stuck)).text("code")
