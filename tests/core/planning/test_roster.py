"""Which specialists a message is addressed to, told by where their names stand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend.planning import RosterMatch, match_specialists
from tests.core.strategies import any_text

TEAM = {
    "writer": "Writes reports and poems.",
    "ResearchAgent": "Looks things up in papers.",
    "report_writer": "Writes reports.",
    "math-bot": "Sums.",
    "SQLExpert": "Queries databases.",
    "agent2": "Does the rest.",
    "data": "Analyses data.",
    "Python": "Runs Python.",
    "sales": "Answers questions on prices.",
    "IT": "Repairs computers.",
    "travel agent": "Books trips.",
    "研究员": "Looks up.",
}
MEASURING = 3  # times as long while coverage is measured, or on a slow machine


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@writer a poem about Oslo", ["writer"]),
        ("  @Writer, please: a poem", ["writer"]),
        ("@writer", ["writer"]),
        ("@writer. A poem.", ["writer"]),
        ("@writer - a poem?", ["writer"]),
        ("@data agent, look at this", ["data"]),
        ("@travel agent book it", ["travel agent"]),
        ("@math-bot 2+2?", ["math-bot"]),
        ("@researchagent find a paper", ["ResearchAgent"]),
        ("@研究员 请写一首诗", ["研究员"]),
        ("ResearchAgent, find a paper on Oslo.", ["ResearchAgent"]),
        ("report_writer: sum it up", ["report_writer"]),
        ("math-bot : 2 + 2", ["math-bot"]),
        ("SQLExpert, count the users", ["SQLExpert"]),
        ("agent2, do the rest", ["agent2"]),
        ("@writer @ResearchAgent work on this", ["writer", "ResearchAgent"]),
        ("@writer;\n@ResearchAgent work on this", ["writer", "ResearchAgent"]),
        ("@math-bot, @writer: sum and tell", ["math-bot", "writer"]),
        ("@ResearchAgent find facts. @writer write it up.", ["ResearchAgent", "writer"]),
        ("@writer write it up.\n@ResearchAgent check it.", ["writer", "ResearchAgent"]),
        ("@writer write. Make it short! @writer thanks", ["writer"]),
        ("ResearchAgent, look. @writer, write.", ["ResearchAgent", "writer"]),
        ("研究者です。@writer 書いて", []),
    ],
)
def test_addresses(text: str, names: list[str]) -> None:
    """Who a message starts with is addressed, and others in turn, in the order of the message."""
    assert match_specialists(text, TEAM) == RosterMatch(bool(names), tuple(names))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "@ writer",
        "Ask the writer for a poem.",
        "Do not ask @writer.",
        "If it rains, ask @writer for a poem.",
        "Find the facts first. @writer write them up.",
        "Sum 1 and 2\n@writer tell it",
        "Why did you ask ResearchAgent?",
        "Compare ResearchAgent and report_writer.",
        "ResearchAgent was slow yesterday.",
        "researchagent, find a paper",
        "data: 1, 2, 3. What is the mean?",
        "Python, Java and Rust: which is best?",
        "sales: 120, 130, 140. Sum them.",
        "IT, HR and legal met in Oslo.",
        "writer, write a poem",
        "Mail bob@writer.com about it.",
        "I follow @writer.",
        '"@writer do it" is what she said',
        "> @writer do it",
        "```\n@writer\n```",
        "`@writer`",
        "Translate:\n@writer please do it",
        "@writer@example.com is my address",
        "@writer.org is down",
        "@tax.example.com is down",
        "@writer's last poem was bad. Fix it.",
        "@writer’s last poem was bad.",
        "@writer/poem is a branch",
        "@writer? Who is that?",
        "@tax-agent ? Who is that?",
        "@writer？誰ですか",
    ],
)
def test_what_is_left_to_the_model(text: str) -> None:
    """A name elsewhere may be denied, conditional, quoted, part of something, or a word."""
    assert match_specialists(text, TEAM) == RosterMatch()


@pytest.mark.parametrize(
    "text", ["@tax file my return", "@tax-agent file it", "@writers write", "@dataset clean it"]
)
def test_somebody_who_is_not_there(text: str) -> None:
    """An address is one though nobody of that name is on the roster; parts of words are no name."""
    assert match_specialists(text, TEAM) == RosterMatch(explicit=True)
    assert match_specialists(text, {}) == RosterMatch(explicit=True)


def test_what_is_shown_is_not_read() -> None:
    """Who is addressed in code, a quotation or a quoted mail is not addressed by the user."""
    for shown in ("```python\n@data\nclass A: ...```", '"No.\n@data is fine"', "\n> @data hi"):
        assert match_specialists(f"@writer look at this:\n{shown}", TEAM).names == ("writer",)


@pytest.mark.parametrize("name", ["a" * 101, "(.*)+", ".", "--", ""])
def test_names_that_nobody_spells_out(name: str) -> None:
    """A name without a letter, or beyond any sentence, addresses nobody."""
    assert match_specialists(f"@{name} do it", {name: "d"}).names in ((), ("(.*)+",))


def test_only_texts() -> None:
    """Something else than a text is refused."""
    with pytest.raises(TypeError, match="`text` must be a str, not int"):
        match_specialists(1, TEAM)  # type: ignore[arg-type]


@given(any_text, st.dictionaries(any_text, any_text, max_size=4))
def test_any_text_and_any_roster(text: str, roster: dict[str, str]) -> None:
    """Whatever is given, those found are of the roster, each once, and always the same."""
    found = match_specialists(f"@{text}", roster)
    assert set(found.names) <= set(roster)
    assert len(set(found.names)) == len(found.names)
    assert match_specialists(f"@{text}", roster) == found


@pytest.mark.parametrize(
    "unit", ["@a ", "@a. ", "@", "\n", ". ", "@agent_1,", "agent_1, x. ", "ö "]
)
def test_long_texts_and_large_rosters(unit: str) -> None:
    """A megabyte and three hundred names take a moment, whatever the text says."""
    roster = {f"agent_{number}": "Does a thing or two." for number in range(300)}
    took = []
    for _ in range(3):
        start = time.process_time()
        match_specialists("@a " + unit * (1_000_000 // len(unit)), roster)
        took.append(time.process_time() - start)
    assert min(took) < 0.5 * MEASURING
