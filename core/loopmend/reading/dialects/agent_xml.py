"""The XML of LangChain's XML agent: `<tool>…</tool><tool_input>…</tool_input>`."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.found import Call, Found, Source

name = "agent_xml"

_INPUT: Final = re.compile(r"\s*<tool_input>")


def read(source: Source) -> Found | None:
    """Read the first call or the answer."""
    text = source.text
    start = text.find("<tool>")
    end = text.find("</tool>", start) if start != -1 else -1
    if end != -1 and (label := text[start + len("<tool>") : end].strip()):
        given, stop = _input(text, end + len("</tool>"))
        span = (start, stop)
        return Found(span, [Call(_unescape(label), _unescape(given), span)])
    start = text.find("<final_answer>")
    if start == -1:
        return None
    end = text.find("</final_answer>", start)
    stop = end if end != -1 else len(text)
    answer = text[start + len("<final_answer>") : stop].strip()
    return Found((start, stop), answer=_unescape(answer), exact=end != -1)


def _input(text: str, at: int) -> tuple[str, int]:
    opening = _INPUT.match(text, at)
    if not opening:
        return "", at
    end = text.find("</tool_input>", opening.end())
    stop = end if end != -1 else len(text)
    return text[opening.end() : stop].strip(), stop


def _unescape(text: str) -> str:
    return re.sub(r"\[\[(/?(?:tool|tool_input|observation|final_answer))\]\]", r"<\1>", text)
