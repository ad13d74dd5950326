"""Conversations in OpenAI's form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from loopmend.reading.native import name_of
from loopmend.reading.response import read_response
from loopmend.reading.turn import FailurePattern
from loopmend.traces.trace import Limits, Observation, Step, Tokens, Trace, TraceCall

__all__ = ["read_messages", "text_of_content"]

_FAILED: Final = ("error", "failed")


def read_messages(messages: Iterable[Any], *, max_iterations: int | None = None) -> Trace:
    """Read a conversation into a trace: each message of the assistant is a step.

    Args:
        messages: Dicts with `role`, `content`, `tool_calls` and `tool_call_id`, or objects with
            these as attributes.
        max_iterations: The cap on steps, if there was one.

    >>> trace = read_messages([
    ...     {"role": "user", "content": "Where is Oslo?"},
    ...     {"role": "assistant", "content": "In Norway."},
    ... ])
    >>> trace.question, trace.answer
    ('Where is Oslo?', 'In Norway.')
    """
    steps: list[Step] = []
    asked: list[str] = []
    for message in messages:
        role = str(_get(message, "role") or _get(message, "type") or "")
        if role in ("user", "human"):
            asked.append(text_of_content(_get(message, "content")))
        elif role in ("assistant", "ai"):
            steps.append(_step(message, after_result=bool(steps and steps[-1].observations)))
        elif role in ("tool", "function") and steps:
            steps[-1] = _observed(steps[-1], message)
    final = _final(steps)
    if final is not None:
        steps[-1] = replace(steps[-1], answer=final)
    return Trace(
        steps,
        question=asked[0] if asked else None,
        answer=final,
        limits=Limits(max_iterations=max_iterations),
        framework="messages",
        metadata={"user_message_lengths": [len(text) for text in asked]},
    )


def _final(steps: list[Step]) -> str | None:
    """Return the answer: what the last step says, if it asks for nothing and can be used."""
    if not steps or steps[-1].calls or not steps[-1].text.strip():
        return None
    turn = steps[-1].turn
    failed = turn.failure.pattern if turn is not None and turn.failure is not None else None
    broken = (FailurePattern.TEXTUAL_CALL, FailurePattern.MALFORMED, FailurePattern.TRUNCATED)
    return None if failed in broken else steps[-1].text


def _step(message: Any, *, after_result: bool) -> Step:
    text = text_of_content(_get(message, "content"))
    raw = _get(message, "tool_calls")
    calls = list(raw) if isinstance(raw, (list, tuple)) else []
    old = _get(message, "function_call")
    calls += [old] if isinstance(old, Mapping) else []
    named = [call for call in calls if isinstance(name_of(call), str)]
    turn = read_response(text, calls=named) if named or text else None
    if not text and not named and not after_result:
        turn = read_response("")
    usage = _get(message, "usage")
    return Step(
        text=text,
        thought=text if named and text else None,
        calls=[_call(call) for call in named],
        turn=turn,
        tokens=_tokens(usage) if isinstance(usage, Mapping) else None,
        agent=_name(message),
    )


def _name(message: Any) -> str | None:
    name = _get(message, "name")
    return name if isinstance(name, str) else None


def _call(call: Any) -> TraceCall:
    inner = _get(call, "function")
    inner = call if inner is None or isinstance(inner, str) else inner
    arguments = _get(inner, "arguments")
    if arguments is None:
        arguments = _get(inner, "args")
    if isinstance(arguments, str):
        # kept as text: that it is broken is a finding, not an error of ours
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    id = _get(call, "id")
    return TraceCall(str(name_of(call)), arguments, id if isinstance(id, str) else None)


def _observed(step: Step, message: Any) -> Step:
    call_id = _get(message, "tool_call_id")
    known = {call.id: call.name for call in step.calls}
    made = (
        step.calls[len(step.observations)].name
        if len(step.observations) < len(step.calls)
        else None
    )
    observation = Observation(
        text_of_content(_get(message, "content")),
        tool=_name(message) or known.get(call_id) or made,
        call_id=call_id if isinstance(call_id, str) else None,
        failed=str(_get(message, "status") or "").lower() in _FAILED,
    )
    return replace(step, observations=(*step.observations, observation))


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    given = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    first, second = (count if isinstance(count, int) else 0 for count in given)
    return Tokens(first, second)


def text_of_content(content: Any) -> str:
    """Return the text of a message's content, which may come in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text_of_part(part) for part in content)
    return "" if content is None else str(content)


def _text_of_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else ""


def _get(message: Any, key: str) -> Any:
    return message.get(key) if isinstance(message, Mapping) else getattr(message, key, None)
