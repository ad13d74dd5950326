"""A conversation for a model that decodes by the schema of actions.

The model sees the tools by their signatures, its earlier calls as the contract's JSON and their
results in words, and nothing else: once the form is guaranteed, fewer words work better.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from loopmend.contracts.actions import ToolCall
from loopmend.mending.corrections import signature, written
from loopmend.mending.messages import Message, NativeCall
from loopmend.reading.tools import Tools, ToolSpec, toolbox_of

__all__ = ["constrained"]

_INTRODUCTION: Final = "You can call these tools:"
_FORM: Final = (
    'Reply with one JSON object: type "tool_call" calls a tool, type "final" gives the answer.'
)
_ANSWER: Final = (
    'You have this result already. Reply with type "final" and answer from the results: {}'
)
_LONGEST_ABOUT: Final = 200
_LONGEST_QUESTION: Final = 1000


def constrained(messages: Sequence[Message], tools: Tools) -> list[Message]:
    """Return a conversation for a model that replies by `action_schema`.

    If a call has returned the same result twice, it adds a request to answer.

    >>> asked = [Message("user", "Where is Oslo?"),
    ...          Message("assistant", calls=(NativeCall("search", {"query": "Oslo"}, "1"),)),
    ...          Message("tool", "in Norway", call_id="1")]
    >>> for message in constrained(asked, ["search"])[1:]:
    ...     print(message.role, message.content)
    user Where is Oslo?
    assistant {"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}
    user Result of search: in Norway
    """
    told = [m.content for m in messages if m.role == "system" and m.content]
    found = [Message("system", "\n\n".join([*told, _tools(tools)]))]
    made: list[tuple[str, str]] = []
    for at, message in enumerate(messages):
        if message.role == "user":
            made.clear()
            found.append(Message("user", message.content))
        elif message.role == "assistant":
            if message.content.strip() and not message.calls:
                found.append(Message("assistant", message.content))
            for call, result in zip(message.calls, _results(messages, at), strict=True):
                pair = _written(call), f"Result of {call.name}: {result}"
                made.append(pair)
                found += [Message("assistant", pair[0]), Message("user", pair[1])]
    if len(made) > 1 and made[-1] in made[:-1]:
        question = next((m.content for m in reversed(messages) if m.role == "user"), "")
        found.append(Message("user", _ANSWER.format(question[:_LONGEST_QUESTION])))
    return found


def _results(messages: Sequence[Message], at: int) -> list[str]:
    """Return the results of a message's calls: by their ids, or in their order.

    Small servers leave ids out or use them again, so only what follows at once counts.
    """
    following = takewhile(lambda message: message.role == "tool", messages[at + 1 :])
    left = list(following)
    found = []
    for call in messages[at].calls:
        own = next((m for m in left if m.call_id == call.id), left[0] if left else None)
        if own is not None:
            left.remove(own)
        found.append("" if own is None else own.content)
    return found


def _tools(tools: Tools) -> str:
    toolbox = toolbox_of(tools)
    specs = [] if toolbox is None else list(toolbox.tools.values())
    lines = []
    for spec in specs:
        about = " ".join(_about(spec).split())[:_LONGEST_ABOUT]
        lines.append(f"- {signature(spec)}{f': {about}' if about else ''}")
    return "\n".join([_INTRODUCTION, *lines, _FORM]) if lines else _FORM


def _about(spec: ToolSpec) -> str:
    """Return what a tool does, without its signature: LlamaIndex writes that on the first line."""
    first, _, rest = spec.description.partition("\n")
    taken = first.partition("->")[0].rstrip()
    is_signature = taken.startswith(f"{spec.name}(") and taken.endswith(")")
    return rest if is_signature and rest.strip() else spec.description


def _written(call: NativeCall) -> str:
    return written(ToolCall(call.name, call.arguments), "json")
