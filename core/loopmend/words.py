"""What loopmend answers in a model's place, worded in one place so that triage knows it again."""

from __future__ import annotations

from typing import Final

__all__ = ["BLOCKED", "GAVE_UP", "STOPPED", "blocked", "gave_up"]

BLOCKED: Final = "I cannot go on: "
GAVE_UP: Final = "I could not go on: "
STOPPED: Final = "I stopped: "


def blocked(rationale: str) -> str:
    """Return the answer where something does not let the run go on.

    >>> blocked("the budget is used up")
    'I cannot go on: the budget is used up.'
    """
    return f"{BLOCKED}{rationale.rstrip('.')}."


def gave_up(message: str) -> str:
    """Return the answer where the model kept breaking the tool protocol.

    >>> gave_up("Nothing was said.")
    'I could not go on: Nothing was said.'
    """
    return f"{GAVE_UP}{message}"
