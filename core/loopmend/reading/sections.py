"""Headers such as `Action:`, however they are decorated, numbered and separated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import merge
from typing import Final

from loopmend.reading.lexicon import WORDS, Role, role_of, words_of
from loopmend.reading.tools import Toolbox

__all__ = [
    "INNER_INPUT",
    "LONGEST_NAME",
    "Header",
    "ends_text",
    "has_header_lines",
    "header_at",
    "header_places",
    "name_end",
    "next_section",
    "open_bracket",
    "plain_name",
]


@dataclass(frozen=True, slots=True)
class Header:
    """A header and what stands beside it."""

    role: Role
    words: tuple[str, ...]
    start: int
    """Where its line or, in mid-line, its first word starts."""
    body: int
    """Where its body starts."""
    resume: int
    """Where to go on reading: behind what the header takes as it is."""
    quoted: bool = False
    """Whether it stands in a block quote, or is struck out."""
    listed: bool = False
    """Whether it is an item of a list."""
    inline: bool = False

    @property
    def strong(self) -> bool:
        """Whether its words name a part of ReAct and little else."""
        return is_strong(self.words)


_HEADER_ROLES: Final = frozenset(
    {
        *(Role.CALL, Role.NAME, Role.ARGUMENTS, Role.THINK, Role.ANSWER, Role.OBSERVATION),
        *(Role.SPEAKER, Role.ASK),
    }
)
_PARTS: Final = frozenset(
    (
        "thought thoughts action aktion acción accion ação azione действие actie observation "
        "beobachtung observación observacion observação osservazione наблюдение gedanke "
        "pensamiento pensée pensee pensamento pensiero мысль gedachte 思考 行动 动作 行動 行动输入 动作输入 行動入力 "
        "最终答案 最終回答 观察 観察 アクション アクション入力 想法"
    ).split()
)


def _any_of(roles: AbstractSet[Role]) -> str:
    """Return the pattern of all words of these roles, longest first, by their first letters."""
    words = sorted((w for w, role in WORDS.items() if role in roles), key=len, reverse=True)
    first: dict[str, list[str]] = {}
    for word in words:
        first.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(c)}(?:{'|'.join(rests)})" for c, rests in first.items())


_WORD: Final = _any_of(_HEADER_ROLES | {Role.FILLER})
# Decoration: list marks, numbers, headings, emphasis, quotes, emoji; not what opens a value.
# It is never given back once taken, so that a line costs one look.
_BEFORE: Final = (
    r"(?=(?P<before>(?:[^\w\n<{|:`]|_|<(?:br ?/?|b|strong|i|em|u|p|div|li|span|h[1-6])>|\d{1,3}[.):\]]|`(?!``)|[A-Za-z][.)][ \t]|[ivx]{2,4}[.)][ \t]){0,12}"
    r"(?:[Ss]tep\s\d{1,2}\s?[.:\-)]\s?)?))(?P=before)"
)
_NUMBER: Final = r"(?:[ \t\u00a0_]?[#(\[]?\d{1,3}[)\]]?)?"
_HEADER: Final = re.compile(
    rf"{_BEFORE}(?P<words>(?:{_WORD})(?:[ \u00a0_\-]?(?:\d{{1,3}}[ ])?(?:{_WORD})){{0,3}})(?![^\W\d_]){_NUMBER}"
    r"(?P<after>(?:[*_~\"'`\u273f\u201d)\]\u3011\u300d\u300f\u00bb]|</\w{1,6}>){0,4})[ \t\u00a0]*"
    r"(?P<sep>[:\uff1a]|=>|->|\u2192|=(?!=)|[\u2013\u2014-](?=\s|\Z)|(?<=[\]\u3011])(?=[ \t]+\S)|(?=\n|\Z))"
    r"(?P<tail>[ \t\u00a0]?[*_~\"'`]{1,3}(?=\s|\Z)|[*_~]{1,3}(?=[^\s*_~])|</\w{1,6}>)?",
    re.IGNORECASE,
)
_SAID: Final = re.compile(r"\S")
LONGEST_NAME: Final = 300
_BRACKETED: Final = re.compile(r"[ \t]*(?P<name>[^\W\d][\w .\-]{0,80}?)[ \t]*(?P<bracket>[\[(])")
_STRONG: Final = re.compile(
    rf"^[ \t]*{_BEFORE}(?P<words>(?:{_WORD})(?:[ \u00a0_\-]?(?:\d{{1,3}}[ ])?(?:{_WORD})){{0,3}})(?![^\W\d_]){_NUMBER}"
    r"(?:[*_~\"'`\u273f)\]\u3011\u300d\u300f\u00bb]|</\w{1,6}>){0,4}[ \t\u00a0]*(?P<sep>[:\uff1a])",
    re.IGNORECASE | re.MULTILINE,
)
# A header needs a word that has a role: fillers alone are none.
_FIRST: Final = rf"(?:{_any_of(_HEADER_ROLES)}|(?:{_any_of({Role.FILLER})})[ \u00a0_\-]?(?:\d{{1,3}}[ ])?(?:{_WORD}))"
_PLACES: Final = re.compile(
    # No header begins with what opens a value or an element that is not decoration.
    rf"^(?=[^\S\n]{{0,40}}(?:[^\s<{{|:]|<[bsieupdlh])){_BEFORE}{_FIRST}",
    re.IGNORECASE | re.MULTILINE,
)
_COLONS: Final = re.compile(
    # The first letter is spelled out: only so is it what the engine looks for.
    r"[IiAaOoTt](?i:nput|nswer|ction|bservation|hought)(?:[ \t]?\d{1,3})?[*_ \t]{0,4}[:\uff1a]"
)
_NAME_IN_BRACKETS: Final = re.compile(r"\[[ \t]?[^\W\d][\w .\-]{0,80}\][ \t]*(?=\n|\Z)")
_WEAK_ROLES: Final = frozenset({Role.CALL, Role.ARGUMENTS, Role.THINK, Role.ANSWER})


def header_places(text: str) -> Iterator[tuple[int, bool]]:
    """Yield where headers may be: starts of lines, and colons in mid-line, which are marked so."""
    return merge(
        ((match.start(), False) for match in _PLACES.finditer(text)),
        ((match.end() - 1, True) for match in _COLONS.finditer(text)),
    )


def has_header_lines(text: str) -> bool:
    r"""Tell whether a line has the form of a header, whatever stands around it.

    >>> has_header_lines("Well.\n## Action"), has_header_lines("Well.\nAnswer me")
    (True, False)
    """
    if _PLACES.search(text) is None:  # as in most texts: then nobody has to go through the places
        return False
    return any(_HEADER.match(text, line.start()) for line in _PLACES.finditer(text))


def is_strong(words: tuple[str, ...]) -> bool:
    """Tell whether words name a part of ReAct."""
    return not _PARTS.isdisjoint(words) or words[-2:] == ("final", "answer")


def ends_text(words: tuple[str, ...], role: Role | None) -> bool:
    """Tell whether a header of these words ends the text before it, wherever it stands."""
    return is_strong(words) or role is Role.SPEAKER or (role is Role.OBSERVATION and len(words) > 1)


def header_at(text: str, at: int, tools: Toolbox | None, above: Header | None) -> Header | None:
    """Return the header that a line starts with."""
    found = _HEADER.match(text, at)
    if found is None:
        return None
    role = role_of(found["words"])
    if role not in _HEADER_ROLES:
        return None
    in_brackets = found["before"].endswith("[") and found["after"].startswith("]")
    if in_brackets and not found["sep"] and text[found.end() : found.end() + 1] not in (" ", "\t"):
        return None  # a token such as `[TOOL_CALLS]` on a line of its own
    header = _made(text, found, role, at)
    if found["sep"] in (":", "\uff1a"):
        return header
    heading = any(mark in found["before"] for mark in "#*_[<(")
    if not found["sep"] and role in (Role.THINK, Role.ANSWER) and not heading:
        return None  # a line that is only a word
    return header if _is_vouched(text, header, tools, above) else None


def _made(text: str, found: re.Match[str], role: Role, at: int) -> Header:
    before = found["before"]
    body = found.end()
    if found["tail"] and found["tail"].strip()[:1] not in before:
        body = found.start("tail")  # emphasis that the header did not open
    resume = body
    if role in (Role.CALL, Role.NAME):
        resume = name_end(text, resume)
    words = words_of(found["words"])
    listed = before.strip() in ("-", "*", "+", "\u2022", "- **", "* **", "- __", "\u2022 **")
    quoted = before.lstrip().startswith(">") or "~~" in before
    return Header(role, words, at, body, resume, quoted, listed)


def _is_vouched(text: str, header: Header, tools: Toolbox | None, above: Header | None) -> bool:
    """Tell whether a line that might be a header is one, by what stands around it."""
    if header.role not in _WEAK_ROLES or header.quoted:
        return False
    if header.role is Role.CALL:
        name = text[header.body : header.resume].strip(" \t\n:=>-*_`\"'")
        if tools is None:
            thought = above is not None and above.role is Role.THINK
            given = _BRACKETED.match(name) is not None or _is_given_input(text, header)
            return header.strong and (thought or given)
        return bool(name) and tools.find(plain_name(name)) is not None
    if header.role is Role.ARGUMENTS:
        return above is not None and above.role in (Role.CALL, Role.NAME)
    if header.role is Role.ANSWER:
        return header.strong
    return header.strong and (above is not None or not _SAID.search(text, 0, header.start))


def _is_given_input(text: str, header: Header) -> bool:
    """Tell whether the next line is the header of an action's input."""
    at = header.resume
    while text[at : at + 1].isspace():
        at += 1
    found = _HEADER.match(text, text.rfind("\n", 0, at) + 1) if at > header.resume else None
    return found is not None and role_of(found["words"]) is Role.ARGUMENTS


def plain_name(name: str) -> str:
    """Return a name without the input that follows it in brackets."""
    found = _BRACKETED.match(name)
    return found["name"] if found else name


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end


def name_end(text: str, at: int) -> int:
    """Return where the line of an action ends, if it holds a name and no value."""
    begin = at
    while text[at : at + 1].isspace():
        at += 1
    if "\n" in text[begin:at] and _STRONG.match(text, at):
        return begin
    if _NAME_IN_BRACKETS.match(text, at):
        return _line_end(text, at)
    if text[at : at + 1] in ("{", "[", "<", "") or text.startswith(("```", "~~~"), at):
        return at
    line_end = _line_end(text, at)
    bracketed = _BRACKETED.match(text, at, line_end)
    if bracketed and bracketed["bracket"] == "(":
        return bracketed.start("bracket")
    if bracketed:
        return line_end
    near = min(line_end, at + LONGEST_NAME)
    inner = INNER_INPUT.search(text, at, near) if "nput" in text[at:near].lower() else None
    if inner:
        return inner.start()
    brace = text.find("{", at, near)
    return line_end if brace == -1 else brace


INNER_INPUT: Final = re.compile(
    r"(?<![\s,;|*])[\s,;|*]{1,20}Action[ _\-]?Input[*_ ]{0,3}:", re.IGNORECASE
)


def open_bracket(text: str, header: Header) -> int | None:
    r"""Return where the inside of a bracket starts that an action's line opens and does not close.

    >>> text = "Action: add[1,\n2]"
    >>> open_bracket(text, header_at(text, 0, None, None))
    12
    """
    line = text[header.body : header.resume]
    if header.role not in (Role.CALL, Role.NAME) or "[" not in line or "\n" in line.strip():
        return None
    first = header.body + len(line) - len(line.lstrip())
    found = None if line.rstrip().endswith("]") else _BRACKETED.match(text, first, header.resume)
    return found.end() if found and found["bracket"] == "[" else None


def next_section(
    text: str, at: int, *, limit: int | None = None, after_answer: bool = False
) -> int:
    """Return where a body ends: at the next header of ReAct, or at a limit.

    An answer goes on over all headers but a question of another turn: models list actions and
    observations in answers, too.
    """
    end = len(text) if limit is None else limit
    question: int | None = None
    action: int | None = None
    for found in _STRONG.finditer(text, at, end):
        words = words_of(found["words"])
        role = role_of(found["words"])
        if question is not None and role in (Role.THINK, Role.CALL) and is_strong(words):
            return question
        if after_answer:
            if action is not None and role is Role.ARGUMENTS:
                return action
            if role is Role.ANSWER and len(words) > 1:
                return found.start()
            question = found.start() if role is Role.ASK else None
            action = found.start() if role is Role.CALL and is_strong(words) else None
        elif role is Role.ASK:
            question = found.start()
        elif role in _HEADER_ROLES and ends_text(words, role):
            return found.start()
    return end
