"""A recorded run: what the model said, called and saw, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from loopmend._repr import without_controls
from loopmend._rich import html_of
from loopmend.contracts.react_trace import I06_REASON_EXIT
from loopmend.errors import TraceFormatError
from loopmend.reading.turn import Turn
from loopmend.traces.unread import Lazily
from loopmend.wire import from_data, to_data

if TYPE_CHECKING:
    from loopmend.traces.readers.options import ReadOptions

__all__ = ["Limits", "Observation", "Step", "Tokens", "Trace", "TraceCall", "TraceError"]

VERSION: Final = 1
"""The version of the JSON format; read back are this one and older ones."""


@dataclass(frozen=True, slots=True)
class TraceCall:
    """A tool call that the model asked for.

    >>> TraceCall("search", {"q": "Oslo"}).name
    'search'
    """

    name: str
    arguments: Any = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool returned.

    >>> Observation("not found", tool="search", failed=True).failed
    True
    """

    text: str
    tool: str | None = None
    call_id: str | None = None
    """The id of the call that it answers, if calls have ids."""
    failed: bool = False
    """Whether the host says that the tool failed."""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens a step took.

    >>> Tokens(100, 20).total
    120
    """

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class TraceError:
    """An error that came up during the run, or that ended it.

    >>> TraceError("RateLimitError", "429", origin="model").origin
    'model'
    """

    kind: str
    """The exception's name."""
    message: str = ""
    origin: str = "unknown"
    """Where it came from: `model`, `tool`, `parser`, `host` or `unknown`."""

    def __post_init__(self) -> None:
        # Errors end up in terminals and logs, which must not obey them.
        object.__setattr__(self, "kind", without_controls(self.kind))
        object.__setattr__(self, "message", without_controls(self.message))


@dataclass(frozen=True, slots=True)
class Step:
    """One model call, and what came of it.

    >>> Step(thought="look it up", calls=[TraceCall("search", "Oslo")]).answer is None
    True
    """

    text: str = ""
    """The model's text."""
    thought: str | None = None
    calls: Sequence[TraceCall] = ()
    observations: Sequence[Observation] = ()
    answer: str | None = None
    """The final answer, if this step gives one."""
    turn: Turn | None = None
    """The reader's turn for the text; with `UNREAD`, read when you first look."""
    error: TraceError | None = None
    """Why the step failed, if it did."""
    tokens: Tokens | None = None
    seconds: float | None = None
    agent: str | None = None
    """The agent that took the step, if there are several."""
    id: str | None = None
    """The framework's own name for the step, such as a span or run id."""
    request: int = 0
    """The user request that the step serves, from 0; a repeated request may repeat calls."""
    finish: str | None = None
    """The provider's finish reason, such as `stop` or `length`, if the record has one."""

    def __post_init__(self) -> None:
        if type(self.calls) is not tuple:
            object.__setattr__(self, "calls", tuple(self.calls))
        if type(self.observations) is not tuple:
            object.__setattr__(self, "observations", tuple(self.observations))


setattr(Step, "turn", Lazily(Step.__dict__["turn"]))  # noqa: B010 - in place of the slot


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the run.

    >>> Limits(max_iterations=5).max_seconds is None
    True
    """

    max_iterations: int | None = None
    max_seconds: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    r"""A recorded run of an agent.

    >>> trace = Trace.from_react_log("Thought 1: easy\nAction 1: Finish[4]")
    >>> trace.answer, trace.iterations, Trace.from_json(trace.to_json()) == trace
    ('4', 1, True)
    """

    steps: Sequence[Step] = ()
    question: str | None = None
    answer: str | None = None
    """The answer that the host returned, of any type."""
    reason: str | None = None
    """The host's reason for stopping: a `StopReason`'s value, or `None` if it gives none."""
    limits: Limits = field(default_factory=Limits)
    error: TraceError | None = None
    """The exception that the host got."""
    framework: str | None = None
    seconds: float | None = None
    id: str | None = None
    tools: Sequence[str] | None = None
    """The names of the available tools, if known."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Anything else, as JSON."""
    unreadable: str | None = None
    """The record's apparent format, if loopmend could read nothing from it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        if self.tools is not None:
            object.__setattr__(self, "tools", tuple(self.tools))

    @property
    def iterations(self) -> int:
        """How many steps there were."""
        return len(self.steps)

    @property
    def exit_code(self) -> int | None:
        """The contract's exit code; `None` for a reason that the contract does not know."""
        return I06_REASON_EXIT.get(self.reason or "")

    @property
    def tokens(self) -> int:
        """How many tokens all steps took together; steps without a count do not count."""
        return sum(step.tokens.total for step in self.steps if step.tokens is not None)

    @property
    def scratchpad(self) -> str:
        """The run as ReAct text; only real headers look like headers."""
        from loopmend.traces.scratchpad import lines_of

        return "\n".join(line for step in self.steps for line in lines_of(step))

    def to_react_trace(self) -> dict[str, Any]:
        """Return the trace in the form that `classify_termination` and the like take.

        A reason beyond the contract's five has no exit code here, so the contract reports an
        unknown reason.
        """
        body: dict[str, Any] = {"iterations": self.iterations, "scratchpad": self.scratchpad}
        if self.reason is not None:
            body["reason"] = self.reason
        if self.exit_code is not None:
            body["exit_code"] = self.exit_code
        if self.answer is not None:
            body["answer"] = self.answer
        return body

    def to_json(self) -> str:
        """Return the trace as one line of JSON, with the version of the format.

        It writes values that JSON cannot hold, such as a date in the arguments, as their repr.

        Raises:
            ValueError: Arguments or metadata are nested deeper than 127 levels.
        """
        data = {"version": VERSION, **to_data(self)}
        return json.dumps(data, ensure_ascii=False, default=repr)

    @classmethod
    def from_json(cls, line: str) -> Trace:
        """Return the trace of a line that `to_json` wrote.

        Raises:
            TraceFormatError: It is not a trace, or has a newer version.
        """
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            msg = "not JSON"
            raise TraceFormatError(msg) from error
        return cls.from_data(data)

    @classmethod
    def from_data(cls, data: Any) -> Trace:
        """Return the trace of what `json.loads` made of such a line.

        Raises:
            TraceFormatError: It is not a trace, or has a newer version.
        """
        version = data.get("version") if isinstance(data, dict) else None
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            msg = f"unsupported trace version {version!r} (supported: {VERSION})"
            raise TraceFormatError(msg)
        try:
            return from_data(cls, {key: data[key] for key in data if key != "version"})
        except ValueError as error:
            raise TraceFormatError(str(error)) from error

    @classmethod
    def from_react_log(
        cls,
        text: str,
        *,
        tools: Iterable[str] | None = None,
        finish: Iterable[str] = (),
        handover: Iterable[str] = (),
        max_iterations: int | None = None,
    ) -> Trace:
        """Read a ReAct transcript, with the options of `load_traces`: each action is a step.

        What stands before the first header is the question. `finish` may name an action with its
        input, such as `click[Buy Now]`.

        Raises:
            TypeError: `text` is not a `str`.
        """
        from loopmend.traces.readers.react_log import read_react_log

        return read_react_log(text, _options(tools, finish, handover, max_iterations))

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Any],
        *,
        tools: Iterable[str] | None = None,
        finish: Iterable[str] = (),
        handover: Iterable[str] = (),
        max_iterations: int | None = None,
    ) -> Trace:
        """Read a conversation, with the options of `load_traces`: each reply is a step.

        Messages are dicts or objects, as OpenAI, Anthropic, Gemini, LangChain, Vercel, ShareGPT,
        Inspect or AgentDojo write them.
        """
        from loopmend.traces.readers.conversation import read_messages

        return read_messages(messages, _options(tools, finish, handover, max_iterations))

    @classmethod
    def from_spans(
        cls,
        spans: Iterable[Any],
        *,
        tools: Iterable[str] | None = None,
        finish: Iterable[str] = (),
        handover: Iterable[str] = (),
        max_iterations: int | None = None,
    ) -> Trace:
        """Read the spans of one run, with the options of `load_traces`: each model call is a step.

        Spans are mappings, nested (`child_spans`) or flat (`parent_id`), with attributes by the
        conventions of OpenInference, of OpenTelemetry's GenAI, or of Vercel.
        """
        from loopmend.traces.readers.otel_spans import read_spans

        return read_spans(spans, _options(tools, finish, handover, max_iterations))

    def with_reason(self, reason: str) -> Trace:
        """Return the trace with another reason why it stopped."""
        return replace(self, reason=reason)

    def _repr_html_(self) -> str:
        return html_of("trace", self)


def _options(*given: Any) -> ReadOptions:
    from loopmend.traces.readers.options import options_of

    return options_of(*given)
