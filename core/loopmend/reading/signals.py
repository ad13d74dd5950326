"""Meta-signals as models write them: any case, attributes, spacing and nesting."""

from __future__ import annotations

import re
from typing import Final

from loopmend.contracts.signal_detection import (
    IMPLICITLY_STUCK,
    STUCK_PHRASES,
    UNCERTAINTY_PHRASES,
    detect_meta_signal,
    implied_signal,
)
from loopmend.contracts.signals import DetectionConfig, MetaSignal, Uncertain

__all__ = ["read_signal"]

_KINDS: Final = ("answer", "uncertain", "stuck", "yield", "thinking")
_PARTS: Final = "caveat|partial|missing|would_help|attempt|hypothesis|request|expertise"
_TAG: Final = re.compile(
    rf"<\s{{0,4}}(?P<closing>/?)\s{{0,4}}(?P<kind>{'|'.join(_KINDS)})\b(?P<attributes>[^<>]{{0,400}})>",
    re.IGNORECASE | re.ASCII,
)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
_PART: Final = re.compile(rf"<\s{{0,4}}(/?)\s{{0,4}}({_PARTS})\b[^<>]{{0,200}}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"(?<![A-Za-z_])([A-Za-z_]+)\s*=\s*[\"']?([^\"'\s>]+)[\"']?")
_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201c\u201d\n]*\u201d|\u00ab[^\u00ab\u00bb\n]*\u00bb"
    r"|(?<!\w)'[^'\n]{3,}'(?!\w)|^[ \t]*>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_DENIED: Final = re.compile(
    r"(?:n't|\b(?:not|never|no longer|if|when|whenever|in case|unless|he|she|they|users?))\b"
    r"[^.!?\n]{0,30}\Z",
    re.IGNORECASE,
)
_EXPLICIT: Final = DetectionConfig(detect_implicit=False)


def read_signal(said: str, *, phrases: bool = True) -> MetaSignal | None:
    """Return the meta-signal in what a model says, explicit tags before phrases.

    >>> read_signal("<stuck>no access</stuck>").kind
    'Stuck'
    """
    if "<" in said and _names_a_kind(said.lower()):
        signal = _explicit(said)
        if signal is not None:
            return signal
    return _implicit(said) if phrases else None


def _names_a_kind(folded: str) -> bool:
    return any(kind in folded for kind in _KINDS)


def _explicit(said: str) -> MetaSignal | None:
    # Code and quoted lines are blanked at their place: a tag in them is only talked about.
    plain = _CODE.sub(lambda m: " " * len(m[0]), said)
    elements = _elements(plain)
    for kind in _KINDS:
        if kind in elements:
            opening, end = elements[kind]
            return detect_meta_signal(
                _canonical(kind, opening, said[opening.end() : end]), _EXPLICIT
            )
    return None


def _elements(plain: str) -> dict[str, tuple[re.Match[str], int]]:
    """Return the first outermost element of each kind: its opening tag and where it ends."""
    found: dict[str, tuple[re.Match[str], int]] = {}
    pending: dict[str, list[re.Match[str]]] = {kind: [] for kind in _KINDS}
    for tag in _TAG.finditer(plain):
        kind = tag["kind"].lower()
        if not tag["closing"]:
            pending[kind].append(tag)
        elif pending[kind]:
            opening = pending[kind].pop()
            known = found.get(kind)
            if known is None or opening.start() < known[0].start():
                found[kind] = (opening, tag.start())
    return found


def _canonical(kind: str, opening: re.Match[str], inner: str) -> str:
    """Write an element as the contract expects it."""
    pairs = _ATTRIBUTE.findall(opening["attributes"]) if kind in ("answer", "thinking") else ()
    attributes = "".join(f' {name.lower()}="{value}"' for name, value in pairs)
    parts = _PART.sub(lambda m: f"<{m[1]}{m[2].lower()}>", inner)
    return f"<{kind}{attributes}>{parts}</{kind}>"


def _implicit(said: str) -> MetaSignal | None:
    spelled = said.replace("\u2019", "'")
    if implied_signal(spelled) is None:
        return None
    folded = _QUOTED.sub(lambda m: " " * len(m[0]), spelled.lower())
    if any(_meant(folded, phrase) for phrase in STUCK_PHRASES):
        return IMPLICITLY_STUCK
    if any(_meant(folded, phrase) for phrase in UNCERTAINTY_PHRASES):
        return Uncertain(partial_answer=said)
    return None


def _meant(folded: str, phrase: str) -> bool:
    """Tell whether a phrase stands anywhere without being denied or supposed."""
    at = folded.find(phrase)
    while at != -1:
        if not _DENIED.search(folded[max(0, at - 60) : at]):
            return True
        at = folded.find(phrase, at + len(phrase))
    return False
