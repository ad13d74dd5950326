"""Calls as in Python, in brackets, fenced or bare: `[f(a=1), g(b="x")]`."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.found import Call, Found, Source
from loopmend.reading.pythonic import NAME, read_calls
from loopmend.reading.turn import Repair

name = "calls"

# Names are bounded and never start within a word, so the search is linear in any text.
_CANDIDATE: Final = re.compile(r"(?<![\w.\\\-])[A-Za-z_][\w.\\\-]{0,150}\(")
_MOST_TRIES: Final = 200
_LEAD: Final = re.compile(r"(?:\A|[\n\[:>;,]|```\w{0,12}|[-*]|\d[.)])[ \t]*[\"'`]?\Z")
_NEXT: Final = re.compile(rf"[-*\d.)\s`'\";,]{{0,40}}(?:python|json)?\s{{0,20}}{NAME.pattern}\(")


def read(source: Source) -> Found | None:
    """Read calls of known tools anywhere; of unknown ones only where the text is nothing else."""
    text = source.text
    if "(" not in text:
        return None
    calls: list[Call] = []
    repairs: list[Repair] = []
    start, at = -1, 0
    tries = 0
    while (match := _CANDIDATE.search(text, at)) and tries < _MOST_TRIES:
        tries += 1
        before = text[max(0, match.start() - 24) : match.start()]
        if not _LEAD.search(before):
            at = match.end()
            continue
        bracketed = before.rstrip(" \t\n\"'").endswith("[")
        opening = text.rfind("[", 0, match.start()) if bracketed else match.start()
        found = read_calls(text, opening)
        if found is None or not _believable(source, found[0], opening, found[1]):
            at = match.end() if found is None else max(found[1], match.end())
            continue
        calls += found[0]
        repairs += found[2]
        start = opening if start == -1 else start
        at = found[1]
        if not _goes_on(text, at, bracketed=bracketed):
            break
    return Found((start, at), calls, repairs=repairs) if calls else None


def _goes_on(text: str, at: int, *, bracketed: bool) -> bool:
    """Tell whether more calls follow at once: a list is whole, lines of calls follow each other."""
    return not bracketed and _NEXT.match(text, at) is not None


def _believable(source: Source, calls: list[Call], start: int, end: int) -> bool:
    if source.tools is not None:
        return all(source.tools.find(call.name)[0] is not None for call in calls)
    around = source.text[:start] + source.text[end:]
    return source.text[start : start + 1] == "[" and not re.sub(r"```\w*|[\s`'\";]", "", around)
