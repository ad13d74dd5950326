"""The model as LangChain sees it, and somebody who watches it."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from typing_extensions import override

from live.engine import SEED, needed
from live.record import Run

__all__ = ["OutOfTime", "Watch", "chat_model"]

_MOST_TOKENS: Final = 64  # calls and answers take 20 to 40
_SECONDS_PER_CALL: Final = 60
_SECONDS_PER_TASK: Final = 60
_SHOWN: Final = 500  # of what the model is told: the end, as the prompt is always the same


def chat_model(base_url: str, name: str) -> BaseChatModel:
    """Return the model behind an OpenAI-compatible server, as repeatable as it can be.

    What the model was asked before is answered from memory. So each agent of a comparison
    gets the same reply to the same question, and the comparison takes half the time.
    """
    made: BaseChatModel = needed("langchain_openai").ChatOpenAI(
        base_url=base_url,
        api_key="none",
        model=name,
        temperature=0,
        seed=SEED,
        max_tokens=_MOST_TOKENS,
        timeout=_SECONDS_PER_CALL,
        max_retries=0,
        disable_streaming=True,
        cache=_Memory(),
    )
    return made


class _Memory(BaseCache):
    """Remembers replies by what the model gets to see, without ids and other bookkeeping."""

    def __init__(self) -> None:
        self._replies: dict[tuple[str, str], RETURN_VAL_TYPE] = {}

    @override
    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        return self._replies.get((_visible(prompt), llm_string))

    @override
    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        self._replies[_visible(prompt), llm_string] = return_val

    @override
    def clear(self, **kwargs: Any) -> None:
        self._replies.clear()


def _visible(prompt: str) -> str:
    """Return of messages in LangChain's own notation what a model is shown."""
    return json.dumps(
        [
            (
                message["id"][-1],
                message["kwargs"]["content"],
                [(c["name"], c["args"]) for c in message["kwargs"].get("tool_calls", ())],
                [(c["name"], c["args"]) for c in message["kwargs"].get("invalid_tool_calls", ())],
            )
            for message in json.loads(prompt)
        ],
        sort_keys=True,
    )


class OutOfTime(Exception):
    """The time for a task is over."""


class Watch(BaseCallbackHandler):
    """Counts how often the model is asked, ends runs that take too long, and shows all if told."""

    raise_error = True  # how a run is ended
    run_inline = True

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._run: Run | None = None
        self._end = 0.0

    def start(self, run: Run) -> None:
        """Watch another run from now on."""
        self._run = run
        self._end = time.monotonic() + _SECONDS_PER_TASK

    def tell(self, line: str) -> None:
        """Print a line, if told to show all."""
        if self._verbose:
            print(line)

    @override
    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        if time.monotonic() > self._end:
            msg = f"more than {_SECONDS_PER_TASK} seconds"
            raise OutOfTime(msg)
        if self._run is not None:
            self._run.model_calls += 1
        last = messages[0][-1]
        self.tell(f"    > {last.type}: {_indented(str(last.text)[-_SHOWN:])}")

    @override
    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        reply = response.generations[0][0]
        if isinstance(reply, ChatGeneration):
            calls = [(c["name"], c["args"]) for c in getattr(reply.message, "tool_calls", ())]
            self.tell(f"    < {_indented(reply.text)}{f' {calls}' if calls else ''}")


def _indented(text: str) -> str:
    return text.replace("\n", "\n      ")
