"""ReAct transcripts as they are logged: numbered headers, `Search[x]`, `Finish[y]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from loopmend._arguments import not_text
from loopmend.traces.readers.console import within_banners
from loopmend.traces.readers.draft import Draft
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.values import as_map, as_text, decoded
from loopmend.traces.trace import Observation, Trace, TraceCall

__all__ = ["is_react_log", "read_react_log"]

# At the start of a line, which a search finds fastest by the end of the line before it.
_HEADER: Final = re.compile(
    r"\n[ \t>*]*(Thought|Action Input|Action|Observation|Final Answer|Answer|Question)"
    r"(?:[ \t]*\d{1,4})?[ \t*]*:[*]*"
)
_BRACKETS: Final = re.compile(
    r"\s*(?P<name>[A-Za-z_][\w \-]{0,60}?)\s*\[(?P<given>.*)\]?\s*\Z", re.DOTALL
)
_NAME: Final = re.compile(r"\s*(?P<name>[\w.\-]{1,80})\s*\Z")
_FENCE: Final = re.compile(r"\A\s{0,9}```\w{0,9}|```\s{0,9}\Z")
_COLOUR: Final = re.compile(r"\x1b\[[\d;]{0,20}m")
# LangChain writes what a model says in green, and right behind it what the tool returned in the
# tool's colour: nothing else tells them apart.
_RETURNED: Final = re.compile(
    r"\x1b\[0m\x1b\[(?!32;)[\d;]{1,20}m(?:\x1b\[[\d;]{1,20}m)?([^\x1b]*)\x1b\[0m(?=\x1b\[32;)"
)
_NAMED: Final = re.compile(r"\s*(\w{1,80})")
_FINISH: Final = frozenset({"finish", "final_answer", "submit"})
_ASIDE: Final = frozenset({"think", "thought"})


def is_react_log(text: str) -> bool:
    r"""Tell whether a text is a transcript: it has thoughts or actions, and what follows them.

    >>> is_react_log("Thought: x\nAction: Search[Oslo]"), is_react_log("Thought: x")
    (True, False)
    """
    kinds = {match[1] for match in _HEADER.finditer("\n" + _plain(text[:100_000]))}
    return "Action" in kinds or {"Thought", "Final Answer"} <= kinds


def _plain(text: str) -> str:
    """Return a text without the colours of a terminal."""
    if "\x1b[" not in text:
        return text
    told = _COLOUR.sub("", _RETURNED.sub(r"\nObservation: \1\nThought: ", text))
    return told.replace("\nThought: Thought:", "\nThought:")


def read_react_log(text: str, options: ReadOptions) -> Trace:
    r"""Read a ReAct transcript into a trace.

    A step is one action with the thought before it and the observation after it.

    Raises:
        TypeError: `text` is not a `str`.

    >>> log = "Thought 1: x\nAction 1: Search[Oslo]\nObservation 1: a city"
    >>> step = read_react_log(log, ReadOptions()).steps[0]
    >>> step.calls[0].arguments, step.observations[0].text
    ('Oslo', 'a city')
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    text, capped = within_banners("\n" + _plain(text))
    marks = _marks(text)
    drafts: list[Draft] = []
    asked: list[str] = []
    stops = [start for _, start, _ in marks]
    for (kind, start, end), stop in zip(marks, [*stops[1:], len(text)], strict=False):
        body = text[end:stop].strip()
        if kind == "Question":
            asked.append(body)
            continue
        if kind == "Observation":
            _see(drafts, body)
        else:
            _take(drafts, kind, body, options)
            if drafts and not drafts[-1].observations:
                said = text[start:stop].strip()
                drafts[-1].text = f"{drafts[-1].text}\n{said}".strip()
        if drafts and asked:
            drafts[-1].request = len(asked) - 1
    answers = [draft.answer for draft in drafts if draft.answer is not None]
    before = text[: marks[0][1]].strip() if marks else text.strip()
    trace = Trace(
        question=before or next(iter(asked), None) or None,
        answer=answers[-1] if answers and capped is None else capped,
        framework="react_log",
        unreadable="react_log" if not drafts and text.strip() else None,
    )
    return ended(drafts, trace, options, talks=False)


def _marks(text: str) -> list[tuple[str, int, int]]:
    """Return the headers: what each heads, and where it starts and ends.

    A question counts where one is due: first, or after an answer.
    """
    marks: list[tuple[str, int, int]] = []
    due = True
    for mark in _HEADER.finditer(text):
        kind = mark[1]
        if kind == "Answer" and not (marks and marks[-1][0] == "Thought"):
            continue  # LlamaIndex answers right after a thought
        if kind == "Action":
            called = _NAMED.match(text, mark.end())
            due = (called is not None and called[1].lower() in _FINISH) or (due and bool(marks))
        elif kind != "Question":
            due = kind.endswith("Answer") or (due and bool(marks))
        elif due:
            due = False
        else:
            continue  # a line of what a tool returned
        marks.append((kind, mark.start(), mark.end()))
    return marks


def _see(drafts: list[Draft], body: str) -> None:
    """Add what a tool returned to the latest step."""
    last = drafts[-1] if drafts else _new(drafts)
    last.observations.append(Observation(body, last.calls[-1].name if last.calls else None))


def _take(drafts: list[Draft], kind: str, body: str, options: ReadOptions) -> None:
    """Add one section of a reply to the step that it belongs to."""
    if kind == "Action Input":
        if drafts and drafts[-1].calls and drafts[-1].calls[-1].arguments is None:
            given = decoded(body)
            given = given if isinstance(given, Mapping) else body
            drafts[-1].calls[-1] = replace(drafts[-1].calls[-1], arguments=given)
        return
    draft = drafts[-1] if drafts else None
    if draft is None or draft.calls or draft.answer is not None or draft.observations:
        draft = _new(drafts)
    if kind == "Thought":
        draft.thought = (
            f"{draft.thought}\n{body}" if draft.thought and body else body or draft.thought
        )
    else:
        _act(draft, kind, body, options)


def _new(drafts: list[Draft]) -> Draft:
    # What a log says of a reply was taken apart already: its lines are no reply to read.
    drafts.append(Draft(reads=False))
    return drafts[-1]


def _act(draft: Draft, kind: str, body: str, options: ReadOptions) -> None:
    if kind.endswith("Answer"):
        draft.answer = body
        return
    call = _call(body)
    if call is None:
        return
    if call.name.lower().replace(" ", "_") in _FINISH:
        draft.answer = as_text(call.arguments)
        return
    draft.calls.append(call)
    if body.lower() in options.finish or call.name.lower() in options.finish:
        draft.answer = body
    elif call.name.lower() in _ASIDE:
        draft.thought = "\n".join(filter(None, (draft.thought, str(call.arguments or ""))))


def _call(body: str) -> TraceCall | None:
    """Read `Search[x]`, `Search[x`, an action in JSON, or a name alone, whose input follows."""
    told = as_map(decoded(_FENCE.sub("", body))) if "{" in body[:20] else {}
    if isinstance(told.get("action"), str):
        return TraceCall(told["action"], told.get("action_input"))
    match = _BRACKETS.match(body)
    if match is not None:
        given = match["given"].removesuffix("]")
        return TraceCall(match["name"], given)
    line = body.partition("\n")[0]
    name = _NAME.match(line)
    return TraceCall(name["name"]) if name is not None else None
