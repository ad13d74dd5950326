"""What stands in an element that holds no other: text, JSON, or elements of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any, Final

from loopmend.reading.coercion import JsonText
from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.lexicon import Role
from loopmend.reading.nodes import Node
from loopmend.reading.tools import ToolSpec
from loopmend.reading.turn import Repair
from loopmend.reading.values import verified

__all__ = ["begins_with_element", "content_of", "object_of", "parameters_of", "section_of"]

_CDATA: Final = re.compile(r"\s*<!\[CDATA\[((?:(?!]]>).)*)]]>\s*", re.DOTALL)
_PARAMETER: Final = re.compile(
    r"\s*<(?P<name>[^\W\d][\w.\-]{0,60})(?:\s+[\w:\-]{1,40}=(?:\"[^\"<]{0,200}\"|'[^'<]{0,200}')){0,5}\s*(?P<void>/?)>"
)
_REST: Final = re.compile(r"\s*\Z")
_MOST_ENDS: Final = 50
_CHILD: Final = re.compile(r"\s*<([^\W\d][\w.\-]{0,60})>")
# The rest of the line of a start tag.
_BLANK_LINE: Final = re.compile(r"[^\S\n]*\n")
_DEEPEST: Final = 20


def content_of(text: str, leaf: Node, repairs: list[Repair]) -> Any:
    """Return what stands in an element as it is written, less its layout, and note what changed."""
    raw, dedented = _laid_out(text[leaf.begin : leaf.stop])
    if dedented:
        repairs.append(Repair("indentation", (leaf.begin, leaf.stop)))
    kind = leaf.attributes.get("type", "string")
    if leaf.attributes.get("string") == "false" or kind not in ("string", "str"):
        return JsonText(raw)
    if leaf.role is Role.ARGUMENTS and leaf.label is None:
        return object_of(raw)
    return raw


def _laid_out(raw: str) -> tuple[str, bool]:
    """Return a text without the lines that its tags end and begin, and whether it was indented.

    Where the end tag is indented on a line of its own, so is what stands deeper before it.
    """
    if not _BLANK_LINE.match(raw):
        return raw, False
    inner, _, last = raw.partition("\n")[2].rpartition("\n")
    if last.strip():
        return raw.partition("\n")[2], False
    deeper = all(line.startswith(last) for line in inner.split("\n") if line.strip())
    return (dedent(inner), True) if last and deeper else (f"{inner}{last}", False)


def parameters_of(
    raw: str, spec: ToolSpec, repairs: list[Repair], at: int
) -> dict[str, Any] | None:
    """Return what elements named like a tool's parameters hold, or `None` if there is more.

    Args:
        raw: What stands in the tool's element.
        spec: The tool.
        repairs: What is put right.
        at: Where it stands.
    """
    found: dict[str, Any] = {}
    several: set[str] = set()
    end = 0
    while start := _PARAMETER.match(raw, end):
        name = start["name"]
        if name not in spec.parameters:
            return None
        stop = end = start.end()
        if not start["void"]:
            close = next(_ends_of(raw, name, spec, end), None)
            if close is None:
                return None
            stop, end = close
        value, dedented = _laid_out(raw[start.end() : stop])
        section = section_of(value)
        value = value if section is None else section
        if section is not None or dedented:
            what = "indentation" if section is None else "CDATA"
            repairs.append(Repair(what, (at + start.end(), at + stop)))
        schema = spec.parameters[name]
        kind = schema.get("type") if isinstance(schema, dict) else None
        nested = _elements(value) if kind != "string" and value.lstrip().startswith("<") else None
        item: Any = value if nested is None else nested
        if name not in found:
            found[name] = item
        elif kind != "array":
            return None
        elif name in several:
            found[name].append(item)
        else:
            found[name] = [found[name], item]
            several.add(name)
    return found if found and not raw[end:].strip() else None


def _ends_of(raw: str, name: str, spec: ToolSpec, at: int) -> Iterator[tuple[int, int]]:
    """Yield the end tags of a parameter that another parameter, or nothing, follows.

    Those before it close what the value itself opens.
    """
    mark, begin = f"</{name}>", at
    for inner in range(_MOST_ENDS):
        at = raw.find(mark, at)
        if at == -1:
            return
        end = at + len(mark)
        following = _PARAMETER.match(raw, end)
        over = (following and following["name"] in spec.parameters) or _REST.match(raw, end)
        if over and raw.count(f"<{name}>", begin, at) == inner:
            yield at, end
        at = end


def object_of(raw: str) -> Any:
    """Return the object that a text is, as JSON or as elements, or the text."""
    plain = raw.strip().strip("`").removeprefix("json").strip()
    if plain.startswith("{"):
        try:
            value = verified(plain, decode_value(plain, 0))
        except LenientError:
            return raw.strip()
        whole = not value.torn and not value.twice and not plain[value.end :].strip()
        return value.value if whole else raw.strip()
    found = _elements(raw) if plain.startswith("<") else None
    return raw.strip() if found is None else found


def _elements(raw: str, depth: int = 0) -> dict[str, Any] | None:
    """Return the elements that a text consists of, or `None` if it is anything else."""
    found: dict[str, list[Any]] = {}
    at = 0
    while (child := _CHILD.match(raw, at)) and depth < _DEEPEST:
        close = raw.find(f"</{child[1]}>", child.end())
        if close == -1:
            return None
        inner, _ = _laid_out(raw[child.end() : close])
        nested = _elements(inner, depth + 1) if inner.lstrip().startswith("<") else None
        found.setdefault(child[1], []).append(inner if nested is None else nested)
        at = close + len(child[1]) + 3
    if raw[at:].strip() or not found:
        return None
    return {key: items[0] if len(items) == 1 else items for key, items in found.items()}


def section_of(text: str) -> str | None:
    """Return what stands in a CDATA section that is all there is."""
    found = _CDATA.fullmatch(text)
    return found[1] if found else None


def begins_with_element(raw: str) -> bool:
    """Tell whether a text begins with a start tag without attributes."""
    return _CHILD.match(raw) is not None
