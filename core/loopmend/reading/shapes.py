"""The shapes in which a decoded value describes calls, or an answer.

| shape | example |
|---|---|
| a name and arguments | `{"name": "f", "arguments": {…}}`, any spelling of the keys |
| a name and the arguments beside it | `{"tool": "f", "city": "Oslo"}` |
| a key that is a tool | `{"f": {"city": "Oslo"}}` |
| a pair | `["f", {"city": "Oslo"}]` |
| a wrapper | `{"thought": "…", "command": {…}}`, `{"tool_calls": […]}`, a text that is JSON |
| an answer or a question | `{"type": "final", "content": "…"}`, `{"action": "Final Answer", …}` |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from loopmend.reading.answers import Answered, final_answer
from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.lexicon import Role, role_of, words_of
from loopmend.reading.plans import withholds
from loopmend.reading.pythonic import read_call
from loopmend.reading.shape_keys import (
    decoded_item,
    is_done,
    is_said,
    may_be_json,
    may_stand_beside,
    only_name,
)
from loopmend.reading.tools import Toolbox, ToolSpec
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value, verified
from loopmend.reading.written_calls import Call

__all__ = ["Described", "describe"]


@dataclass(slots=True)
class Described:
    """What a value describes."""

    calls: list[Call]
    answer: Answered | None = None
    announced: bool = False
    """Whether it looks like a call, whatever became of it."""
    contract: bool = False
    """Whether it is the contract's own form."""


_WRAPPERS: Final = frozenset({Role.CALL, Role.FILLER, Role.SAY, Role.ARGUMENTS, Role.FORMAT})
# Keys under which a call may be encoded as text, and keys under which tools are described.
_TEXTS: Final = frozenset({"response", "tool_call", "function_call", "function", "call"})
_DEFINITIONS: Final = frozenset({"tools", "functions"})
_DEEPEST: Final = 8


def describe(found: Value, tools: Toolbox | None, *, marked: bool = False) -> Described:
    """Return the calls, or the answer, that a decoded value describes.

    Args:
        found: The value.
        tools: What is on offer, if known.
        marked: Whether markup around the value says that it is a call.
    """
    reader = _Shapes(found, tools)
    reader.read(found.value, marked=marked, depth=0)
    return reader.result


class _Shapes:
    def __init__(self, found: Value, tools: Toolbox | None) -> None:
        self.found = found
        self.tools = tools
        self.result = Described([])

    def read(self, value: Any, *, marked: bool, depth: int) -> bool:
        """Read a value, through its wrappers; tell whether all of it was understood."""
        if depth > _DEEPEST:
            return False
        if isinstance(value, str):
            return self._encoded(value, marked=marked, depth=depth)
        if isinstance(value, list):
            return self._listed(value, marked=marked, depth=depth)
        if not isinstance(value, dict) or not value:
            return False
        return (
            self._typed(value, marked=marked)
            or self._named(value, marked=marked)
            or self._keyed(value, marked=marked)
            or self._wrapped(value, marked=marked, depth=depth)
        )

    # -- shapes of an object

    def _typed(self, value: dict[str, Any], *, marked: bool) -> bool:
        """Read the contract's form, or a tool's name as the type."""
        kind = value.get("type")
        if not isinstance(kind, str):
            return False
        if kind in ("final", "ask_user"):
            return self._said(value, kind)
        if kind == "tool_call" and isinstance(value.get("name"), str) and "arguments" in value:
            self.result.contract = len(value) == 3  # noqa: PLR2004 - type, name, arguments
            return self._named(value, marked=marked)
        if any(role_of(key) in (Role.NAME, Role.CALL) for key in value if key != "type"):
            return False
        rest = {key: item for key, item in value.items() if key != "type"}
        spec = self._find(kind)
        return spec is not None and self._with_rest(spec, kind, rest)

    def _said(self, value: dict[str, Any], kind: str) -> bool:
        own = "content" if kind == "final" else "question"
        keys = [own, *(k for k in value if k not in (own, "type") and is_said(k))]
        text = next((value[key] for key in keys if isinstance(value.get(key), str)), None)
        if text is None:
            return False
        self.result.contract = set(value) == {"type", own}
        self.result.answer = Answered(text, question=kind == "ask_user")
        return True

    def _named(self, value: dict[str, Any], *, marked: bool) -> bool:
        value = {key: only_name(key, item) for key, item in value.items()}
        name_key = self._name_key(value)
        if name_key is None:
            return False
        name = value[name_key]
        rest = {key: item for key, item in value.items() if key != name_key}
        given = [key for key in rest if role_of(key) is Role.ARGUMENTS]
        given = given or self._fitting(name, rest, marked=marked)
        if len(given) > 1 and (spec := self._find(name)) and spec.known:
            given = [key for key in given if key not in spec.parameters] or given
        if len(given) > 1:
            self.result.announced = self._find(name) is not None
        if len(given) != 1:
            return self._without_arguments(name, rest, marked=marked) if not given else False
        if answer := final_answer(name, rest[given[0]], known=self._find(name) is not None):
            self.result.answer = answer
            return True
        beside = {k: item for k, item in rest.items() if k != given[0] and item != name}
        if value.get("type") == "function_call" and "call_id" in value and is_done(value):
            del beside["status"]  # an item of OpenAI's Responses
        self.result.announced = True
        if isinstance(rest[given[0]], str) and self._is_unquoted():
            return False
        if not self._may_stand(self._find(name), beside):
            return False
        self._add(name, rest[given[0]], None if role_of(given[0]) is Role.ARGUMENTS else given[0])
        return True

    def _fitting(self, name: str, rest: dict[str, Any], *, marked: bool) -> list[str]:
        """Return the key that says nothing, but holds what the tool takes, or what a call marks."""
        spec = self._find(name)
        if spec is None and not (marked and self.tools is None):
            return []
        takes = dict[str, Any]() if spec is None else spec.parameters
        needs = set[str]() if spec is None else set(spec.required)
        return [
            key
            for key, item in rest.items()
            if role_of(key) is Role.FILLER
            and key not in takes
            and isinstance(given := decoded_item(item), dict)
            and (spec is None or not spec.known or needs <= given.keys() <= takes.keys())
        ]

    def _name_key(self, value: dict[str, Any]) -> str | None:
        """Return the key under which a call's name stands."""
        names = [k for k, v in value.items() if isinstance(v, str) and v.strip()]
        for role in (Role.NAME, Role.CALL):
            keys = [k for k in names if role_of(k) is role and k != "type"]
            known = [k for k in keys if self._find(value[k]) is not None]
            if keys:
                return (known or keys)[0]
        # A key that says nothing, such as `request`: the tool on offer speaks for it.
        vouched = [k for k in names if role_of(k) is Role.FILLER and self._is_name(value[k])]
        return vouched[0] if len(vouched) == 1 else None

    def _is_name(self, text: str) -> bool:
        spec = self._find(text)
        return spec is not None and spec.name == text

    def _without_arguments(self, name: str, rest: dict[str, Any], *, marked: bool) -> bool:
        """Read a name with its arguments beside it, or with none."""
        spec = self._find(name)
        bare = {key: item for key, item in rest.items() if not may_stand_beside(key, item)}
        if bare:
            self.result.announced = self.result.announced or spec is not None
            return spec is not None and self._with_rest(spec, name, rest)
        takes_none = spec is not None and spec.known and not spec.parameters
        if self.tools is None and self._is_unquoted():
            self.result.announced = True
            return False
        if not marked and not takes_none:
            self.result.announced = self.result.announced or spec is not None
            return False
        self._add(name, {})
        return True

    def _with_rest(self, spec: ToolSpec, name: str, rest: dict[str, Any]) -> bool:
        """Read a name whose arguments, or one key with them, stand beside it."""
        keys = [key for key in rest if role_of(key) is Role.ARGUMENTS]
        if len(keys) == 1 and keys[0] not in spec.parameters:
            self.result.announced = True
            beside = {key: item for key, item in rest.items() if key != keys[0]}
            if not self._may_stand(spec, beside):
                return False
            self._add(name, rest[keys[0]])
            return True
        own = {k: v for k, v in rest.items() if k in spec.parameters}
        others = {k: v for k, v in rest.items() if k not in own}
        if not spec.known or not all(may_stand_beside(k, v) for k, v in others.items()):
            return False
        if not set(spec.required) <= set(own):
            return False
        self._add(name, own)
        return True

    def _keyed(self, value: dict[str, Any], *, marked: bool) -> bool:
        """Read `{"tool": {…}}`, a key that is a tool's name."""
        calls = [
            (key, item)
            for key, item in value.items()
            if isinstance(item, (dict, str)) and self._is_tool_key(key, item, marked=marked)
        ]
        called = {key for key, _ in calls}
        others = {k: v for k, v in value.items() if k not in called}
        if not calls or not all(self._may_stand(self._find(key), others) for key, _ in calls):
            several = bool(calls) and any(self._find(key) is not None for key in others)
            self.result.announced = self.result.announced or several
            return False
        self.result.announced = True
        for key, item in calls:
            self._add(key, item)
        return True

    @staticmethod
    def _may_stand(spec: ToolSpec | None, beside: dict[str, Any]) -> bool:
        """Tell whether nothing beside a call objects to it, or is what its tool takes."""
        taken = () if spec is None else spec.parameters
        return all(
            (item is None or key not in taken) and may_stand_beside(key, item)
            for key, item in beside.items()
        )

    def _is_tool_key(self, key: str, item: Any, *, marked: bool) -> bool:
        if isinstance(item, str) and not item.lstrip().startswith("{"):
            return False
        if self.tools is not None:
            return self.tools.find(key) is not None
        return marked and role_of(key) is None and isinstance(item, dict)

    def _wrapped(self, value: dict[str, Any], *, marked: bool, depth: int) -> bool:
        """Read what stands under a key that means a call, if nothing beside it objects."""
        inner = {k: v for k, v in value.items() if isinstance(v, (dict, list, str)) and v}
        objecting = {k for k, v in value.items() if not may_stand_beside(k, v)}
        for key, item in inner.items():
            role = role_of(key)
            if isinstance(item, str) and (key not in _TEXTS or not may_be_json(item)):
                continue
            if key.lower() in _DEFINITIONS and isinstance(item, list):
                self.result.announced = True
                continue
            before = len(self.result.calls)
            if not self.read(item, marked=marked or role is Role.CALL, depth=depth + 1):
                del self.result.calls[before:]
                continue
            unknown = role is None and role_of(key, every=False) is not Role.SHOWN
            unknown = unknown and not withholds(words_of(key))
            if role not in _WRAPPERS and not self._vouches(before, unknown=unknown):
                continue
            if objecting <= {key}:
                return True
            del self.result.calls[before:]
            self.result.answer = None
            self.result.announced = True
        return False

    def _vouches(self, before: int, *, unknown: bool) -> bool:
        """Tell whether tools on offer speak for calls under a key that does not mean a call."""
        calls = self.result.calls[before:]
        known = bool(calls) and all(self._find(call.name) is not None for call in calls)
        if known and unknown:
            return True
        del self.result.calls[before:]
        self.result.answer = None
        self.result.announced = self.result.announced or known
        return False

    def _is_unquoted(self) -> bool:
        """Tell whether some words of the value stand in no quotes: they may be anything."""
        return any(repair.what == "unquoted text" for repair in self.found.repairs)

    # -- lists and texts

    def _listed(self, value: list[Any], *, marked: bool, depth: int) -> bool:
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):  # noqa: PLR2004
            if self._find(value[0]) is None:
                return False
            self._add(value[0], value[1])
            return True
        before = len(self.result.calls)
        whole = bool(value) and all(
            self.read(item, marked=marked, depth=depth + 1) for item in value
        )
        if whole and not (self.result.answer and len(value) > 1):
            return True
        if len(self.result.calls) > before:
            self.result.announced = True
        del self.result.calls[before:]
        self.result.answer = None
        return False

    def _encoded(self, value: str, *, marked: bool, depth: int) -> bool:
        text = value.strip()
        if not may_be_json(text):
            return self._python(text)
        try:
            inner = decode_value(text, 0)
        except LenientError:
            return self._python(text)
        inner = verified(text, inner)
        if inner.torn or inner.twice or text[inner.end :].strip():
            return False
        return self.read(inner.value, marked=marked, depth=depth + 1)

    def _python(self, text: str) -> bool:
        found = read_call(text, 0)
        if found is None or found[1] != len(text) or self._find(found[0].name) is None:
            return False
        call = found[0]
        repairs = (*call.repairs, Repair("call in quotes", self._span()))
        made = replace(Call.of_python(call), span=self._span(), repairs=repairs)
        self.result.calls.append(made)
        return True

    # -- parts

    def _find(self, name: str) -> ToolSpec | None:
        return None if self.tools is None else self.tools.find(name)

    def _span(self) -> tuple[int, int]:
        return (self.found.start, self.found.end)

    def _add(self, name: str, arguments: Any, key: str | None = None) -> None:
        self.result.announced = True
        span = self._span()
        repairs = (Repair(f"arguments under `{key[:80]}`", span),) if key else ()
        self.result.calls.append(Call(name, arguments, span, repairs=repairs))
