"""Prose is judged where it ends, alike in text and in native mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loopmend import FailurePattern, FinalAnswer, ReadingConfig, Turn, read_response, read_turn

TOOLS = ["search", "get_weather", "delete_file"]


def _as_text(text: str, **more: Any) -> Turn:
    return read_turn(text, tools=TOOLS, **more)


def _as_native(text: str, **more: Any) -> Turn:
    return read_response(text, tools=TOOLS, protocol="native", **more)


both = pytest.mark.parametrize("read", [_as_text, _as_native], ids=["text", "native"])
TOLD = [
    *(
        "I'll open the file.",
        "Sure, I'll go check.",
        "I will try the API.",
        "I'll check to be sure.",
    ),
    *("Lemme check the logs.", "Gonna check the logs.", "About to run the search."),
    "I'll check the weather in Oslo.",
    "I will look that up for you.",
    "Sure! Let me search for that.",
    "Great question. I'm going to check the page now.",
    "I need to look up your order first.",
    "I have to run the query.",
    "Allow me to check that.",
    "The order was shipped. Now I will check where it is.",
    "I'm searching the web for it.",
    "I am now checking the weather.",
    "Checking the weather in Oslo for you...",
    "Searching the web now.",
    "I'll check the weather. One moment, please.",
    "Please hold on while I check the weather.",
    "I can look that up. One moment.",
    "I'll look it up. Then I'll tell you.",
    "I will use the `search` tool.",
    "I could use the search tool for that.",
    "I should search for it with search.",
    "I would call get_weather for that.",
    "Let's call get_weather.",
    "We should look at the page...",
    "I'll run `delete_file` first, then we can go on.",
    "Ich werde das prüfen.",
    "Lass mich nachsehen.",
    "Je vais vérifier cela.",
    "Voy a buscar eso.",
    "Vou verificar isso.",
    "Vado a cercare.",
    "Ik ga dat zoeken.",
    "Сейчас проверю.",
    "我来查询一下。",
    "正在搜索",
    "確認します。",
    "\u201cSearch\u201d it is. I\u2019ll search for that.",
    "x " * 700 + "That is all. I'll check the weather.",
    "I'll check the weather, thanks!",
]
GOOD = [
    *(
        "東京は日本の首都です。約1400万人が住んでいます。",
        "이 함수는 두 수를 더합니다.",
        "会议于明早九点开始。",
    ),
    *("Ich hoffe, das hilft Ihnen weiter!", "Je reste à votre disposition.", "Желаю удачи!"),
    *("La función reduce el uso de memoria.", "هذه مسألة بسيطة."),
    "Children under 12 ride free but need to carry an ID (any kind).",
    "Parts have a two-week lead-time to order.",
    "I realised that I must climb the mountain alone.",
    *("I must have misread your question.", "You've got this! I'll be cheering for you."),
    "I'm doing great, thanks for asking!",
    "It is 4 degrees in Oslo.",
    "I checked the weather: it is 4 degrees.",
    "I'll be happy to help.",
    "I will always be here.",
    "I'm looking forward to it.",
    "I hope this helps!",
    "Shall I check the weather?",
    "I will check it. Which city do you mean?",
    "Which city do you mean? I'll check it then.",
    "Please confirm the order number. I'll cancel it.",
    "Once you confirm, I will cancel the order.",
    "If you like, I will check the weather.",
    "I would check the weather if I could.",
    "I can't check the weather.",
    "I won't delete the file.",
    "I will not search for that.",
    "Let me know if you need more.",
    "I need your order number.",
    "I need your order number. I'll cancel it.",
    "I need to know your name.",
    "Let me explain: the weather is a complex system.",
    "I'll summarize: it is cold.",
    "You can use the search tool.",
    "Then you will see the result.",
    'She said: "I\'ll check the weather."',
    "> I'll check the weather.",
    "Here is the code:\n```\nI'll check it\n```",
    "Let's go.",
    "We should be kind.",
    "From now on I will check twice.",
    "I'll call tomorrow.",
    "Thanks!",
    "Sure.",
    "Reading books is fun.",
    "I would use a map.",
    "x " * 800,
    "Bitte bestätigen Sie das. Ich werde das prüfen.",
]


@both
@pytest.mark.parametrize("text", TOLD)
def test_told_plans_are_noticed(text: str, read: Callable[..., Turn]) -> None:
    """A message that ends with what its speaker is about to do leaves the reader waiting."""
    turn = read(text)
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.NARRATED
    assert turn.actions == ()


@both
@pytest.mark.parametrize("text", GOOD)
def test_good_messages_stand(text: str, read: Callable[..., Turn]) -> None:
    """Answers, questions, promises that depend on the user, quotations and talk are kept."""
    turn = read(text)
    assert turn.failure is None
    assert turn.actions == (FinalAnswer(text.strip()),)


@both
def test_the_tool_is_named(read: Callable[..., Turn]) -> None:
    """The failure says which tool was described, if one was."""
    turn = read("I'll look at `get_weather` for that.")
    assert turn.failure is not None
    assert turn.failure.tool == "get_weather"
    assert turn.failure.message == "The model described a call to `get_weather` without making it."
    turn = read("The search was fine. I'll look again.")
    assert turn.failure is not None
    assert turn.failure.tool == "search"
    turn = read("I'll look again.")
    assert turn.failure is not None
    assert turn.failure.tool is None


def test_without_tools_a_plan_is_a_plan() -> None:
    """What is on offer need not be known."""
    turn = read_turn("I'll check the weather.")
    assert turn.failure is not None
    assert turn.failure.message == "The model described a tool call without making it."


@both
@pytest.mark.parametrize("text", ["```json\n```", "{}", "[]", '""', "` `", "``` ```"])
def test_nothing_is_empty(text: str, read: Callable[..., Turn]) -> None:
    """Brackets, quotes and fences around nothing say nothing."""
    turn = read(text)
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.EMPTY


@both
@pytest.mark.parametrize(
    "text",
    [
        "<answer>...</answer>",
        "... (this can repeat N times)",
        "Use one of {tool_names}",
        "the action to take, should be one of [search]",
    ],
)
def test_the_template_came_back(text: str, read: Callable[..., Turn]) -> None:
    """The prompt's own words are no answer."""
    turn = read(text)
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.TEMPLATE_ECHO


def test_only_a_thought() -> None:
    """An object with nothing but a thought leads nowhere, where calls are asked for in the text."""
    turn = read_turn('{"thought": "Look it up."}', tools=TOOLS)
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.NO_ACTION


@both
def test_claims(read: Callable[..., Turn]) -> None:
    """What cannot have been done without a call is made up; after a result it may be true."""
    text = "Let me do that. The order was deleted."
    turn = read(text)
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.FABRICATED_OUTPUT
    assert read(text, config=ReadingConfig(after_tool_result=True)).actions == (FinalAnswer(text),)
    for good in (
        "Let me know when it is updated, please confirm it.",
        "Let me ask? It was updated.",
        "Let me sum up what was deleted, right?",
    ):
        assert read(good).failure is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Je vais bien, merci !", False),
        ("Je vais très bien.", False),
        ("Je vais chercher la météo.", True),
        ("Je vais tout de suite l'ouvrir.", True),
    ],
)
def test_how_somebody_is_is_no_plan(said: str, told: bool) -> None:  # noqa: FBT001 - a parameter
    """In French only a verb says what somebody is about to do."""
    assert (read_turn(said, tools=["search"]).failure is not None) is told
