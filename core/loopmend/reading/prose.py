"""Prose: an answer, or a plan that was told instead of carried out?

A told plan is judged where the message ends: a message that ends with what its speaker is about
to do leaves the reader waiting for it. What it says before may be anything.
"""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.phrases import GOES_ON
from loopmend.reading.plans import acts_by, promises
from loopmend.reading.speech import (
    is_interjection,
    is_question,
    negates,
    sentences,
    supposes,
)
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig

__all__ = ["find_fault"]

_TEMPLATE: Final = re.compile(
    r"<(yield|stuck|uncertain|answer)>\s{0,5}(?:\.\.\.|…)\s{0,5}</\1>|can repeat N times"
    r"|\{tool_names?\}|the action to take, should be one of",
    re.IGNORECASE,
)
_ONLY_THOUGHT: Final = re.compile(
    r"\{\s*\"(?:thoughts?|reasoning|reflection|thoughts_and_reasoning)\"\s*:\s*\"[^\"]*\"\s*\}"
)
# No two branches start with the same sign: what is one of these in the end costs one look.
_EMPTY: Final = re.compile(r"(?:[`\s]|(?<=```)\w{1,20}(?=\s{0,20}```)|\{\s*\}|\[\s*\]|\"\"|'')+")
_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|^[ \t]*>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_SHOULD: Final = re.compile(r"\bi should (?!(?:be|have|note|mention)\b)[a-z]+", re.IGNORECASE)
_USING: Final = re.compile(
    r"\bi(?: can| could| should| would|'d| will|'ll)(?: now| first)? (?:use|call|invoke|run) (?:the )?"
    r"[`'\"]?[\w.\-]{1,60}[`'\"]? (?:tool|function|action)\b",
    re.IGNORECASE,
)
_UNDER_WAY: Final = re.compile(
    r"^(?:now |currently |okay, |ok, |hold on, )?[a-z]+ing\b[^.!?]{0,90}(?:\.\.\.|\u2026|:|\bnow|\bfor you)[.!]?$",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"^(?:please (?:wait|hold|bear|stand|give me|allow)|one moment|(?:just )?a moment|hold on|thank(?:s| you)"
    r"|hang (?:on|tight)|bear with me|stand by|this (?:may|will|should|might) (?:only )?take|einen moment|un instant|un momento)",
    re.IGNORECASE,
)
_WAITING: Final = re.compile(
    r"\b(?:one moment|hold on|please wait|please hold|(?:just |me )?a (?:moment|second|minute)|bear with me)\b",
    re.IGNORECASE,
)
# It depends on what the user says next.
_YOURS: Final = re.compile(
    r"\b(?:once|after|when|as soon as|until|before)\s+(?:you|i (?:have|receive|get)|we have)\b"
    r"|^(?:please )?(?:reply|respond|say|choose|select|pick|tell|send|provide|answer|type|confirm)\b"
    r"|\bonce (?:that's |that is )?(?:confirmed|approved|provided|received)\b"
    r"|\b(?:you confirm|confirm (?:that )?you|your go-ahead)\b"
    r"|\bplease (?:provide|share|confirm|let|tell|send|give me (?:your|the)|reply|respond|specify|note|check|make|be|do|enter|type)"
    r"|\b(?:let me know|just ask|feel free|tell me|send me|give me|would you|could you|can you|do you"
    r"|your (?:confirmation|permission|approval|answer|reply|response)|from now on|in the future|going forward"
    r"|later|in future|tomorrow|tonight|next (?:week|time|month)|monday|tuesday|wednesday|thursday|friday|bitte|por favor|si (?:lo )?(?:deseas|quieres))\b|以后|今后",
    re.IGNORECASE,
)
_INFORMATION: Final = re.compile(
    r"\bneed (?!to\b)|\bneed to (?:know|have|get (?:your|some|more)|ask|verify your|confirm with|see your|collect|clarify)",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(r"\bplease (?:confirm|provide|reply|share)\b", re.IGNORECASE)
_THEN: Final = re.compile(
    r"^(?:then|after(?: that|wards)?),? (?:i|we)(?:'ll| will| can)\b", re.IGNORECASE
)
_ABLE: Final = re.compile(r"\bi can (?:now |also |help you )?(.+)", re.IGNORECASE)
_WE: Final = re.compile(
    r"\b(?:let's|let us|we (?:will|need to|should|'ll))\s+[a-z]+", re.IGNORECASE
)
_WOULD_USE: Final = re.compile(r"\bi(?: would|'d)(?: now| first)? (?:use|call)\b", re.IGNORECASE)
_BREAKS_OFF: Final = re.compile(r"(?:\.\.\.|\u2026|:|\bnow[.!]?)\s*$", re.IGNORECASE)
_CLAIM: Final = re.compile(
    r"\b(?:let me|i'll)\b.{0,80}?\b(?:created|confirmed|deleted|updated|sent|executed|pulled)\b",
    re.IGNORECASE | re.DOTALL,
)
_SHORT: Final = 400
_LONGEST: Final = 1200
_NEAR: Final = 3
_FAR: Final = 8


def find_fault(
    said: str, tools: Toolbox | None, length: int, config: ReadingConfig
) -> Failure | None:
    """Return why a text without any action is not an answer either, or `None` if it is one.

    Args:
        said: What the text says without thinking and template tokens.
        tools: What is on offer, if known.
        length: The length of the whole text.
        config: Whether calls go through the interface, and what came before.
    """
    whole = (0, length)
    if _EMPTY.fullmatch(said):
        return Failure(FailurePattern.EMPTY, "The reply is empty.", whole)
    if _TEMPLATE.search(said):
        message = "The model repeated the prompt's template without filling it in."
        return Failure(FailurePattern.TEMPLATE_ECHO, message, whole)
    if not config.native and _ONLY_THOUGHT.fullmatch(said):
        message = "The thought leads to neither an action nor an answer."
        return Failure(FailurePattern.NO_ACTION, message, whole)
    if not config.after_tool_result and _claims(said):
        message = "The model claims that it did something but called no tool."
        return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
    return _told_plan(said, tools, whole)


def _claims(said: str) -> bool:
    """Tell whether a short message says both that something is to be done and that it is done."""
    plain = said.replace("\u2019", "'").lower() if len(said) <= _SHORT else ""
    if not ("let me" in plain or "i'll" in plain) or not _CLAIM.search(plain):
        return False
    return "?" not in said and not _REQUEST.search(said) and not _YOURS.search(said)


def _told_plan(said: str, tools: Toolbox | None, whole: tuple[int, int]) -> Failure | None:
    """Return the failure if a message ends with what its speaker is about to do."""
    end = said[-_LONGEST:]
    if is_question(end) or end.rstrip().endswith(("```", "~~~")):
        return None
    plain = _QUOTED.sub(_blank_or_name, end)
    ending = sentences(plain)
    if len(said) > _LONGEST:
        ending = ending[1:]
    waits = False
    while ending and _may_end(ending[-1]) and not _is_told(ending[-1], waits=False):
        waits = waits or _WAITING.search(ending[-1]) is not None
        ending.pop()
    if not ending or any(map(is_question, ending[-_NEAR:])):
        return None
    last = ending[-1]
    named = tools.mentioned(last) if tools is not None else []
    told = _is_told(last, waits=waits) or _is_told_of(last, named=bool(named))
    if not told or any(_YOURS.search(s) for s in ending[-2:]):
        return None
    if any(_REQUEST.search(s) for s in ending[-_FAR:]) or any(
        _INFORMATION.search(s) for s in ending[-2:]
    ):
        return None
    named = named or (tools.mentioned(plain) if tools is not None else [])
    tool = named[0] if named else None
    what = f"a call to `{tool}`" if tool else "a tool call"
    message = f"The model described {what} without making it."
    return Failure(FailurePattern.NARRATED, message, whole, tool)


def _may_end(sentence: str) -> bool:
    """Tell whether a sentence may follow a plan without being one."""
    if not any(c.isalnum() for c in sentence):
        return True
    return bool(_CLOSING.match(sentence) or _THEN.match(sentence) or is_interjection(sentence))


def _is_told(sentence: str, *, waits: bool) -> bool:
    """Tell whether a sentence says that its speaker acts now or next."""
    names = _USING.search(sentence) is not None
    acts = names or (
        promises(sentence)
        or _UNDER_WAY.match(sentence)
        or (waits and (able := _ABLE.search(sentence)) and acts_by(able[1]))
        or ("while" in sentence and _WAITING.search(sentence))
    )
    if not acts or negates(sentence):
        return False
    return names or not (
        supposes(sentence) or _INFORMATION.search(sentence) or GOES_ON.search(sentence)
    )


def _is_told_of(sentence: str, *, named: bool) -> bool:
    """Tell whether a sentence names a tool, or breaks off, where it would else be talk."""
    named = (named and bool(_WOULD_USE.search(sentence) or _SHOULD.search(sentence))) or bool(
        _WE.search(sentence) and (named or _BREAKS_OFF.search(sentence))
    )
    return named and not negates(sentence) and not GOES_ON.search(sentence)


def _blank_or_name(quoted: re.Match[str]) -> str:
    """Blank out what is quoted, but keep a lone word: tools are named in quotes."""
    inner = quoted[0].strip("`\"'")
    is_name = inner.replace("_", "").replace("-", "").isalnum()
    return inner if is_name else " " * len(quoted[0])
