"""What really arrived of a stream: LangChain completes arguments that were cut off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.runnables.config import merge_configs, var_child_runnable_config
from typing_extensions import override

from langchain_loopmend.messages import is_whole

__all__ = ["Arrivals", "may_stream"]


def may_stream(model: Any) -> bool:
    """Tell whether a model that is invoked would stream: if it is set to, or is streamed from."""
    config = var_child_runnable_config.get()
    if config is None or getattr(model, "__dict__", {}).get("streaming"):
        return True  # without a config nobody knows
    callbacks: Any = config.get("callbacks")
    handlers = getattr(callbacks, "handlers", callbacks) or ()
    # Handlers that LangChain streams for have this method; their class is private.
    return any(hasattr(handler, "tap_output_iter") for handler in handlers)


class Arrivals(BaseCallbackHandler):
    """The pieces of each run of a model in a block: any middleware may call one, or one again."""

    ignore_chat_model = True  # else each question would be written out for it as one text

    def __init__(self) -> None:
        self.replied: AIMessage | None = None
        """What came of the latest run that came to an end."""
        self._ids: dict[str, set[str | None]] = {}
        """What the message of each run is called, as far as the pieces say."""
        self._pieces: dict[str, dict[int, list[str]]] = {}
        """The pieces of the arguments of each call of each run."""

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen to what is called in this context."""
        config = var_child_runnable_config.get() or {}
        callbacks = merge_configs(config, {"callbacks": [self]})["callbacks"]
        token = var_child_runnable_config.set({**config, "callbacks": callbacks})
        try:
            yield
        finally:
            var_child_runnable_config.reset(token)

    @override
    def on_llm_new_token(
        self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any
    ) -> None:
        message: Any = getattr(chunk, "message", None)
        for piece in getattr(message, "tool_call_chunks", ()):
            self._ids.setdefault(str(run_id), set()).add(message.id)
            pieces = self._pieces.setdefault(str(run_id), {})
            number = piece.get("index")
            place = number if isinstance(number, int) else len(pieces)
            pieces.setdefault(place, []).append(piece.get("args") or "")

    @override
    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        for generation in chain.from_iterable(response.generations):
            self.replied = getattr(generation, "message", None)

    def as_arrived(self, reply: AIMessage) -> AIMessage:
        """Return the reply with those calls marked as invalid whose arguments did not arrive whole.

        What came of any other run is no part of it.
        """
        # LangChain names a message after its run if the provider does not name it.
        runs = [
            pieces
            for run, pieces in self._pieces.items()
            if reply.id is not None and (reply.id in self._ids[run] or run in reply.id)
        ]
        pieces = runs[0] if len(runs) == 1 else {}
        given = ["".join(pieces[number]) for number in sorted(pieces)]
        if len(given) != len(reply.tool_calls) or all(map(is_whole, given)):
            return reply
        pairs = list(zip(reply.tool_calls, given, strict=True))
        broken = [
            invalid_tool_call(name=call["name"], args=text, id=call["id"], error="cut off")
            for call, text in pairs
            if not is_whole(text)
        ]
        invalid = [*reply.invalid_tool_calls, *broken]
        whole = [call for call, text in pairs if is_whole(text)]
        return reply.model_copy(update={"tool_calls": whole, "invalid_tool_calls": invalid})
