"""A callback handler that remembers what happened in which order."""

from __future__ import annotations

import sys
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler

__all__ = ["WITH_CONTEXT", "Events"]


class Events(BaseCallbackHandler):
    """Remembers runs with their tags and parents, tokens and custom events."""

    run_inline = True

    def __init__(self) -> None:
        self.runs: list[tuple[str, tuple[str, ...]]] = []
        self.parents: dict[UUID, UUID | None] = {}
        self.tokens: list[str] = []
        self.custom: list[tuple[str, Any]] = []
        self.errors: list[str] = []

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember a chain or parser."""
        self.runs.append((str(kwargs.get("name")), _ours(tags)))
        self.parents[run_id] = parent_run_id

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember a model's call."""
        self.runs.append(("model", _ours(tags)))
        self.parents[run_id] = parent_run_id

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        """Remember a token."""
        self.tokens.append(str(token))

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Remember a custom event."""
        self.custom.append((name, data))

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """Remember an error."""
        self.errors.append(type(error).__name__)

    @property
    def roots(self) -> int:
        """How many runs have no parent."""
        return sum(parent is None for parent in self.parents.values())


def _ours(tags: list[str] | None) -> tuple[str, ...]:
    return tuple(tag for tag in tags or () if tag.startswith("loopmend:"))


WITH_CONTEXT = pytest.mark.parametrize(
    "asynchronous",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11),
                reason="LangChain finds no callbacks in async code before 3.11",
            ),
        ),
    ],
)
"""Sync and async, where an agent's own code must find its callbacks."""
