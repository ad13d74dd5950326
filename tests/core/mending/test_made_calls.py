"""The calls since the user's last message, as a host remembers them."""

from __future__ import annotations

from loopmend import FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.mending import CallResult, Message, NativeCall, calls_made, calls_of, is_clean
from loopmend.reading import Toolbox

ASKED = Message("user", "Where is Oslo?", id="q1")


def call(id: str, tool: str = "search", name: str | None = None, reply: str = "r") -> Message:
    """Return a message with one call."""
    return Message("assistant", calls=(NativeCall(tool, {}, id),), name=name, id=reply)


def result(id: str, text: str = "found", *, failed: bool = False) -> Message:
    """Return what a tool returned."""
    return Message("tool", text, call_id=id, failed=failed)


def test_only_answered_calls_count() -> None:
    """A call without a result is no call yet, and a result without a call is none at all."""
    made = calls_made(ASKED, [result("0"), call("1"), call("2"), result("2", failed=True)])
    assert calls_of(made) == [CallResult("search", {}, "found", failed=True)]


def test_known_calls_are_kept_while_the_question_is_the_same() -> None:
    """What a summary took away counts, until the user asks something else."""
    first = calls_made(ASKED, [call("1"), result("1", "a")])
    both = calls_made(None, [call("2", reply="s"), result("2", "b")], first)
    assert [seen.result for seen in calls_of(both)] == ["a", "b"]
    assert both["asked"] == "Where is Oslo?"
    assert [seen.result for seen in calls_of(calls_made(ASKED, [], both, 1))] == ["b"]
    assert calls_of(calls_made(Message("user", "And Bergen?"), [], both)) == []


def test_who_speaks_next_took_over() -> None:
    """A call after which another agent speaks hands the work over, the latest one as before."""
    talk = [
        *(call("1", "ask_b", "a", "1"), result("1"), call("2", "ask_a", "b", "2"), result("2")),
        *(call("3", "ask_b", "a", "3"), result("3")),
    ]
    assert [seen.handoff for seen in calls_of(calls_made(ASKED, talk))] == ["b", "a", "b"]


def test_an_answer_that_is_due_takes_a_second_look() -> None:
    """Where a tool gives the answer, neither prose nor a call of that tool is clean at a glance."""
    box = Toolbox([{"name": name, "parameters": {"type": "object"}} for name in ("s", "Answer")])
    other = NativeCall("s", {}, "1")
    assert is_clean(Reply("Fine."), box)
    assert not is_clean(Reply("Fine."), box, {"Answer": None})
    assert is_clean(Reply(calls=(other,)), box, {"Answer": None})
    assert not is_clean(Reply(calls=(NativeCall("Answer", {}, "1"),)), box, {"Answer": None})


def test_reports() -> None:
    """A report counts what was asked again, and names what was wrong."""
    mending = Mending(["search"], policy=RetryPolicy(1))
    mending.start()
    assert mending.accept().report()["retries"] == 0
    mending.reply(Reply("I will search for it."))
    done = mending.accept()
    assert done.report() == {
        "outcome": "mended",
        "retries": 1,
        "patterns": [FailurePattern.NARRATED.value],
        "messages": [done.refused[0].message],
    }
    ended = mending.reply(Reply(""))
    assert isinstance(ended, GaveUp)
    assert (ended.report()["outcome"], ended.report()["retries"]) == ("gave_up", 1)
