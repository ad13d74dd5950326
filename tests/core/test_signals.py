"""Meta-signals: tags, phrases, and caveats taken out of answers."""

from __future__ import annotations

import pytest

from loopmend.contracts import (
    Answer,
    AttemptSummary,
    Clarification,
    DetectionConfig,
    DifferentTools,
    HumanIntervention,
    MetaSignal,
    MoreContext,
    Stuck,
    Thinking,
    Uncertain,
    Yield,
    detect_meta_signal,
)

DEFAULT = 0.800000011920929
EXPLICIT = DetectionConfig(detect_implicit=False)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("<answer>x</answer>", Answer("x", DEFAULT)),
        ('<answers confidence="1.5"> x </answer>', Answer("x", 1.0)),
        ('<answer>confidence="0.25"</answer>', Answer('confidence="0.25"', 0.25)),
        ('<answer confidence="-1">x</answer>', Answer("x", 0.0)),
        ('<answer confidence="50%">x</answer>', Answer("x", DEFAULT)),
        ('<answer confidence="0.5>x</answer>', Answer("x", DEFAULT)),
        ('<answer note="a>b">x</answer>', Answer('b">x', DEFAULT)),
        ("<thinking><answer>x</answer>y</thinking>", Answer("x", DEFAULT)),
        (
            "<uncertain><partial> p </partial><missing>a</missing><missing></missing>"
            "<would_help>h</would_help></uncertain>",
            Uncertain("p", ("a", ""), ("h",)),
        ),
        (
            "<stuck><attempt>a</attempt><attempt>b</attempt><hypothesis>h</hypothesis></stuck>",
            Stuck(
                (AttemptSummary("a"), AttemptSummary("b")), "h", HumanIntervention("Agent is stuck")
            ),
        ),
        (
            "<yield><partial>p</partial><expertise>law</expertise></yield>",
            Yield("p", ("law",)),
        ),
        ('<thinking direction="d" steps="3">x</thinking>', Thinking("d", 3)),
        ('<thinking steps="-1"> x </thinking>', Thinking("x", None)),
        ('<thinking direction="d"</thinking>', Thinking("d", None)),
        ("<thinking> </thinking>", None),
        ("<answer>unclosed", None),
        ("<ANSWER>x</ANSWER>", None),
        ("no tags at all", None),
        ("1 < 2", None),
    ],
)
def test_tags(output: str, expected: MetaSignal | None) -> None:
    """Tags are found by plain search, in a fixed order of kinds."""
    assert detect_meta_signal(output, EXPLICIT) == expected


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("please clarify the tool context", Clarification(("please clarify the tool context",))),
        ("context for the tool", MoreContext("context for the tool")),
        ("a stool", DifferentTools(("a stool",))),
        ("Clarify please", HumanIntervention("Clarify please")),
        ("", HumanIntervention("")),
    ],
)
def test_requests(text: str, request_: object) -> None:
    """What a stuck model asks for is told by a word in its request."""
    signal = detect_meta_signal(f"<stuck><request>{text}</request></stuck>")
    assert isinstance(signal, Stuck)
    assert signal.request == request_


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("I'M STUCK, and I'm not sure", Stuck),
        ("I don't think I'm stuck", Stuck),
        ("I'm stuc\u212a", Stuck),
        ("It's unclear", Uncertain),
        ("This might be it", Uncertain),
        ("I\u2019m stuck", type(None)),
        ("I'm \u017ftuck", type(None)),
        ("\u0130'm stuck", type(None)),
    ],
)
def test_phrases(output: str, kind: type) -> None:
    """Phrases are found anywhere, stuck before uncertain, without case."""
    assert isinstance(detect_meta_signal(output), kind)
    assert detect_meta_signal(output, EXPLICIT) is None


def test_a_recognised_phrase_keeps_the_whole_text() -> None:
    """The partial answer of an implicit doubt is all that was said."""
    output = " I'm not sure, perhaps 4. "
    assert detect_meta_signal(output) == Uncertain(output)


@pytest.mark.parametrize(
    ("inner", "content", "caveats"),
    [
        ("body<caveat>a</caveat>", "body", ("a",)),
        ("<caveat>a</caveat>x<caveat>a</caveat>", "x", ("a", "a")),
        ("x<caveat> a </caveat>", "x<caveat> a </caveat>", ("a",)),
        ("x<caveat></caveat>", "x", ("",)),
        ("x</caveat>y", "x</caveat>y", ()),
        ("x<caveat>a", "x<caveat>a", ()),
        ("x<caveat>a</caveat><caveat>b", "x<caveat>b", ("a",)),
        ("x<caveat>a<caveat>b</caveat>", "x", ("a<caveat>b",)),
        ("x<caveat>a<caveat>b</caveat>c</caveat>", "xc</caveat>", ("a<caveat>b",)),
        ("<cav<caveat>a</caveat>eat>b</caveat>", "<caveat>b</caveat>", ("a",)),
        ("<cav<caveat>a</caveat>eat>b</caveat><caveat>b</caveat>", "", ("a", "b")),
        (
            "<caveat>b</caveat><cav<caveat>a</caveat>eat>b</caveat>",
            "<caveat>b</caveat>",
            ("b", "a"),
        ),
        (
            "<caveat>y</caveat><caveat>x<caveat>y</caveat>z</caveat><caveat>xz</caveat>",
            "",
            ("y", "x<caveat>y", "xz"),
        ),
    ],
)
def test_caveats(inner: str, content: str, caveats: tuple[str, ...]) -> None:
    """Caveats are listed trimmed and deleted in turn, as the contract has it."""
    assert detect_meta_signal(f"<answer>{inner}</answer>") == Answer(content, DEFAULT, caveats)


def test_the_config_is_a_config() -> None:
    """An option of another type is the caller's mistake, whatever the text."""
    with pytest.raises(TypeError, match="`config` must be a DetectionConfig, not bool"):
        detect_meta_signal("<answer>x</answer>", True)  # type: ignore[arg-type]


def test_the_default_confidence_is_one_value() -> None:
    """An answer built by hand has the confidence that detection gives by default."""
    assert detect_meta_signal("<answer>x</answer>") == Answer("x")


def test_a_hostile_number_of_nested_caveats_is_deleted_in_one_pass() -> None:
    """Beyond the budget a created tag stays, so that the time does not explode."""
    created = "<cav<caveat>a</caveat>eat>b</caveat>"
    many = "".join(f"<caveat>{n}</caveat>" for n in range(20_000))
    signal = detect_meta_signal(f"<answer>{created}{many}<caveat>b</caveat>x</answer>")
    assert isinstance(signal, Answer)
    assert signal.content == "<caveat>b</caveat>x"
    assert len(signal.caveats) == 20_002


# The unit tests that accompany the specification upstream, by what they check.


def test_upstream_answer_with_confidence_and_caveat() -> None:
    """Content, confidence and caveat of an answer are read."""
    signal = detect_meta_signal(
        '<answer confidence="0.92">The result is 42'
        "<caveat>Assumes standard arithmetic</caveat></answer>"
    )
    assert isinstance(signal, Answer)
    assert "42" in signal.content
    assert signal.confidence == pytest.approx(0.92, abs=1e-6)
    assert signal.caveats == ("Assumes standard arithmetic",)


def test_upstream_explicit_beats_implicit() -> None:
    """A tag wins over a phrase, and switching phrases off silences them."""
    assert isinstance(detect_meta_signal("I'm stuck <answer>4</answer>"), Answer)
    assert detect_meta_signal("I'm stuck", EXPLICIT) is None
