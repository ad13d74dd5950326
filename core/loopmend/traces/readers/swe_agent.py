"""Trajectories of SWE-agent and of mini-SWE-agent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.traces.readers.conversation import drafts_of
from loopmend.traces.readers.draft import Draft
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.messages import messages_in
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.said import Said, first_user
from loopmend.traces.readers.values import as_list, as_map, as_text, first
from loopmend.traces.trace import Observation, Trace, TraceCall

__all__ = ["is_trajectory", "read_trajectory"]

_EXITS: Final = (
    # What was submitted when a limit was reached ended at the limit.
    (
        re.compile(r"submitted \(exit_(?:cost|context|total)|.*cost|.*context|.*limits?"),
        "max_iterations",
    ),
    (re.compile(r".*time"), "timeout"),
    (re.compile(r".*format"), "parse_fail"),
    (re.compile(r".*(?:api|rate)"), "provider_error"),
    (re.compile(r".*forfeit"), "stuck"),
    (re.compile(r"early_exit|.*interrupt"), "cancelled"),
    (re.compile(r".*(?:error|environment)"), "host_error"),
)
# What SWE-agent itself says in place of, or after, what a command printed.
_HARNESS: Final = re.compile(
    r"EXECUTION TIMED OUT|Your proposed edit has introduced"
    r"|Your edit was not applied|was cancelled because it took more than"
    r"|Your output was not formatted correctly|is not supported by this environment"
)
_NEAR: Final = 600


def _fenced(text: str) -> str:
    """Return what the first fence of a text holds, below its info; nothing if there is none."""
    _, _, body = text.partition("```")
    inside, closed, _ = body.partition("```")
    info, newline, command = inside.partition("\n")
    is_command = closed and newline and (not info.strip() or info.strip().isalnum())
    return command.strip() if is_command else ""


def is_trajectory(value: Any) -> bool:
    """Tell whether a value is a trajectory."""
    if not isinstance(value, Mapping):
        return False
    listed = isinstance(value.get("trajectory"), list) or isinstance(value.get("history"), list)
    mini = "trajectory_format" in value and isinstance(value.get("messages"), list)
    told = any(key in value for key in ("info", "environment", "replay_config"))
    return mini or (listed and (told or {"trajectory", "history"} <= set(value)))


def read_trajectory(value: Mapping[str, Any], options: ReadOptions) -> Trace:
    """Read a trajectory: each action is a step.

    >>> item = {"thought": "look", "action": "ls -a", "observation": "main.py"}
    >>> read_trajectory({"trajectory": [item], "info": {}}, ReadOptions()).steps[0].calls[0].name
    'ls'
    """
    info = as_map(value.get("info"))
    items = [item for item in as_list(value.get("trajectory")) if isinstance(item, Mapping)]
    history = as_list(first(value, "history", "messages"))
    spoken = [each for each in history if not as_map(each).get("is_demo")]
    said = messages_in(spoken)
    drafts = [_draft(item) for item in items] if items else _from_history(spoken, said)
    status = as_text(first(info, "exit_status", "exit_reason")).lower()
    reason = next((reason for exit, reason in _EXITS if exit.match(status)), None)
    submission = info.get("submission")
    answer = submission if isinstance(submission, str) and submission.strip() else None
    if answer is None and status.startswith("submitted"):
        answer = drafts[-1].observations[-1].text if drafts and drafts[-1].observations else ""
    trace = Trace(
        question=first_user(said),
        answer=answer if reason is None else None,
        reason=reason,
        framework="swe_agent",
        id=value.get("instance_id") if isinstance(value.get("instance_id"), str) else None,
        metadata={"exit_status": status} if status else {},
        unreadable="swe_agent" if not drafts and (items or history) else None,
    )
    return ended(drafts, trace, options, talks=False)


def _draft(item: Mapping[str, Any]) -> Draft:
    action = as_text(item.get("action")).strip()
    response = as_text(item.get("response"))
    draft = Draft(response, as_text(item.get("thought")).strip() or None, reads=False)
    if action:
        draft.calls.append(_call(action))
    seen = item.get("observation")
    if seen is not None and (action or seen):
        draft.observe(_seen(as_text(seen), draft.calls[0].name if action else None))
    taken = item.get("execution_time")
    draft.seconds = float(taken) if isinstance(taken, (int, float)) else None
    return draft


def _seen(text: str, name: str | None) -> Observation:
    failed = _HARNESS.search(text[:_NEAR]) or _HARNESS.search(text[-_NEAR:])
    return Observation(text, name, failed=failed is not None)


def _call(action: str) -> TraceCall:
    """Return a command as the call of its first word."""
    return TraceCall(action.split(maxsplit=1)[0], action)


def _from_history(history: list[Any], said: list[Said]) -> list[Draft]:
    """Read the messages: without calls of their own, the user's replies are what was seen."""
    if any(each.role == "tool" for each in said):
        return drafts_of(said)
    drafts: list[Draft] = []
    for raw in history:
        [each] = messages_in(raw) or [Said("system")]
        if each.role == "assistant":
            action = as_text(as_map(raw).get("action")).strip()
            command = action or _fenced(each.text)
            thought = as_text(as_map(raw).get("thought")).strip() or each.text.partition("```")[0]
            drafts.append(Draft(each.text, thought.strip() or None, reads=False))
            drafts[-1].calls += [_call(command)] if command else []
        elif each.role == "user" and drafts:
            name = drafts[-1].calls[0].name if drafts[-1].calls else None
            drafts[-1].observe(_seen(each.text, name))
    return drafts
