"""Which specialists a message asks for: by name, by role, or by what they do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import RosterMatch, match_specialists
from tests.core.planning.requests import NO_REQUESTS, REQUESTS, TEAM
from tests.core.strategies import any_text

ROSTER = {
    "ResearchAgent": "Looks things up on the web.",
    "report_writer": "Writes poems and reports.",
    "SQLExpert": "Queries databases.",
    "tax": "Files returns.",
}
MEASURING = 3  # times as long while coverage is measured, or on a slow machine


@pytest.mark.parametrize(("text", "names"), REQUESTS)
def test_requests(text: str, names: str) -> None:
    """Who is the object of a request is found."""
    found = match_specialists(text, TEAM)
    assert found.explicit
    assert " ".join(found.names) == names


@pytest.mark.parametrize("text", NO_REQUESTS)
def test_ordinary_sentences(text: str) -> None:
    """Nobody is handed a turn for being mentioned, denied, quoted or wondered about."""
    assert match_specialists(text, TEAM).explicit is False


@pytest.mark.parametrize(
    "text", ["Bitte frag den writer.", "Demande au writer.", "\u8bf7\u8ba9writer\u5199\u8bd7"]
)
def test_other_languages(text: str) -> None:
    """A request in another language is left to the model, but for a mention."""
    assert match_specialists(text, TEAM).explicit is False
    mentioned = match_specialists(f"@writer {text}", TEAM)
    assert mentioned == RosterMatch(explicit=True, names=("writer",))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Please ask the research agent about Oslo.", "ResearchAgent"),
        ("Ask ResearchAgent about Oslo.", "ResearchAgent"),
        ("Could you have the research specialist look at it?", "ResearchAgent"),
        ("hand this over to report_writer", "report_writer"),
        ("Let the report writer do it.", "report_writer"),
        ("LET THE REPORT-WRITER DO IT!", "report_writer"),
        ("Transfer me to the report writer agent", "report_writer"),
        ("Get the SQL expert on it, please.", "SQLExpert"),
        ("use sqlexpert", "SQLExpert"),
        ("Talk to the tax team.", "tax"),
        ("First think. Then delegate it to tax.", "tax"),
        ("I want you to consult tax", "tax"),
        ("Let me talk to the tax expert.", "tax"),
    ],
)
def test_requests_by_name(text: str, name: str) -> None:
    """Who is asked for by name is found, however the name is spelt."""
    assert match_specialists(text, ROSTER) == RosterMatch(explicit=True, names=(name,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What does the research agent do?",
        "The report writer was great yesterday.",
        "Why do I pay tax?",
        "taxation is theft, ask anyone",
        "Ask me later. Research agents are nice.",
        "Get some rest.",
        "Tell me about tax.",
        "Let us see what tax that makes.",
        "research",
    ],
)
def test_no_requests(text: str) -> None:
    """To mention somebody is not to ask for them."""
    assert match_specialists(text, ROSTER).explicit is False


def test_several_at_once() -> None:
    """All that are named fit, in the order of the roster."""
    found = match_specialists("Ask tax and then the research agent.", ROSTER)
    assert found == RosterMatch(explicit=True, names=("ResearchAgent", "tax"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Delegate this to a specialist.", RosterMatch(explicit=True)),
        (
            "Have some expert write a few poems.",
            RosterMatch(explicit=True, names=("report_writer",)),
        ),
        (
            "Ask an agent that looks at databases and reports things from the web.",
            RosterMatch(explicit=True, names=("ResearchAgent", "report_writer", "SQLExpert")),
        ),
    ],
)
def test_requests_for_anybody(text: str, found: RosterMatch) -> None:
    """Who asks for some specialist gets those whose description fits, the best first."""
    assert match_specialists(text, ROSTER) == found


def test_fitting_without_a_request() -> None:
    """A description that fits is told, though nobody asked."""
    found = match_specialists("I need a poem, and reports.", ROSTER)
    assert found == RosterMatch(explicit=False, names=("report_writer",))
    assert match_specialists("Tell me about your help.", ROSTER) == RosterMatch()


@pytest.mark.parametrize(
    "text",
    [
        "Ask the team about the reports.",
        "Could an expert write reports?",
        "Why would I ask an expert about reports?",
        "Do not hand the reports to a specialist.",
        "Tell an agent to write reports.",
        "Connect me to a human agent for reports.",
        "My travel agent told me to ask a visa expert about reports.",
        "Expert reports are rare.",
        "Ask the best-paid, agent, for reports.",
        "I want an expert opinion on reports.",
    ],
)
def test_no_requests_for_anybody(text: str) -> None:
    """Some specialist that is not asked for is none to hand over to."""
    assert match_specialists(text, ROSTER).explicit is False


@pytest.mark.parametrize("name", ["the", "a", "i", "me", "this", "to", "42", "x1", "data", "Code"])
def test_names_that_are_ordinary_words(name: str) -> None:
    """A name that stands in any sentence is asked for by a mention alone, or with a role."""
    roster = {name: "does"}
    text = f"Ask {name} about it. Hand this to the {name}. Let the {name} do it. {name}, please do"
    assert match_specialists(text, roster).explicit is False
    assert match_specialists(f"@{name} please do it", roster).names == (name,)


def test_a_role_makes_a_name_of_a_word() -> None:
    """The data agent is somebody, the agent is nobody of the name of an article."""
    assert match_specialists("Ask the data agent.", {"data": "x"}).names == ("data",)
    assert match_specialists("Ask the agent.", {"the": "x"}) == RosterMatch(explicit=True)


def test_several_of_a_name() -> None:
    """Names that differ in nothing but their spelling are all asked for."""
    roster = {"research_agent": "", "ResearchAgent": "", "research": ""}
    assert match_specialists("Ask the research agent.", roster).names == (
        "research_agent",
        "ResearchAgent",
    )
    assert match_specialists("Ask the research expert.", roster).names == tuple(roster)


@pytest.mark.parametrize("name", ["a" * 101, "a_" * 3_000, "(.*)+", ".", "x" + "_" * 10_000])
def test_names_that_nobody_spells_out(name: str) -> None:
    """Names beyond any sentence are not asked for, and cost nothing."""
    start = time.perf_counter()
    assert match_specialists(f"ask {name} " + "a " * 4_000, {name: "d"}).explicit is False
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("roster", [{}, {"": ""}, {"--": "?"}])
def test_rosters_with_nobody_in_them(roster: dict[str, str]) -> None:
    """Where nobody can be named a request is still one."""
    assert match_specialists("Ask the agent.", roster) == RosterMatch(explicit=True)


def test_only_texts() -> None:
    """Something else than a text is refused."""
    with pytest.raises(TypeError, match="`text` must be a str, not int"):
        match_specialists(1, ROSTER)  # type: ignore[arg-type]


@given(any_text, st.dictionaries(any_text, any_text, max_size=4))
def test_any_text_and_any_roster(text: str, roster: dict[str, str]) -> None:
    """Whatever is given, those found are of the roster, each once, and always the same."""
    found = match_specialists(text, roster)
    assert set(found.names) <= set(roster)
    assert len(set(found.names)) == len(found.names)
    assert match_specialists(text, roster) == found


@pytest.mark.parametrize(
    "unit", ["ask ", "use a_", "get.", "let - ", "a. ", "\n", "hand the agent ", "ask a1_", "ö "]
)
def test_long_texts_take_no_longer(unit: str) -> None:
    """A text of a megabyte is read no further than where requests stand."""
    roster = {"a_a_a_a": "does a", "a1": "b"}
    start = time.perf_counter()
    match_specialists(unit * (1_000_000 // len(unit)), roster)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "unit",
    [
        "Ask the writer. ",
        "ask agent_1 and ",
        "ask a.\n",
        "@writer ",
        "'a ",
        "!",
        "((",
        "\u7814",
        "let's ask the writer about ",
        "could you please hand this task over to the ",
    ],
)
def test_large_rosters_are_matched_at_once(unit: str) -> None:
    """Three hundred names in the longest text that is read take a moment, whatever it says."""
    roster = {f"agent_{number}": "Does a thing or two." for number in range(300)}
    text = unit * (8_000 // len(unit))
    took = []
    for _ in range(5):
        start = time.process_time()
        match_specialists(text, {**roster, "writer": "Writes."})
        took.append(time.process_time() - start)
    assert min(took) < 0.05 * MEASURING
