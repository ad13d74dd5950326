"""Asking the model: what it was asked before is answered from memory, and each time counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from typing_extensions import override

from live.engine import SEED
from live.lines import add_line, read_lines
from live.record import Run

__all__ = ["OPTIONS", "SECONDS_PER_CALL", "Memory", "Server"]

OPTIONS: Final[Mapping[str, Any]] = {"temperature": 0, "seed": SEED, "max_tokens": 64}
"""As repeatable as it can be; calls and answers take 20 to 60 tokens."""
SECONDS_PER_CALL: Final = 180
_SHOWN: Final = 300  # of what the model is told: the end, as the rest is always the same


class Memory:
    """Remembers replies by what the model got to see, in a file if there is one.

    So each agent of a comparison gets the same reply to the same question, whichever framework
    asks it, and a comparison that is made again takes seconds.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._replies: dict[str, Any] = dict(read_lines(path)) if path is not None else {}

    def get(self, key: str) -> Any:
        """Return a reply, or `None`."""
        return self._replies.get(key)

    def keep(self, key: str, reply: Any) -> None:
        """Remember a reply."""
        self._replies[key] = reply
        if self._path is not None:
            add_line(self._path, [key, reply])


@dataclass(slots=True)
class Server:
    """Where the model is, whoever asks it: an OpenAI-compatible URL, and what is kept of it."""

    url: str
    model: str
    engine: str
    """What tells replies of one model from those of another: file, engine, decoding."""
    memory: Memory = field(default_factory=Memory)
    tell: Callable[[str], object] = lambda _: None
    """Is told what is asked and replied."""
    network: httpx.BaseTransport = field(default_factory=httpx.HTTPTransport)
    primes: bool = False
    """Whether to have the model read first what many prompts begin with, and only once."""
    primed: str | None = None
    """What it has read."""

    def client(self, run: Run) -> httpx.Client:
        """Return a client that notes in a run how often the model is asked."""
        return httpx.Client(
            transport=_Remembering(self, run), base_url=self.url, timeout=SECONDS_PER_CALL
        )


class _Remembering(httpx.BaseTransport):
    """Sends what was not asked before, and counts what was as well."""

    def __init__(self, server: Server, run: Run) -> None:
        self._server = server
        self._run = run

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.read())
        key = _key(self._server.engine, body)
        self._run.model_calls += 1
        self._server.tell(f"    > {_indented(str(body['messages'][-1]['content'])[-_SHOWN:])}")
        reply = self._server.memory.get(key)
        if reply is None:
            response = self._sent(request, body)
            if response.status_code != httpx.codes.OK:
                return response
            reply = response.json()
            self._server.memory.keep(key, reply)
        said = _said(reply)
        self._run.replies.append(said)
        self._server.tell(f"    < {_indented(said)}")
        return httpx.Response(httpx.codes.OK, json=reply)

    def _sent(self, request: httpx.Request, body: dict[str, Any]) -> httpx.Response:
        shared = self._shared(body)
        if not self._server.primes or not shared:
            return self._post(request, body)
        prime = {**body, "messages": shared, "max_tokens": 1}
        prefix = json.dumps([shared, body.get("tools")])
        if prefix != self._server.primed:
            self._post(request, {**prime, "cache_prompt": False})
            self._server.primed = prefix
        # Forgets what the last question added. Otherwise replies would depend on what was asked
        # before, as numbers are rounded in another way when other tokens are read together.
        self._post(request, {**prime, "cache_prompt": True})
        return self._post(request, {**body, "cache_prompt": True})

    def _shared(self, body: Mapping[str, Any]) -> list[Any]:
        """Return the messages before the question of the task, which are those of others too."""
        asked = {"role": "user", "content": self._run.task.question}
        messages = body["messages"]
        return messages[: messages.index(asked)] if asked in messages else []

    def _post(self, request: httpx.Request, body: Mapping[str, Any]) -> httpx.Response:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name not in ("content-length", "transfer-encoding")
        }
        again = httpx.Request("POST", request.url, headers=headers, json=body)
        again.extensions = request.extensions
        response = self._server.network.handle_request(again)
        response.read()
        return response


def _key(engine: str, body: Mapping[str, Any]) -> str:
    """Return what stands for all that the model is shown: no ids and no other bookkeeping.

    All parameters of the tools are texts, so that their names tell all about them.
    """
    shown = [
        engine,
        body.get("stop"),
        [
            (
                message["role"],
                message.get("content") or "",
                [
                    (call["function"]["name"], json.loads(call["function"]["arguments"]))
                    for call in message.get("tool_calls") or ()
                ],
            )
            for message in body["messages"]
        ],
        [
            (
                tool["function"]["name"],
                tool["function"]["description"],
                list(tool["function"]["parameters"]["properties"]),
            )
            for tool in body.get("tools") or ()
        ],
    ]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _said(reply: Mapping[str, Any]) -> str:
    message = reply["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return f"{message.get('content') or ''}{json.dumps(calls) if calls else ''}"


def _indented(text: str) -> str:
    return text.replace("\n", "\n      ")
