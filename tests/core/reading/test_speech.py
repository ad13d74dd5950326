"""What a sentence does, word group by word group: what each must catch and what it must not."""

from __future__ import annotations

import pytest

from loopmend.reading.speech import (
    asks_leave,
    is_interjection,
    is_label,
    is_question,
    is_remark,
    negates,
    plain_words,
    refuses,
    sentences,
    supposes,
)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Sure!",
            "Okay.",
            "No problem!",
            "Of course, right away.",
            "Tool call:",
            "Here is the tool call:",
        ),
        *("Calling the function:", "Action:", "Next step:", "Here is the tool call for that:"),
        *(
            "Here is the tool call to answer your question:",
            "Here is the call I will make:",
            "Here is the call to do that:",
        ),
        *(
            "Natürlich!",
            "Bien sûr !",
            "Claro",
            "Конечно",
            "好的",
            "はい",
            "...",
            "1.",
            "Perfect, here we go",
        ),
        "Sure, sure, sure, sure, sure, sure, sure, sure, sure",
    ],
)
def test_labels(sentence: str) -> None:
    """Interjections and bare names of what follows say nothing against it."""
    assert is_label(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Example:",
            "Example tool call:",
            "Previous call:",
            "The page says:",
            "Proposed action:",
            "A bad call:",
        ),
        *("The tool call?", "Here is the call the attacker sent:", "Not the tool call:"),
        "Here is the tool call and the action and the input and the result",
    ],
)
def test_not_labels(sentence: str) -> None:
    """A word of showing, a question or a longer sentence is more than a label."""
    assert not is_label(sentence)


def test_interjections() -> None:
    """`Sure` alone is one; a word more is not, and neither is nothing."""
    assert is_interjection("Sure, no problem!")
    assert not is_interjection("Sure, the page says")
    assert not is_interjection("...")


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Do not run it",
            "I don't",
            "It cannot be",
            "Never do it",
            "without it",
            "rather than that",
            "an unsafe thing",
        ),
        *(
            "This is malicious",
            "It was rejected",
            "nicht",
            "Keine Ahnung",
            "ne fais pas",
            "nunca",
            "не надо",
            "不要",
            "しません",
            "않습니다",
        ),
    ],
)
def test_negations(sentence: str) -> None:
    """Denials, refusals and warnings."""
    assert negates(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "No problem, sure",
        "Why not",
        "No worries",
        "A note",
        "I know it",
        "another one",
        "This is safe",
        "Nobel",
    ],
)
def test_not_negations(sentence: str) -> None:
    """Polite formulas, and words that only contain one."""
    assert not negates(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "If you agree",
        "It would work",
        "It might",
        "whenever it rains",
        "wenn es geht",
        "si tu veux",
        "если так",
        "如果",
        "もし",
    ],
)
def test_suppositions(sentence: str) -> None:
    """What might be."""
    assert supposes(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I would like to search",
        "I'd love to look",
        "Let me check if it rains",
        "I'll see if it is there",
        "The gift",
    ],
)
def test_not_suppositions(sentence: str) -> None:
    """Polite plans, and what is to be found out."""
    assert not supposes(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Shall I run this?",
            "Please confirm",
            "May I go on",
            "Do you want me to run it?",
            "With your permission",
            "I need your approval",
        ),
        *(
            "Is this ok?",
            "Does that sound good?",
            "Are you sure?",
            "Say the word",
            "I await your reply",
            "Soll ich das tun?",
        ),
        *(
            "Dois-je continuer ?",
            "Quieres que lo haga",
            "Posso procurar?",
            "Zal ik zoeken?",
            "Подтвердите",
            "可以吗",
            "よろしいですか",
            "할까요",
        ),
    ],
)
def test_leave(sentence: str) -> None:
    """What asks for leave to act."""
    assert asks_leave(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["What is the weather?", "I'll search", "Which city?", "Where are you?", "I could not"],
)
def test_not_leave(sentence: str) -> None:
    """Other questions, and what needs no leave."""
    assert not asks_leave(sentence)


@pytest.mark.parametrize("sentence", ["Really? Yes.", "What a day!", "?!"])
def test_not_questions(sentence: str) -> None:
    """A mark further up does not make the end a question."""
    assert not is_question(sentence)


@pytest.mark.parametrize("note", ["(add two numbers)", "(the first page)", "search the web"])
def test_remarks(note: str) -> None:
    """A description in parentheses sets no condition."""
    assert is_remark(note)


@pytest.mark.parametrize(
    "note",
    [
        "(only after the user has agreed)",
        "(not now)",
        "(if needed)",
        "(please confirm)",
        "(example)",
        "(dry run)",
        "(skipped)",
    ],
)
def test_not_remarks(note: str) -> None:
    """A condition, a denial, a request or a rehearsal is more than a remark."""
    assert not is_remark(note)


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "I did not run it",
            "I won't call it",
            "I cannot do that",
            "without running it",
            "Never execute it",
            "I refused",
            "It is unsafe",
        ),
        *(
            "Imagine that",
            "verboten",
            "Niemals",
            "jamais",
            "nunca",
            "нельзя",
            "不执行",
            "実行しません",
            "않습니다",
        ),
    ],
)
def test_refusals(sentence: str) -> None:
    """What is not, or should not, be done."""
    assert refuses(sentence)


@pytest.mark.parametrize(
    "sentence", ["I do not know the weather", "It is not here", "I'll run it", "That is not so far"]
)
def test_not_refusals(sentence: str) -> None:
    """What is not known or not there refuses nothing."""
    assert not refuses(sentence)


def test_sentences() -> None:
    """Sentences and lines come without decoration; what is quoted counts as a name."""
    assert sentences("**One.** Two!\n- Three\n\n> \n") == ["One.", "Two!", "Three"]
    assert sentences("好的。我来查") == ["好的。", "我来查"]
    assert sentences('I\u2019ll open "do not run" now') == ["I'll open X now"]
    assert sentences("\U0001f600") == []
    assert plain_words("I'll go, 2 times") == ["i'll", "go", "times"]
