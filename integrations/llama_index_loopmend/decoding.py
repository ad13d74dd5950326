"""How a model is told to decode by a JSON schema, each client in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index_loopmend.beside import Beside

__all__ = ["decoding_arguments", "remember_refusal", "takes_schema"]

_refused: Beside[str] = Beside()


def takes_schema(llm: object) -> bool:
    """Tell whether a model's client is known to pass a JSON schema on, and its provider takes it.

    >>> takes_schema(object())
    False
    """
    return not _refused.get(llm) and decoding_arguments(llm, {}) is not None


def remember_refusal(llm: object) -> None:
    """Remember that a model's provider turned out to take no schema."""
    _refused.put(llm, "refused")


def decoding_arguments(llm: object, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the keyword arguments of `chat` that make a model decode by a schema, or `None`.

    LlamaIndex has no common way. Ollama's client takes `format`, OpenAI's and all that are made
    from it take `response_format`; a class of your own says which by `schema_argument`.
    """
    kinds = type(llm).__mro__
    argument = getattr(llm, "schema_argument", None)
    if argument is None and any(kind.__module__.startswith("llama_index.llms.") for kind in kinds):
        names = {kind.__name__ for kind in kinds}
        argument = "format" if "Ollama" in names else None
        argument = "response_format" if names & {"OpenAI", "OpenAILike"} else argument
    if argument == "format":
        return {"format": dict(schema)}
    if argument == "response_format":
        named = {"name": "action", "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return None
