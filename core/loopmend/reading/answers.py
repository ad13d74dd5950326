"""Answers and questions in the shape of a call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from loopmend.reading.shape_keys import is_said

__all__ = ["Answered", "final_answer"]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer or a question in the shape of a call."""

    text: str
    question: bool = False


_FINAL_NAMES: Final = frozenset(
    {"final answer", "final_answer", "finalanswer", "finish", "respond", "final", "answer"}
)


def final_answer(name: str, arguments: Any, *, known: bool) -> Answered | None:
    """Return the answer if the name means that this is one and no tool has it."""
    plain = name.strip().lower()
    if plain not in _FINAL_NAMES or (plain != "final answer" and known):
        return None
    if isinstance(arguments, dict) and len(arguments) == 1:
        key, only = next(iter(arguments.items()))
        if isinstance(only, str) and is_said(key):
            return Answered(only)
    if isinstance(arguments, str):
        return Answered(arguments)
    if plain != "final answer":
        return None
    # Whatever stands beside these words is the answer, text or not.
    return Answered("" if arguments is None else json.dumps(arguments, ensure_ascii=False))
