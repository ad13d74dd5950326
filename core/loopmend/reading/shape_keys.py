"""The keys of a value that may describe a call: what each says, and what may stand beside it."""

from __future__ import annotations

from typing import Any, Final

from loopmend._json import decode
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.weighing import SHOWN, Words, lean

__all__ = ["decoded_item", "is_done", "is_said", "may_be_json", "may_stand_beside", "only_name"]

# What may stand beside a call without changing it.
_BESIDE: Final = frozenset({Role.ID, Role.TYPE, Role.THINK, Role.SAY, Role.FORMAT})
_SAID: Final = frozenset({Role.SAY, Role.ANSWER, Role.ASK, Role.OBSERVATION, Role.ARGUMENTS})
_ASSISTANTS: Final = frozenset({"assistant", "ai", "model", "object", "json_object"})


def only_name(key: str, item: Any) -> Any:
    """Return the name if there is nothing else under a key that means a call."""
    if isinstance(item, dict) and len(item) == 1 and role_of(key) is Role.CALL:
        inner, name = next(iter(item.items()))
        return name if role_of(inner) is Role.NAME and isinstance(name, str) else item
    return item


def decoded_item(item: Any) -> Any:
    """Return the object that a text encodes, or what there is."""
    if not isinstance(item, str) or not item.lstrip().startswith("{"):
        return item
    try:
        return decode(item)
    except ValueError:
        return None


def is_done(value: dict[str, Any]) -> bool:
    """Tell whether an item of OpenAI's Responses is one that the model has finished."""
    return value.get("status") == "completed"


def is_said(key: str) -> bool:
    """Tell whether what stands under a key is said to somebody."""
    return role_of(key) in _SAID


def may_be_json(text: str) -> bool:
    """Tell whether a text begins as JSON does."""
    return text.lstrip()[:1] in ("{", "[", '"')


def may_stand_beside(key: str, item: Any) -> bool:
    """Tell whether something beside a call leaves it as it is: an id, a thought, nothing."""
    role = role_of(key)
    if item is None or item in ("", [], {}):
        return role is not Role.SHOWN
    if role is Role.SAY:
        # It stands neither before nor after the call.
        return isinstance(item, str) and min(lean(Words(item, "")), lean(Words("", item))) > 0
    if role is Role.THINK and isinstance(item, str):
        return lean(Words(item, "")) > SHOWN
    if role is Role.TYPE and isinstance(item, str):
        return role_of(item) in (Role.CALL, Role.FORMAT) or item.lower() in _ASSISTANTS
    return role in _BESIDE
