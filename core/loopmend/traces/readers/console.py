"""What LangChain's executor prints around a run on a console: where it begins and where it ends."""

from __future__ import annotations

import re
from typing import Final

from loopmend.traces.stop import is_cap_sentence

__all__ = ["within_banners"]

_BANNER: Final = re.compile(
    r"\n> (?:(Entering) new [^\n]{0,100}|Finished) chain\.{1,3}[ \t]*(?=\n)"
)

_HEADED: Final = re.compile(r"\s*(?:Thought|Action|Observation|Final Answer|Answer|Question)\b")


def within_banners(text: str) -> tuple[str, str | None]:
    r"""Return a transcript without its banners, and what the executor says of a limit.

    What a program prints after its outermost chain is no part of the run.

    >>> within_banners("\n> Entering new LLMChain chain...\nI look.\n> Finished chain.\nBye.")
    ('\nThought: \nI look.', None)
    """
    kept: list[str] = []
    at = depth = 0
    finished = False
    text = f"{text}\n"
    for banner in _BANNER.finditer(text):
        if not finished or banner[1]:
            kept.append("" if finished else text[at : banner.start()])
        at = banner.end()
        # What stands first in a run is the model's, which may do without a header.
        if banner[1] and depth == 0 and not _HEADED.match(text, at):
            kept.append("\nThought: ")
        depth = depth + 1 if banner[1] else max(depth - 1, 0)
        finished = depth == 0
    if not kept:
        return text.removesuffix("\n"), None
    kept += [] if finished else [text[at:].removesuffix("\n")]
    whole = "".join(kept).rstrip()
    before, _, last = whole.rpartition("\n")
    last = last.removeprefix("Thought:").strip()
    return (before, last) if is_cap_sentence(last) else (whole, None)
