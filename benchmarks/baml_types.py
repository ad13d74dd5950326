"""BAML's declarations as Python types, so that its cases can be put to a reader of pydantic types.

A case of the shared corpus comes with declarations and without saying which one is asked for, so
each is tried, those first that no other refers to.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Literal, Union

from pydantic import BaseModel, Field, create_model

_BLOCK = re.compile(r"^\s*(class|enum)\s+(\w+)\s*\{(.*?)^\s*\}", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(class|enum)\s+(\w+)\s*\{(.*)\}\s*\Z", re.DOTALL)
_ALIAS = re.compile(r"@alias\(\s*\"?(.*?)\"?\s*\)(?=\s|\Z)")
_MEMBER = re.compile(r"^\s*(\w+)(?:[ \t]+([^@\n]*))?(.*)$")
_PLAIN = {"string": str, "int": int, "float": float, "bool": bool, "null": type(None)}


def targets(source: str) -> list[Any]:
    """Return the types that a source declares, the likeliest target first."""
    source = re.sub(r"#\".*?\"#", '""', source, flags=re.DOTALL)
    blocks = _BLOCK.findall(source) or _INLINE.findall(source)
    bodies = {name: (kind, re.sub(r"//[^\n]*", "", body)) for kind, name, body in blocks}
    made: dict[str, Any] = {}
    for name in bodies:
        _declared(name, bodies, made, ())
    used = {
        other
        for name, (_, body) in bodies.items()
        for other in bodies
        if other != name and re.search(rf"\b{other}\b", re.sub(r"\".*?\"", "", body))
    }
    roots = [made[name] for name in bodies if name not in used]
    others = [made[name] for name in bodies if name in used]
    roots = roots or list(made.values())
    found: list[Any] = []
    for group in (roots, others):
        if group:
            either: Any = Union[tuple(group)]
            found += [either, _list(either), _map(str, either)]
    # Without declarations the target is a bare type that nobody names: any JSON value.
    return found or [None]


def plain(value: Any) -> Any:
    """Return a value as BAML's own tests write it: fields and options by their names."""
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return {plain(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def _declared(
    name: str, bodies: dict[str, Any], made: dict[str, Any], open_: tuple[str, ...]
) -> Any:
    if name in made:
        return made[name]
    if name not in bodies or name in open_:
        return Any
    kind, body = bodies[name]
    lines = [m for m in map(_MEMBER.match, body.splitlines()) if m]
    if kind == "enum":
        names = {m[1]: _alias(m[0]) or m[1] for m in lines}
        made[name] = Enum(name, names)
        return made[name]
    fields: dict[str, Any] = {}
    for m in lines:
        if not m[2]:
            continue
        kind_ = _type(m[2].strip(), bodies, made, (*open_, name))
        default = None if m[2].strip().endswith("?") else ...
        fields[m[1]] = (kind_, Field(default, alias=_alias(m[0])))
    made[name] = create_model(name, **fields)
    return made[name]


def _alias(line: str) -> str | None:
    found = _ALIAS.search(line)
    return found[1] if found else None


def _type(text: str, bodies: dict[str, Any], made: dict[str, Any], open_: tuple[str, ...]) -> Any:
    text = text.strip()
    if text.endswith("?"):
        return Union[_type(text[:-1], bodies, made, open_), None]
    if text.endswith("[]"):
        return _list(_type(text[:-2], bodies, made, open_))
    parts = _split(text, "|")
    if len(parts) > 1:
        return Union[tuple(_type(part, bodies, made, open_) for part in parts)]
    if text.startswith("(") and text.endswith(")"):
        return _type(text[1:-1], bodies, made, open_)
    if text.startswith("map<"):
        key, value = _split(text[4:-1], ",")
        return _map(_type(key, bodies, made, open_), _type(value, bodies, made, open_))
    if text.startswith('"'):
        return Literal[text.strip('"')]
    return _PLAIN.get(text) or _declared(text, bodies, made, open_)


def _list(item: Any) -> Any:
    return list.__class_getitem__(item)


def _map(key: Any, value: Any) -> Any:
    return dict.__class_getitem__((key, value))


def _split(text: str, sign: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "(<") - (char in ")>")
        if char == sign and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
