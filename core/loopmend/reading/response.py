"""Reading a provider's whole response: its text, its calls, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal
from typing import Final as Constant

from loopmend._arguments import not_text
from loopmend.contracts.actions import FinalAnswer, ToolCall
from loopmend.reading.json_reading import fit_value
from loopmend.reading.native import name_of
from loopmend.reading.reader import read
from loopmend.reading.tools import Toolbox, Tools, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Turn

__all__ = ["is_cut", "is_declined", "is_unusual", "read_response"]

Protocol = Literal["native", "text"]
"""How calls were asked for: through the provider's interface, or in the text."""

_DEFAULT: Constant = ReadingConfig()
_CUT_REASONS: Constant = frozenset(
    {
        *("length", "max_tokens", "max_output_tokens", "model_length"),
        "model_context_window_exceeded",
    }
)
# Keyed on the reason and never on emptiness alone: an empty turn after a tool's result is a
# normal way to finish.
_MALFORMED_REASONS: Constant = frozenset(
    {
        "malformed_function_call",
        "malformed_tool_call",
        "malformed_response",
        "unexpected_tool_call",
        "too_many_tool_calls",
        "tool_use_failed",
        "function_call_error",
    }
)


# The provider's own word that it declines; to ask again would lose that.
_DECLINED_REASONS: Constant = frozenset(
    {
        *("content_filter", "safety", "refusal", "recitation", "prohibited_content", "blocklist"),
        *("spii", "content_filtered", "guardrail_intervened"),
    }
)


def read_response(  # noqa: PLR0913 - all but the text by name
    text: str,
    *,
    calls: Sequence[Any] = (),
    broken_calls: Sequence[Any] = (),
    finish_reason: str | None = None,
    tools: Tools = None,
    protocol: Protocol = "native",
    config: ReadingConfig = _DEFAULT,
) -> Turn:
    """Read a provider's response into the actions that it asks for, or say why not.

    If calls go through the provider's interface, a call in the text is a failure, because the host
    would treat it as the answer. With `salvage` you still get the call if it fits an available tool
    and is clearly meant. You also get calls that the client could not decode, if the reader can
    read them.

    Args:
        text: The model's text beside its calls.
        calls: The calls that the client could decode, in any common client's shape.
        broken_calls: The calls that the client could not decode, each with its arguments as text.
        finish_reason: Why the provider says it stopped, in upper or lower case.
        tools: The available tools, as for `read_turn`.
        protocol: How the model was asked to make calls.
        config: How to read.

    Raises:
        TypeError: `text` is not a `str`, or a tool or a call has no name.

    >>> read_response("", finish_reason="MALFORMED_FUNCTION_CALL").failure.message
    'The provider reports `malformed_function_call`.'
    >>> read_response('{"name": "add", "arguments": {}}', tools=["add"]).failure.pattern.value
    'textual_call'
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    reason = _folded(finish_reason)
    native = protocol == "native"
    if config.native != native:
        config = replace(config, native=native)
    toolbox = toolbox_of(tools)
    if broken_calls:
        turn = _with_broken(text, [*calls, *broken_calls], toolbox, config)
        failed = _broken(turn, len(calls), text, reason)
        return _salvaged(failed, turn, toolbox) if config.salvage else failed
    if not calls and reason in _MALFORMED_REASONS:
        message = f"The provider reports `{reason}`."
        return _failed(Turn(), FailurePattern.MALFORMED, message, len(text))
    if not calls and not text.strip() and reason in _DECLINED_REASONS:
        return Turn((FinalAnswer(""),), span=(0, len(text)))
    turn = read(text, toolbox, calls, _believing(config))
    if reason in _CUT_REASONS and _may_be_cut(turn, text):
        message = "The reply hit its length limit in the middle of a call."
        return _failed(turn, FailurePattern.TRUNCATED, message, len(text))
    if protocol == "native" and not calls and turn.calls:
        failed = _textual(turn)
        return _salvaged(failed, turn, toolbox) if config.salvage else failed
    return turn


def is_unusual(finish_reason: str | None) -> bool:
    """Tell whether a finish reason says that the reply is cut off or malformed.

    >>> is_unusual("length"), is_unusual("stop"), is_unusual(None)
    (True, False, False)
    """
    reason = _folded(finish_reason)
    return reason in _CUT_REASONS or reason in _MALFORMED_REASONS


def is_cut(finish_reason: str | None) -> bool:
    """Tell whether a finish reason says that the reply hit its length limit."""
    return _folded(finish_reason) in _CUT_REASONS


def is_declined(finish_reason: str | None) -> bool:
    """Tell whether a finish reason says that a filter, or the model itself, refused the reply."""
    return _folded(finish_reason) in _DECLINED_REASONS


def _folded(finish_reason: str | None) -> str:
    """Return a reason in the one spelling: some write an enum's name, some write hyphens."""
    return (finish_reason or "").lower().rpartition(".")[2].replace("-", "_")


def _believing(config: ReadingConfig) -> ReadingConfig:
    """Return how to read without making what is no call of the provider's."""
    return replace(config, salvage=False) if config.salvage else config


def _with_broken(
    text: str, calls: Sequence[Any], tools: Toolbox | None, config: ReadingConfig
) -> Turn:
    """Read calls of which some came as text, without believing what is not sure."""
    if not all(isinstance(name_of(call), str) for call in calls):
        failure = Failure(FailurePattern.MALFORMED, "A call has no name.", (0, len(text)))
        return Turn(failure=failure)
    return read(text, tools, calls, _believing(config))


def _broken(turn: Turn, whole: int, text: str, reason: str) -> Turn:
    """Say that a call could not be decoded, whatever else may be wrong with it."""
    if reason in _CUT_REASONS:
        message = "The reply hit its length limit in the middle of a call."
        return _failed(turn, FailurePattern.TRUNCATED, message, len(text))
    if turn.failure is not None:
        return turn
    name = turn.calls[whole].name
    message = f"The arguments of `{name[:80]}` are not JSON."
    return _failed(turn, FailurePattern.MALFORMED, message, len(text), name)


def _may_be_cut(turn: Turn, text: str) -> bool:
    """Tell whether the last call reaches to the end, so that it may have gone on."""
    calls = bool(turn.calls) and turn.failure is None
    return calls and not text[turn.span[1] :].strip()


def _textual(turn: Turn) -> Turn:
    call = turn.calls[0]
    message = f"The model wrote the call to `{call.name[:80]}` as text."
    pattern = FailurePattern.TEXTUAL_CALL
    failure = Failure(pattern, message, turn.span, call.name, call=call)
    return replace(turn, actions=(), failure=failure)


def _salvaged(failed: Turn, turn: Turn, tools: Toolbox | None) -> Turn:
    """Return the calls of a turn all the same, if the tools vouch for each of them."""
    cut = failed.failure is not None and failed.failure.pattern is FailurePattern.TRUNCATED
    if tools is None or turn.failure is not None or cut:
        return failed
    if not all(_vouched(call, tools) for call in turn.calls):
        return failed
    return replace(failed, actions=turn.actions, fidelity="salvaged")


def _vouched(call: ToolCall, tools: Toolbox) -> bool:
    """Tell whether a tool takes just these arguments, as far as it says what it takes."""
    spec = tools.tools[call.name]
    if not spec.known:
        return True
    given = set(call.arguments)
    fits = set(spec.required) <= given <= set(spec.parameters)
    return fits and fit_value(dict(call.arguments), spec.schema()).ok


def _failed(
    turn: Turn, pattern: FailurePattern, message: str, length: int, tool: str | None = None
) -> Turn:
    failure = Failure(pattern, message, (0, length), tool)
    return replace(turn, actions=(), failure=failure, fidelity="exact")
