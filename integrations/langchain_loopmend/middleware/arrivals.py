"""What really arrived of a stream: LangChain completes arguments that were cut off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, InvalidToolCall
from langchain_core.runnables.config import var_child_runnable_config
from typing_extensions import override

from langchain_loopmend.messages import is_whole

__all__ = ["Arrived", "as_it_arrived", "listen", "listened", "may_stream", "replied"]


@dataclass(slots=True)
class _Streamed:
    """What arrived of one run of a model."""

    ids: set[str | None] = field(default_factory=set)
    """What its message is called, as far as the pieces say."""
    pieces: dict[int, list[str]] = field(default_factory=dict)
    """The pieces of the arguments of each call, by its number."""
    reply: AIMessage | None = None
    """What came of it in the end."""


Arrived = dict[str, _Streamed]
"""What arrived of each run, by its id: other middleware may call models, too, or call one again."""

_arrived: Final[ContextVar[Arrived | None]] = ContextVar("loopmend_arrived", default=None)


class _Listener(BaseCallbackHandler):
    """Keeps the pieces of arguments; it keeps them where the call of the model was made.

    LangChain may call it on another thread, but in a copy of the caller's context: what the
    variable holds is the same there.
    """

    ignore_chat_model = True  # else each question would be written out for it as one text

    @override
    def on_llm_new_token(
        self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any
    ) -> None:
        message: Any = getattr(chunk, "message", None)
        arrived = _arrived.get()
        pieces = getattr(message, "tool_call_chunks", None)
        if arrived is None or not pieces:
            return
        run = arrived.setdefault(str(run_id), _Streamed())
        run.ids.add(message.id)
        for piece in pieces:
            number = piece.get("index")
            place = number if isinstance(number, int) else len(run.pieces)
            run.pieces.setdefault(place, []).append(piece.get("args") or "")

    @override
    def on_llm_end(self, response: Any, *, run_id: Any = None, **kwargs: Any) -> None:
        arrived = _arrived.get()
        if arrived is not None:
            reply = response.generations[0][0].message
            arrived.setdefault(str(run_id), _Streamed()).reply = reply


_LISTENER: Final = _Listener()


def listened(model: Any) -> Any:
    """Return a model with a listener."""
    if not isinstance(model, BaseChatModel):
        return model
    callbacks = model.callbacks
    if isinstance(callbacks, BaseCallbackManager):
        with_ours: Any = callbacks.copy()
        with_ours.add_handler(_LISTENER)
    else:
        with_ours = [*(callbacks or []), _LISTENER]
    return model.model_copy(update={"callbacks": with_ours})


def may_stream(model: Any) -> bool:
    """Tell whether a model that is invoked would stream: if it is set to, or is streamed from."""
    config = var_child_runnable_config.get()
    if config is None or getattr(model, "__dict__", {}).get("streaming"):
        return True  # without a config nobody knows
    callbacks: Any = config.get("callbacks")
    handlers = getattr(callbacks, "handlers", callbacks) or ()
    # Handlers that LangChain streams for have this method; their class is private.
    return any(hasattr(handler, "tap_output_iter") for handler in handlers)


def _is_of(message: str | None, id: str, run: _Streamed) -> bool:
    """Tell whether a message came of a run: LangChain names it so if the provider does not."""
    return message is not None and (message in run.ids or id in message)


@contextmanager
def listen() -> Iterator[Arrived]:
    """Collect what arrives while a model is called in this context."""
    arrived: Arrived = {}
    token = _arrived.set(arrived)
    try:
        yield arrived
    finally:
        _arrived.reset(token)


def replied(arrived: Arrived) -> AIMessage | None:
    """Return what came of the latest run that came to an end."""
    return next((run.reply for run in reversed(arrived.values()) if run.reply is not None), None)


def as_it_arrived(reply: AIMessage, arrived: Arrived) -> AIMessage:
    """Return the reply with those calls marked as invalid whose arguments did not arrive whole.

    What came of any other run is no part of it.
    """
    runs = [run for id, run in arrived.items() if _is_of(reply.id, id, run)]
    pieces = runs[0].pieces if len(runs) == 1 else {}
    given = ["".join(pieces[number]) for number in sorted(pieces)]
    if len(given) != len(reply.tool_calls) or all(map(is_whole, given)):
        return reply
    pairs = list(zip(reply.tool_calls, given, strict=True))
    broken = [
        InvalidToolCall(
            name=call["name"], args=text, id=call["id"], error="cut off", type="invalid_tool_call"
        )
        for call, text in pairs
        if not is_whole(text)
    ]
    whole = [call for call, text in pairs if is_whole(text)]
    return reply.model_copy(
        update={
            "tool_calls": whole,
            "invalid_tool_calls": [*reply.invalid_tool_calls, *broken],
        }
    )
