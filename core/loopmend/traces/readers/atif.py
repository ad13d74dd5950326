"""Trajectories in Harbor's ATIF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from loopmend.traces.readers.conversation import textual_calls
from loopmend.traces.readers.draft import Draft, maker
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.parts import call_of, content_of, result_of
from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, tokens_in
from loopmend.traces.trace import Trace, TraceCall

__all__ = ["is_atif", "read_atif"]

_SHELL: Final = "bash_command"
# What terminus-2 itself says where it could not use a reply, or gave up on a command.
_HARNESS: Final = re.compile(
    r"Previous response had parsing errors:"
    r"|Previous command:\n[^\n]{0,1000}\n+The previous command timed out"
)


def is_atif(value: Any) -> bool:
    """Tell whether a value is a trajectory in ATIF."""
    if not isinstance(value, Mapping) or not isinstance(value.get("steps"), list):
        return False
    version = value.get("schema_version")
    told = isinstance(version, str) and version.upper().startswith("ATIF")
    return told or ("session_id" in value and "agent" in value)


def read_atif(value: Mapping[str, Any], options: ReadOptions) -> Trace:
    """Read a trajectory: each step of the agent is one.

    Steps that were copied from an earlier trajectory belong to that one.

    >>> step = {"step_id": 1, "source": "agent", "message": "It is 4."}
    >>> read_atif({"schema_version": "ATIF-v1.5", "steps": [step]}, ReadOptions()).answer
    'It is 4.'
    """
    steps = [as_map(step) for step in as_list(value.get("steps"))]
    asked = [_text(step.get("message")) for step in steps if step.get("source") == "user"]
    drafts: list[Draft] = []
    request = 0
    for step in steps:
        request += step.get("source") == "user" and bool(drafts)
        seen = as_list(as_map(step.get("observation")).get("results"))
        if step.get("source") == "agent" and not step.get("is_copied_context"):
            drafts.append(_draft(step))
            drafts[-1].request = request
        if drafts and not step.get("is_copied_context"):
            for result in seen:
                _observe(drafts, result)
    if drafts and not drafts[-1].calls and not drafts[-1].observations:
        _finish(drafts[-1], options)
    agent = as_map(value.get("agent"))
    told = as_text(agent.get("name")) or None
    defined = [
        as_map(as_map(t).get("function") or t) for t in as_list(agent.get("tool_definitions"))
    ]
    names = [tool["name"] for tool in defined if isinstance(tool.get("name"), str)]
    id = value.get("trajectory_id") or value.get("session_id")
    trace = Trace(
        question=asked[0] if asked else None,
        framework="atif",
        id=id if isinstance(id, str) else None,
        tools=names or None,
        metadata={"agent": told} if told else {},
        unreadable="atif" if steps and not drafts else None,
    )
    complete = bool(drafts) and _is_complete(drafts[-1].text)
    if complete:
        drafts[-1].answer = as_text(_terminus(drafts[-1].text).get("analysis"))
    return ended(drafts, trace, options, talks=True)


def _draft(step: Mapping[str, Any]) -> Draft:
    calls = [call_of(_named(each)) for each in as_list(step.get("tool_calls"))]
    draft = Draft(
        _text(step.get("message")),
        as_text(step.get("reasoning_content")) or None,
        [call for call in calls if call is not None],
        tokens=tokens_in(step.get("metrics")),
        id=as_text(step.get("step_id")) or None,
    )
    seen = as_list(as_map(step.get("observation")).get("results"))
    if not draft.calls and seen:
        draft.calls = _commands(draft.text) or textual_calls(draft.text)
        draft.executed_text = bool(draft.calls)
    return draft


def _named(call: Any) -> dict[str, Any]:
    told = as_map(call)
    return {"name": told.get("function_name"), "id": told.get("tool_call_id"), **told}


def _text(message: Any) -> str:
    return "\n".join(content_of(message).texts)


def _observe(drafts: list[Draft], result: Any) -> None:
    seen = result_of({"role": "tool", **as_map(result)})
    made = maker(drafts, seen.call_id) or drafts[-1]
    if _HARNESS.match(seen.text):
        seen = replace(seen, failed=True)
    if seen.text or not made.observations:
        made.observe(seen)


def _terminus(text: str) -> Mapping[str, Any]:
    """Return what terminus-2 says in JSON: its analysis, its plan and its commands."""
    said = as_map(decoded(text.strip()))
    return said if "commands" in said else {}


def _commands(text: str) -> list[TraceCall]:
    """Return the keystrokes that terminus-2 asks for, where its calls are kept as text."""
    listed = [as_map(each) for each in as_list(_terminus(text).get("commands"))]
    return [TraceCall(_SHELL, dict(each)) for each in listed if "keystrokes" in each]


def _is_complete(text: str) -> bool:
    return _terminus(text).get("task_complete") is True


def _finish(draft: Draft, options: ReadOptions) -> None:
    """Read a call in the last text, if it ends the run."""
    calls = textual_calls(draft.text)
    if calls and options.ends(calls[-1]):
        draft.calls, draft.executed_text = calls, True
        draft.calls[-1] = replace(calls[-1])
