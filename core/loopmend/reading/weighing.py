"""How the words around a call weigh: for a call that is made, or for one that is only shown.

No list of phrases is long enough for what people write before and after a call. So each word has a
weight, learnt from texts of many authors and judged on authors whose texts it was not learnt from:
`tools/weighing` holds the texts and says how well it does. Words count by where they stand (the
sentence right before the call, those before that, the one right after it, the rest) and by their
neighbours; of a word that is not common only its ending counts there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import sqrt
from pkgutil import get_data
from typing import Final

__all__ = ["DENIED", "SHOWN", "TAIL", "Weights", "Words", "features", "is_word", "lean", "learnt"]

_QUOTED: Final = re.compile(
    r"`[^`\n]{1,200}`"
    r"|[\"\u201c\u201e\u00ab\u300c][^\"\u201c\u201d\u00bb\u300d\n]{1,200}[\"\u201d\u201c\u00bb\u300d]"
)
# A sign of Chinese, Japanese or Korean is a word here; its neighbours make the longer ones.
_SIGNS: Final = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
_SENTENCE: Final = re.compile(
    rf"(?<=[.!?\u2026])[\"')\]*_\u201d]{{0,3}}(?:\s+|(?=[{_SIGNS}]))|(?<=[:;])\s+|\n+"
)
_TOKEN: Final = re.compile(
    r"(?P<path>[\w~-]{0,40}(?:[/\\@]|_(?=\w)|\.(?=[^\W\d]))[\w/\\~@.-]{0,80}(?<![.-]))"
    rf"|(?P<number>\d+)|(?P<word>(?:(?![{_SIGNS}])[^\W\d_])+(?:'(?:(?![{_SIGNS}])[^\W\d_])+)?)"
    r"|(?P<sign>\S)"
)
# A fence that opens right before a call says nothing of it.
_FENCE: Final = re.compile(r"(?:```|~~~)\w{0,20}\s*\Z")
_ENDINGS: Final = ("ing", "ed", "ly", "s")
_NEGATIONS: Final = frozenset({"not", "no", "never", "without", "nothing", "none", "nobody"}) | {
    *("cannot", "cant", "dont", "wont", "didnt", "nor", "neither")
}
_REACH: Final = 4
_STOPS: Final = frozenset(".,:;!?")
_LONG: Final = 5
_NEAR: Final = 3
_LEAD: Final = 1000
TAIL: Final = 4000
"""How many characters after a call are read."""
DENIED: Final = -1.0
"""What leans so far takes a call back."""
SHOWN: Final = -3.0
"""What leans so far leaves no doubt that a call is only shown, even in a thought about anything."""
_NOTHING_SAID: Final = 1.0
_UNKNOWN: Final = -0.5
_SAYS: Final = re.compile("[^\\W\\d_]|[?!\u061f\uff1f\u2600-\u2793\U0001f000-\U0001faff]")
# One sign for what ends and parts sentences in any script.
_MARKS: Final = str.maketrans(
    "\u2019\uff1f\u061f\uff01\u3002\u0964\uff1a\uff0c\u3001\u060c\uff1b", "'??!..:,,,;"
)
# Where a sentence starts and ends; no sign is two.
_START: Final = "<<"
_END: Final = ">>"


@dataclass(frozen=True, slots=True)
class Words:
    """What is said around a call."""

    before: str
    after: str

    def __bool__(self) -> bool:
        """Tell whether anything is said: a word, a question, a picture."""
        return _SAYS.search(self.before) is not None or bool(self.after.strip())


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learnt."""

    common: frozenset[str]
    """The words that every text has; of any other its neighbours see only the ending."""
    bias: int
    of: Mapping[str, int]
    """What each word is worth, in thousandths: their sum is the same in whatever order."""


def lean(words: Words, weights: Weights | None = None) -> float:
    """Return how words lean: above 0 to a call that is made, below 0 to one that is shown.

    >>> lean(Words("Let me look that up for you:", "")) > 0
    True
    >>> lean(Words("The page that I fetched says:", "")) > 0
    False
    >>> lean(Words("", "Shall I go ahead?")) > 0
    False
    """
    weights = weights or learnt()
    if not words:
        return _NOTHING_SAID
    found = set(features(words, weights.common))
    total = sum(weights.of.get(name, 0) for name in found)
    leaning = (weights.bias + total / sqrt(len(found))) / 1000
    return leaning if _is_known(found, weights) else min(leaning, _UNKNOWN)


def _is_known(found: Collection[str], weights: Weights) -> bool:
    """Tell whether a quarter of the words are known at least; what others say nobody can tell."""
    words = [name for name in found if is_word(name)]
    known = sum(name in weights.of for name in words)
    return bool(words) and 4 * known >= len(words)


def is_word(name: str) -> bool:
    """Tell whether a feature is one word, wherever on its side of the call.

    >>> is_word("lnow"), is_word("l!now"), is_word("1now"), is_word("lines 1")
    (True, True, False, False)
    """
    return name[0] in "lt" and name[1:].lstrip("!").isalpha()


@cache
def learnt() -> Weights:
    """Return the weights that come with the package; `make weights` learns them anew."""
    # Like a module, so that a server that keeps files from blocking its event loop lets it pass.
    data = get_data("loopmend.reading", "weights.txt")
    assert data is not None
    common, bias, *rows = data.decode("utf-8").splitlines()
    pairs = (row.rpartition("\t") for row in rows)
    weights = {name: int(weight) for name, _, weight in pairs}
    return Weights(frozenset(common.split()), int(bias), weights)


def features(words: Words, common: Collection[str]) -> Iterator[str]:
    r"""Yield what is weighed: words and their neighbours, by where they stand, and the layout.

    >>> sorted(features(Words("Now:\n", ""), {"now"}))
    ['1:', '1: >>', '1<< now', '1now', '1now :', 'end :', 'l:', 'lines 1', 'lnow', 'n10']
    """
    lead = _FENCE.sub("\n", words.before[-_LEAD:].translate(_MARKS))
    tail = words.after[:TAIL].translate(_MARKS)
    before, after = _sentences(lead), _sentences(tail)
    plain = lead.rstrip()
    yield f"n{min(len(before), 4)}{min(len(after), 3)}"
    yield f"end {plain[-1:] if not plain[-1:].isalnum() else 'a'}"
    yield f"lines {min(lead.count(chr(10), len(plain)), 2)}{'+' if after else ''}"
    if tail:
        yield f"next {'a' if tail[0].islower() else 'A' if tail[0].isalpha() else ''}"
    for side, zone, said in (
        ("l", "1", before[-1:]),
        ("l", "2", before[-_NEAR:-1]),
        ("l", "0", before[:-_NEAR]),
        ("t", "a", after[:1]),
        ("t", "b", after[1:]),
    ):
        for sentence in said:
            tokens = _denied(list(_tokens(sentence)))
            for token in tokens:
                yield f"{zone}{token}"
                yield f"{side}{token}"
                if len(token) > _LONG and token[-1].isalpha():
                    yield f"{zone}{token[:4]}-"
                    yield f"{zone}-{token[-3:]}"
            shapes = [_START, *(_shape(token, common) for token in tokens), _END]
            for left, right in pairwise(shapes):
                yield f"{zone}{left} {right}"


def _sentences(text: str) -> list[str]:
    """Return sentences and lines; what is quoted in them counts as one sign."""
    plain = _QUOTED.sub(" \u201d ", text)
    return [part for part in _SENTENCE.split(plain) if part and not part.isspace()]


def _tokens(sentence: str) -> Iterator[str]:
    """Yield words, signs, and what stands for numbers and for names of files and places."""
    for match in _TOKEN.finditer(sentence.lower()):
        yield {"path": "/", "number": "0"}.get(match.lastgroup or "", match[0])


def _denied(tokens: list[str]) -> list[str]:
    """Mark the words that a negation right before them denies."""
    reach = 0
    for at, token in enumerate(tokens):
        if token in _NEGATIONS or token.endswith("n't"):
            reach = _REACH
        elif token in _STOPS:
            reach = 0
        elif reach:
            tokens[at] = f"!{token}"
            reach -= 1
    return tokens


def _shape(token: str, common: Collection[str]) -> str:
    word = token.removeprefix("!")
    if word in common or not (word.isascii() and word.isalpha() and word.islower()):
        return token
    endings = (end for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2)
    return f"{token[: len(token) - len(word)]}--{next(endings, '')}"
