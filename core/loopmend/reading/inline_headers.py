"""Headers in mid-line, as in `Thought: I know. Final Answer: 4`: what tells them from words."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.lexicon import Role, role_of, words_of
from loopmend.reading.sections import (
    INNER_INPUT,
    LONGEST_NAME,
    Header,
    name_end,
    plain_name,
)
from loopmend.reading.speech import is_interjection
from loopmend.reading.tools import Toolbox

__all__ = ["inline_header"]

_INLINE: Final = re.compile(
    r"(?P<before>(?:^|[\s*_\"'(\u201c\u3002\uff0e])[*_]{0,3})"
    r"(?P<words>(?:Action[ \u00a0_\-]?Input|Final[ \u00a0_\-]?Answer|Action|Answer|Observation"
    r"|Thought))"
    r"(?:[ \t]?\d{1,3})?[*_ \t]{0,4}\Z",
    re.IGNORECASE,
)
# A quotation that is still open.
_OPEN_QUOTE: Final = re.compile("(?:^|[\\s(])['\u2018][^'\u2018\u2019]*\\Z|\u201c[^\u201d]*\\Z")
_SENTENCE_END: Final = re.compile(r"[.!?\u2026:\uff1a\u3002)\]\"'\u201d][*_]{0,3}\s*\Z")
_EMPHASIS: Final = re.compile(r"[ \t]?[*_]{1,3}(?=\s|\Z)|[*_]{1,3}")
_REACH: Final = 60
_VERY_FAR: Final = 4000
# A name with its input in brackets.
_WITH_INPUT: Final = re.compile(r"[^\W\d][\w.\-]{0,80}\[.*\]", re.DOTALL)
_ANSWER_LINE: Final = re.compile(
    r"\n[ \t]*[*_#]{0,4}[ \t]?(?:Final[ _]?Answer|Answer)[*_]{0,3}[ \t]?:", re.IGNORECASE
)
_ARTICLE: Final = re.compile(r"\b(?:the|an|a|my|your|its|this|that|no|of|any)\Z", re.IGNORECASE)


def inline_header(
    text: str, colon: int, tools: Toolbox | None, above: Header | None
) -> Header | None:
    """Return the header that ends with a colon in mid-line."""
    start = max(text.rfind("\n", max(0, colon - _REACH), colon) + 1, colon - _REACH, 0)
    found = _INLINE.search(text[start:colon])
    if found is None:
        return None
    role = role_of(found["words"])
    before = text[start : start + found.start()] + found["before"]
    body = colon + 1
    emphasis = _EMPHASIS.match(text, body)
    if emphasis and found["before"].strip():
        body = emphasis.end()
    at = start + found.start("words")
    assert role is not None
    if not _stands_for_itself(text, found["words"], role, before, body, tools, above):
        return None
    resume = name_end(text, body) if role is Role.CALL else body
    return Header(role, words_of(found["words"]), at, body, resume, inline=True)


def _stands_for_itself(  # noqa: PLR0913, PLR0917 - what stands around a word
    text: str,
    word: str,
    role: Role,
    before: str,
    body: int,
    tools: Toolbox | None,
    above: Header | None,
) -> bool:
    """Tell a header in mid-line from a word with a colon."""
    lead = before.rstrip("*_ \t")
    if lead.endswith(('"', "'", "\u201c", "(", "`")):
        return False
    line = text[max(text.rfind("\n", 0, body) + 1, body - LONGEST_NAME) : body - len(word) - 1]
    quotes = "'" in line or "\u2018" in line or "\u201c" in line
    if line.count('"') % 2 or (quotes and _OPEN_QUOTE.search(line)):
        return False
    after_sentence = _SENTENCE_END.search(before) is not None or not lead
    if role is Role.ANSWER:
        if _ANSWER_LINE.search(text, body, body + _VERY_FAR):
            return False  # a header of its own comes later
        whole = len(words_of(word)) > 1
        return (whole and (word[0].isupper() or after_sentence)) or (
            (after_sentence or (word[0].isupper() and not _ARTICLE.search(lead)))
            and above is not None
            and above.role is Role.THINK
        )
    if role is Role.THINK:
        first = len(text[: body - len(word)].lstrip()) <= _REACH
        return after_sentence and above is None and first and is_interjection(lead)
    if role is Role.ARGUMENTS:
        return above is not None and above.role is Role.CALL
    if role is Role.OBSERVATION:
        return above is not None and above.role in (Role.ARGUMENTS, Role.CALL) and after_sentence
    if not after_sentence and not word[0].isupper():
        return False
    end = name_end(text, body)
    name = text[body:end].strip(" \t\n*_`\"'") if end - body <= LONGEST_NAME else ""
    known = tools is not None and bool(name) and tools.find(plain_name(name)) is not None
    followed = INNER_INPUT.match(text, end) is not None or _WITH_INPUT.fullmatch(name) is not None
    return known or (tools is None and followed) or (after_sentence and followed)
