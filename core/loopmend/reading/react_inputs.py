"""A plain input of ReAct: what in it, or below it, says that it is none."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.phrases import INVOLVED
from loopmend.reading.placeholders import is_placeholder
from loopmend.reading.plans import declines
from loopmend.reading.speech import is_question, is_remark, refuses, sentences
from loopmend.reading.tools import Toolbox

__all__ = ["objection"]

_MARKED_LINE: Final = re.compile(
    r"^[ \t]{0,20}(?:<\|?(?P<tag>[^\W\d][\w\-]{0,40})"
    r"|\{\s{0,20}\"\w{1,40}\"\s{0,20}:\s{0,20}\"(?P<name>[^\"\n]{1,80})\")",
    re.MULTILINE,
)
# A note in the place of an input: words in parentheses, and nothing else.
_NOTE: Final = re.compile(r"\((?:[^\W\d_]+[ ,;'\u2019]{1,3}){3,60}[^\W\d_]+[.!]?\)")
_FAR: Final = 4000


def objection(name: str, text: str, tools: Toolbox | None) -> str | None:
    r"""Return why a plain input is none, or is taken back.

    Args:
        name: The tool's name.
        text: The input.
        tools: What is on offer, if known.

    >>> objection("search", "weather in Oslo", None)
    >>> objection("search", "<the town you give me>\n\nWhich town is it?", None)
    'The words in or after the input of `search` may take it back.'
    """
    first, _, below = text.partition("\n")
    if _announces_another(below[:_FAR], tools):
        return f"Another call follows the input of `{name}`, or is part of it."
    said = (*sentences(below[:_FAR]), *sentences(below[_FAR:][-_FAR:]))
    slot = any(is_question(s) for s in said) and is_placeholder("input", first)
    note = _NOTE.fullmatch(text) and INVOLVED.search(text) and not is_remark(text)
    if slot or note or any(refuses(s) or declines(s) for s in said):
        return f"The words in or after the input of `{name}` may take it back."
    return None


def _announces_another(below: str, tools: Toolbox | None) -> bool:
    """Tell whether a line below the first of an input begins a call in another form."""
    for line in _MARKED_LINE.finditer(below):
        tag, name = line["tag"], line["name"]
        if tag is not None and role_of(tag) is Role.CALL:
            return True
        if name is not None and tools is not None and tools.find(name) is not None:
            return True
    return False
