"""Spans of any platform, and the run that they tell: each call of a model is a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loopmend.traces.readers.messages import messages_in
from loopmend.traces.readers.said import Said
from loopmend.traces.readers.values import as_text, decoded
from loopmend.traces.trace import Tokens, TraceError
from loopmend.traces.unread import Lazily

__all__ = [
    "ENDS",
    "NOTHING",
    "Span",
    "error_of",
    "in_tree",
    "origin_of",
    "said_by_model",
    "sortable",
    "without_twins",
]

# What is raised to end a run, to pause it or to jump, and is no error.
ENDS: Final = {
    **dict.fromkeys(("CancelledError", "GeneratorExit", "KeyboardInterrupt"), "cancelled"),
    **dict.fromkeys(("AbortError", "APIUserAbortError"), "cancelled"),  # JavaScript's
    **dict.fromkeys(("UserInterrupt", "UserRollback"), "cancelled"),  # LangGraph's server
    **dict.fromkeys(("GraphInterrupt", "NodeInterrupt"), "interrupted"),
    **dict.fromkeys(("ParentCommand", "GraphBubbleUp"), ""),
}
_RAISED: Final = re.compile(r"(\w+)\(['\"]?(.*?)['\"]?\)", re.DOTALL)
# An exception's name without a message, as `repr` or a traceback's last line has it.
_NAMED: Final = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Rollback|Cancelled)")
# What a platform says of a run that somebody ended, and nothing else.
_CANCELLED: Final = re.compile(
    r"(?:the |this )?(?:\w+ )?(?:was |has been )?(?:cancell?ed|aborted)(?: by [\w ]{1,40})?[.!]?",
    re.IGNORECASE,
)
NOTHING: Final = ("", "None", "null")
"""What platforms write for nothing."""
_SHORT: Final = 100
_ORIGINS: Final = {"LLM": "model", "TOOL": "tool"}
_WRAPPERS: Final = frozenset(
    {"messages", "message", "choices", "candidates", "generations", "output", "update", "role"}
)


@dataclass(slots=True)
class Span:
    """A piece of work: of a model, of a tool, of an agent, or of whatever holds these."""

    id: str
    parent: str | None = None
    name: str = ""
    kind: str = "CHAIN"
    """`LLM`, `TOOL`, `AGENT`, `CHAIN`, or another word for what is no step."""
    start: str = ""
    """When it started, in a form that sorts."""
    given: Any = None
    """What it got: messages, or a tool's arguments."""
    said: Any = None
    """What it returned: messages, or a tool's result."""
    error: TraceError | None = None
    ended: str | None = None
    """What ended it before its time, if that is no error."""
    tokens: Tokens | None = None
    tool: str | None = None
    """The tool's name, if the span tells it apart from its own."""
    call_id: str | None = None
    event: bool = False
    """Whether it is one of several that tell of the same call."""
    tools: Sequence[str] = ()
    """The tools that it was offered."""
    failed: bool = False
    """Whether it says that a tool failed, though nothing was raised."""
    finish: str | None = None
    """Why the provider says the reply ended, if the span tells it beside the reply."""
    children: list[Span] = field(default_factory=list)
    _reply: Said | None = None

    def __post_init__(self) -> None:
        if self.error is not None and self.error.kind in ENDS:
            self.ended, self.error = ENDS[self.error.kind], None

    @property
    def reply(self) -> Said:
        """What a model said, as one message."""
        if self._reply is None:
            self._reply = said_by_model(self.said)
            if self._reply.text.strip() in NOTHING:
                self._reply.text = ""
        return self._reply

    @property
    def asked(self) -> list[Said]:
        """What a model was told."""
        return messages_in(self.given)

    @property
    def is_bare(self) -> bool:
        """Whether it says nothing about what it got or returned."""
        return (
            self.error is None
            and self.ended is None
            and all(value is None or value in NOTHING for value in (self.said, self.given))
        )


for _name in ("given", "said"):  # models get the whole conversation again with each call
    setattr(Span, _name, Lazily(Span.__dict__[_name]))


def _is_data(value: Any) -> bool:
    """Tell whether a value is a reply's own JSON, and no wrapper in which no reply was found."""
    if isinstance(value, Mapping):
        return bool(value) and not _WRAPPERS & set(value)
    return isinstance(value, list) and bool(value)


def said_by_model(value: Any) -> Said:
    """Return a model's reply as one message, however many pieces it is kept in."""
    pieces = [said for said in messages_in(value, "assistant") if said.role == "assistant"]
    if len(pieces) == 1:
        return pieces[0]
    if not pieces and _is_data(decoded(value)):
        return Said("assistant", as_text(value))  # a reply in JSON, as its schema asked for
    whole = Said("assistant")
    for said in pieces:
        whole.join(said)
    return whole


def origin_of(kind: str, name: str) -> str:
    """Return whose an error is, by the kind and the name of the span that tells it."""
    return _ORIGINS.get(kind, "parser" if name.endswith("Parser") else "host")


def sortable(value: Any) -> str:
    """Return a time in a form that sorts: JavaScript writes seconds and nanoseconds apart."""
    if isinstance(value, (list, tuple)):
        return "".join(str(each).zfill(12) for each in value)
    if isinstance(value, (int, float)) or (isinstance(value, str) and value.isdigit()):
        return str(value).zfill(24)
    return str(value or "")


def error_of(told: str, origin: str) -> TraceError:
    """Return an error from its name and its message in one text, with or without a traceback."""
    said, _, raised = told.partition("Traceback")
    said = said.strip() or raised.strip().rpartition("\n")[2].strip()
    written = _RAISED.fullmatch(said)
    if written is not None:
        return TraceError(written[1], written[2], origin)
    if _NAMED.fullmatch(said):
        return TraceError(said.rpartition(".")[2], "", origin)
    if _CANCELLED.fullmatch(said[:_SHORT]):
        return TraceError("CancelledError", said, origin)
    kind, _, rest = said.partition(":")
    named = bool(rest) and kind.replace(".", "_").isidentifier()
    if not named:
        return TraceError("Error", said, origin)
    return TraceError(kind.rpartition(".")[2], rest.strip(), origin)


def in_tree(spans: Iterable[Span]) -> list[Span]:
    """Return the outermost spans, each with its children in the order of time.

    A child of a span that is not there is outermost; so is one of several that hold each other.
    """
    order = sorted(spans, key=lambda span: span.start)
    known = {span.id: span for span in order}
    closing = _closing(order, known)
    roots = [s for s in order if known.get(s.parent or "", s) is s or id(s) in closing]
    outermost = {id(span) for span in roots}
    for span in order:
        if id(span) not in outermost:
            known[span.parent or ""].children.append(span)
    return roots


def _closing(order: list[Span], known: dict[str, Span]) -> set[int]:
    """Return one span of each circle of spans that hold each other."""
    closing: set[int] = set()
    followed: set[int] = set()
    for span in order:
        path: set[int] = set()
        above: Span | None = span
        while above is not None and id(above) not in followed and id(above) not in path:
            path.add(id(above))
            above = known.get(above.parent or "")
        if above is not None and id(above) in path:
            closing.add(id(above))
        followed |= path
    return closing


def without_twins(roots: list[Span]) -> None:
    """Make one of a model's span inside another: both tell of the same call.

    An outer span that holds several calls is an agent.
    """
    order, stack = [], list(roots)
    while stack:
        span = stack.pop()
        order.append(span)
        stack += span.children
    inner: dict[int, list[Span]] = {}
    for span in reversed(order):  # those inside come first
        # Whether there are several is all that counts.
        below = [one for child in span.children for one in inner.pop(id(child), [])][:2]
        if span.kind == "LLM" and below:
            _merge(span, below)
            below = [span] if span.kind == "LLM" else below
        elif span.kind == "LLM":
            below = [span]
        inner[id(span)] = below


def _merge(outer: Span, inner: list[Span]) -> None:
    if len(inner) > 1:
        outer.kind = "AGENT"
        return
    [twin] = inner
    mine, its = outer.reply, twin.reply
    if (len(its.calls), len(its.text)) > (len(mine.calls), len(mine.text)):
        outer.said, outer._reply = twin.said, its  # noqa: SLF001 - its own
    outer.given = outer.given if outer.asked else twin.given
    outer.tokens = outer.tokens or twin.tokens
    outer.error = outer.error or twin.error
    outer.finish = outer.finish or twin.finish
    twin.kind = "TWIN"
