"""Calls that a user forbids by the tool's name are not made from text."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import Done, Mending, Reply, RetryPolicy, ToolCall, Turn
from loopmend.mending import Message, NativeCall
from loopmend.mending.prohibitions import forbidden_in
from loopmend.mending.quotations import Quotations
from tests.core.strategies import emitted_text

NAMES = ["wipe", "delete_all", "search", "find", "run_sql"]
FORBIDDEN = [
    ("Tidy up /tmp. Do not use wipe.", "wipe"),
    ("Tidy up. Don\u2019t call delete_all.", "delete_all"),
    ("Never run delete_all here; find the old files.", "delete_all"),
    ("Tidy this without using wipe.", "wipe"),
    ("Tidy this without wipe.", "wipe"),
    ("You must not use `delete_all`.", "delete_all"),
    ("Do everything but don't wipe anything.", "wipe"),
    ("Use any tool except delete_all.", "delete_all"),
    ("search, not wipe", "wipe"),
    ("Avoid wipe. Tidy up.", "wipe"),
    ("wipe must not be called.", "wipe"),
    ("delete_all is off limits.", "delete_all"),
    ("Don't use wipe or delete_all.", "delete_all"),
    ("Don't use search, wipe, or delete_all.", "wipe"),
    ("Please do not use the wipe tool.", "wipe"),
    ("Do not use the tool named 'wipe'.", "wipe"),
    ("I don't want you to use wipe.", "wipe"),
    ("You can't use run_sql.", "run_sql"),
    ("I forbid run_sql.", "run_sql"),
    ("Instead of wipe use search.", "wipe"),
    ("no delete_all please", "delete_all"),
    ("Do not use search for this.", "search"),
    ("No search tool, please.", "search"),
    ("Never `find`.", "find"),
    ("Do not search.", "search"),
    ("Do not send the list and do not run_sql on it.", "run_sql"),
    ("Tidy up: no wipe!", "wipe"),
    ("Use search but not wipe.", "wipe"),
    ("Do not use **delete_all**.", "delete_all"),
    ("Do not use \u201cdelete_all\u201d.", "delete_all"),
    ("Do NOT use: delete_all", "delete_all"),
    ("Don't use these tools: delete_all, wipe.", "wipe"),
    ("Do not use functions.delete_all", "delete_all"),
    ("Do not use <delete_all>.", "delete_all"),
    ("Do not use delete-all", "delete_all"),
    ("Do not use deleteAll", "delete_all"),
    ("Under no circumstances call delete_all.", "delete_all"),
    ("Stop using delete_all.", "delete_all"),
    ("You are not permitted to use delete_all.", "delete_all"),
    ("Use neither delete_all nor wipe.", "wipe"),
    ("I don't want you using delete_all.", "delete_all"),
    ("delete_all must not run.", "delete_all"),
    ("Do not call delete_all until I confirm.", "delete_all"),
    ("Never use delete_all without asking me.", "delete_all"),
    ("Tidy. " + "A line. " * 900 + "No delete_all! " + "A line. " * 900, "delete_all"),
    ("Benutze delete_all nicht.", "delete_all"),
    ("Räum auf, aber benutze nicht wipe.", "wipe"),
    ("Ohne delete_all bitte.", "delete_all"),
    ("N'utilise pas delete_all.", "delete_all"),
    ("Range sans wipe.", "wipe"),
    ("Limpia sin usar delete_all.", "delete_all"),
    ("No uses delete_all.", "delete_all"),
    ("Gebruik delete_all niet.", "delete_all"),
    ("Не используй delete_all", "delete_all"),
    ("不要使用 delete_all", "delete_all"),
    ("delete_allを使わないでください", "delete_all"),
]
PROMPT = "search: Search the web. Do not use search for math. Action Input: ..."
ALLOWED = [
    ("Do not guess, search for Oslo.", "search"),
    ("Don't forget to use search.", "search"),
    ("I can't find my keys; find them.", "find"),
    ("I do not search well, so search for me.", "search"),
    ("I do not know where Oslo is. Use search.", "search"),
    ("Do not use wipe, use search.", "search"),
    ("Do not use wipe; search instead.", "search"),
    ("Don't use anything but search.", "search"),
    ("Use nothing except search.", "search"),
    ("Never answer without search.", "search"),
    ("Don't answer without calling search first.", "search"),
    ("Why not search for Oslo?", "search"),
    ("If you did not find it, find it now.", "find"),
    ("Do not use search more than twice.", "search"),
    ("Do not use search too often.", "search"),
    ("There are no search results yet.", "search"),
    ("Run delete_all without asking me.", "delete_all"),
    ("I have not used delete_all yet. Use it now.", "delete_all"),
    ("Use search, not your memory.", "search"),
    ("If you cannot find it, call search.", "search"),
    ("Do not use delete_all_users, but delete_all.", "delete_all"),
    ("Where is Oslo? Do not search in Norwegian.", "search"),
    ("Don't use search results from forums.", "search"),
    ("Skip search engines that track me.", "search"),
    ("There is no search yet for Oslo; run one.", "search"),
    ("I could not search. Can you?", "search"),
    ("Don't wipe /data, wipe /tmp.", "wipe"),
    ("Do not skip delete_all.", "delete_all"),
    ("Never skip the search tool.", "search"),
    ("run_sql should never be skipped.", "run_sql"),
    ("The output of run_sql should not be cut.", "run_sql"),
    ("Never call delete_all without a path.", "delete_all"),
    ("Do not run delete_all twice.", "delete_all"),
    ("Do not call find until you are sure.", "find"),
    ("There is no find. Do it.", "find"),
    ("If there is no run_sql result, call it again.", "run_sql"),
    ("How do I avoid run_sql errors?", "run_sql"),
    ("Never find, move or read the tests.", "find"),
    ("Vergiss nicht run_sql zu benutzen.", "run_sql"),
    ("不要忘记使用run_sql", "run_sql"),
    ("run_sqlを使わなければならない", "run_sql"),
    ("Ich weiß nicht, wo Oslo liegt; nutze search.", "search"),
    ("N'utilise que search.", "search"),
]


def made(asked: str, name: str, **known: Any) -> Any:
    """Return what is made of a written call after a question."""
    mending = Mending(NAMES)
    mending.start(asked, **known)
    return mending.reply(Reply(f'{{"name": "{name}", "arguments": {{"path": "x"}}}}'))


@pytest.mark.parametrize(("asked", "name"), FORBIDDEN)
def test_a_forbidden_call_is_not_made(asked: str, name: str) -> None:
    """It is the answer; to ask again would push the model to make the call."""
    step = made(asked, name)
    assert isinstance(step, Done)
    assert not step.calls


@pytest.mark.parametrize(("asked", "name"), ALLOWED)
def test_a_call_that_nobody_forbids_is_made(asked: str, name: str) -> None:
    """A "not" about something else, or behind another one, forbids nothing."""
    step = made(asked, name)
    assert isinstance(step, Done)
    assert [call.name for call in step.calls or ()] == [name]


def test_the_last_message_about_a_tool_counts() -> None:
    """What was forbidden stays so until the user speaks of it again."""
    never = [Message("user", "Never use wipe."), Message("assistant", "I will not use wipe.")]
    assert not made("Tidy up.", "wipe", conversation=iter(never)).calls
    assert made("Use wipe now.", "wipe", conversation=never).calls
    assert made("Tidy up.", "search", conversation=never).calls
    for other in ("Do some research.", "Read search_all.txt.", "Researching is fun."):
        never = [Message("user", "Do not use search.")]
        assert not made(other, "search", conversation=never).calls
    system = [Message("system", "Never use wipe.")]
    assert made("Tidy up.", "wipe", conversation=system).calls  # no user's, and often conditional


def test_nobody_is_corrected_towards_a_forbidden_call() -> None:
    """What only speaks of it, or breaks it, is used as it is; an interface's call is the host's."""
    for said in ("I will use wipe on it.", '{"name": "wipe", "arguments": '):
        mending = Mending(NAMES)
        mending.start("Tidy up. Do not use wipe.")
        assert isinstance(mending.reply(Reply(said)), Done)
    mending = Mending(NAMES)
    mending.start("Tidy up. Do not use wipe.")
    step = mending.reply(Reply(calls=(NativeCall("wipe", {}, "1"),)))
    assert isinstance(step, Done)
    assert step.calls is None


def test_a_forbidden_tool_is_not_in_the_schema() -> None:
    """Who decodes by the schema of actions cannot call it, and if it does so, it is not made."""
    policy = RetryPolicy(constrain="always")
    mending = Mending(NAMES, policy=policy, can_constrain=True)
    schema = mending.start("Tidy up. Do not use wipe.").schema
    assert schema is not None
    names = [each["properties"].get("name", {}).get("const") for each in schema["anyOf"]]
    assert names == [*NAMES[1:], None]
    step = mending.reply(Reply('{"type": "tool_call", "name": "wipe", "arguments": {}}'))
    assert isinstance(step, Done)
    assert not step.calls
    unknown = Mending(None, policy=policy, can_constrain=True)
    assert unknown.start("Do not use wipe.").schema is None
    assert unknown.offered is None


def test_where_calls_are_text_the_prompt_is_not_the_users() -> None:
    """A prompt that describes its tools forbids none by that."""
    mending = Mending(NAMES, "react")
    mending.start(PROMPT)
    step = mending.reply(Reply("Action: search\nAction Input: Oslo"))
    assert isinstance(step, Done)
    assert step.turn.calls == [ToolCall("search", "Oslo")]
    policy = RetryPolicy(constrain="always")
    for asked, offered in ((PROMPT, NAMES), ("Do not use search.", [*NAMES[:2], *NAMES[3:]])):
        mending = Mending(NAMES, "react", policy=policy, can_constrain=True)
        assert mending.start(asked).schema is not None
        assert mending.offered is not None
        assert list(mending.offered.tools) == offered
    mending = Mending(NAMES, "react", policy=policy, can_constrain=True)
    assert mending.start("Show me the tool call, do not run it.").schema is None
    turn = Turn((ToolCall("wipe", {}),), dialect="python")
    assert not Quotations("Do not use wipe.", NAMES, form="code").answer(
        Reply("wipe()"), turn, decodes=False
    )


@given(emitted_text, st.lists(st.text(max_size=8), max_size=3))
def test_any_text_is_taken(said: str, names: list[str]) -> None:
    """Whatever a user writes and a tool is called, there is an answer, and it is one of them."""
    assert forbidden_in([said], names) <= set(names)


@pytest.mark.parametrize(
    "part", ["do not ", "wipe, ", "no wipe ", " ", "without `", "not use the "]
)
def test_a_long_text_takes_no_long_time(part: str) -> None:
    """Of a long message the ends count."""
    started = time.perf_counter()
    assert forbidden_in([part * 100_000, "x" * 9000 + " no wipe"], ["wipe", "search"]) <= {"wipe"}
    assert time.perf_counter() - started < 5
