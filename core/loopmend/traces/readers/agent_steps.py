"""What LangChain's AgentExecutor returns: its input, its output and its intermediate steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loopmend.traces.readers.draft import Draft
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.messages import messages_in
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.said import first_user
from loopmend.traces.readers.values import as_list, as_text, first, get
from loopmend.traces.trace import Observation, Trace, TraceCall

__all__ = ["is_agent_result", "read_agent_result"]

_STEPS: Final = ("intermediate_steps", "intermediateSteps")
_PAIR: Final = 2
_REFUSED: Final = "_Exception"


def is_agent_result(value: Any) -> bool:
    """Tell whether a value is what an executor returned."""
    return isinstance(value, Mapping) and isinstance(first(value, *_STEPS), (list, tuple))


def read_agent_result(value: Mapping[str, Any], options: ReadOptions) -> Trace:
    """Read what an executor returned: each action is a step.

    >>> action = {"tool": "search", "tool_input": "Oslo", "log": "Action: search"}
    >>> given = {"input": "Where?", "output": "Norway", "intermediate_steps": [[action, "found"]]}
    >>> trace = read_agent_result(given, ReadOptions())
    >>> trace.steps[0].calls[0].name, trace.answer
    ('search', 'Norway')
    """
    drafts: list[Draft] = []
    for pair in as_list(first(value, *_STEPS)):
        _take(drafts, pair)
    output = first(value, "output", "answer", "result")
    answer = output if isinstance(output, str) else as_text(output) or None
    if answer is not None:
        drafts.append(Draft(answer, answer=answer))
    asked = first(value, "input", "question")
    if not isinstance(asked, str):
        asked = first_user(messages_in(asked))
    trace = Trace(question=asked, answer=answer, framework="agent_executor")
    return ended(drafts, trace, options, talks=False)


def _take(drafts: list[Draft], pair: Any) -> None:
    listed = as_list(pair)
    if isinstance(pair, Mapping):
        listed = [first(pair, "action"), first(pair, "observation")]
    if not listed or listed[0] is None:
        return
    action = listed[0]
    action = get(action, "kwargs") or action
    if isinstance(action, (list, tuple)):  # a named tuple that JSON made a list
        action = dict(zip(("tool", "tool_input", "log"), action, strict=False))
    name, log = as_text(get(action, "tool")), as_text(get(action, "log"))
    id = first(action, "tool_call_id")
    call = TraceCall(
        name, first(action, "tool_input", "toolInput"), id if isinstance(id, str) else None
    )
    again = drafts and log and drafts[-1].text == log and id is not None  # one of several at once
    draft = drafts[-1] if again else Draft(log, reads=False)
    drafts += [] if again else [draft]
    draft.calls += [] if name == _REFUSED else [call]
    if len(listed) >= _PAIR and listed[1] is not None:
        seen = Observation(as_text(listed[1]), name, call.id, failed=name == _REFUSED)
        draft.observe(seen)
