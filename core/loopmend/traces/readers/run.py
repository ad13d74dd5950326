"""The run that a tree of spans tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.traces.readers.conversation import drafts_of
from loopmend.traces.readers.draft import Draft, maker
from loopmend.traces.readers.endings import answer_in, ended
from loopmend.traces.readers.messages import messages_in
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.parts import text_of
from loopmend.traces.readers.said import last_user
from loopmend.traces.readers.span_values import (
    answer_of,
    is_talk,
    last_word,
    results_in,
    task_in,
    tool_input,
)
from loopmend.traces.readers.spans import NOTHING, Span, in_tree, without_twins
from loopmend.traces.readers.values import as_text, decoded
from loopmend.traces.trace import Observation, Trace, TraceCall, TraceError

__all__ = ["read_run"]

_CODE: Final = re.compile(r"```(?:py|python)\s*\n|<code>")
_FINAL_TOOLS: Final = frozenset({"finalanswertool", "final_answer", "finalanswer"})
# LangChain's AgentExecutor runs these two in place of a tool: for a reply that its parser
# refused, and for a tool that there is not.
_REFUSED: Final = "_Exception"
_UNKNOWN: Final = "invalid_tool"
# What instrumentations write around the name of a tool.
_AROUND: Final = re.compile(
    r"(?:execute_tool|running tool:?|tool\.|tool:|function[ _]?tool:?)\s*|"
    r"\.(?:start|finish|success|error|update|partial_update)(?:-\d+)?\Z",
    re.IGNORECASE,
)
_NEAR: Final = 8
"""How many steps may lie between a call and the span of its tool."""
_FEW: Final = 32
_MOST: Final = 1000
"""How many calls a step may have: no model asks for more at once."""


def read_run(spans: list[Span], trace: Trace, options: ReadOptions) -> Trace:
    """Read the spans of one run into a trace.

    Args:
        spans: The spans in any order.
        trace: What else is known of the run.
        options: Which calls end a run, and the like.
    """
    roots = in_tree(spans)
    without_twins(roots)
    reading = _Reading(trace, spans)
    for root in roots:
        # A platform keeps one request in a trace; several runs side by side are several requests.
        reading.request += (
            root.kind in ("AGENT", "CHAIN") and bool(reading.steps) and not root.parent
        )
        reading.visit(root)
    drafts = reading.steps or reading.told(roots)
    # Of pieces whose whole was not recorded, only the last one tells how it ended; a tool never.
    whole = roots if len(roots) == 1 else [root for root in roots[-1:] if root.kind != "TOOL"]
    outer = [*whole, *reading.outermost[-1:]]
    error = next((span.error for span in outer if span.error is not None), None)
    reason = trace.reason or next((span.ended for span in outer if span.ended), reading.paused)
    answer = reading.answer if not reason else None
    if answer is None and not reason and error is None:
        answer = trace.answer
    if answer is not None:
        error = None
    read = bool(drafts) or error is not None or answer is not None or bool(reason)
    return ended(
        drafts,
        Trace(
            question=trace.question or reading.question,
            answer=answer,
            reason=reason or None,
            error=reading.source(error),
            framework=trace.framework,
            id=trace.id,
            seconds=trace.seconds,
            tools=reading.tools or None,
            metadata=trace.metadata,
            unreadable=None if read else trace.framework,
        ),
        options,
        talks=True,
    )


class _Reading:
    def __init__(self, trace: Trace, spans: list[Span]) -> None:
        self.steps: list[Draft] = []
        self.request = 0
        self.answer: str | None = None
        self.question = trace.question
        self.paused: str | None = None
        self.outermost: list[Span] = []
        self.errors: list[TraceError] = []
        self.tools: list[str] = []
        # Only a host that works in steps runs the code that a model writes.
        self.runs_code = any(span.name.startswith("Step ") for span in spans)

    def visit(self, root: Span) -> None:
        """Follow a span and its children, in the order in which they started.

        Not by calling itself: spans may be nested deeper than Python can call.
        """
        # With each span the agent that it is in: none in no run, "" in a run without a name.
        stack: list[tuple[Span, str | None, bool]] = [(root, None, False)]
        while stack:
            span, agent, left = stack.pop()
            if left:
                self._chain(span)
                continue
            if not agent and (span.kind == "AGENT" or (agent is None and span.kind == "CHAIN")):
                self.outermost += [span] if agent is None else []
                agent = ""
                self._run(span)
            if span.error is not None and span.error.origin != "host":
                self.errors.append(span.error)
            if span.ended == "interrupted":
                self.paused = span.ended
            if span.kind == "AGENT":
                agent = span.name
            elif span.kind == "LLM":
                self._model(span, agent or None)
            elif span.kind == "TOOL" or self._is_tool(span):
                self._tool(span)
            elif span.kind == "CHAIN":
                stack.append((span, agent, True))
            stack += [(child, agent, False) for child in reversed(span.children)]

    def source(self, error: TraceError | None) -> TraceError | None:
        """Return an error as the innermost span tells it that knows where it comes from."""
        if error is None:
            return None
        told = (error.kind, error.message)
        same = (each for each in reversed(self.errors) if _is_same(told, each))
        # A run that only says that it failed did so by what failed last in it.
        last = self.steps[-1].error if self.steps else None
        vague = error.kind == "Error" and (not error.message or _tells(error.message, last))
        return next(same, last if vague and last is not None else error)

    def told(self, roots: list[Span]) -> list[Draft]:
        """Return the steps of a run whose models have no spans: its messages tell them."""
        for root in roots:
            said = messages_in(root.said, "assistant") if is_talk(root.said) else []
            drafts = drafts_of(said)
            if drafts:
                self.question = self.question or last_user(said)
                return drafts
        return []

    def _is_tool(self, span: Span) -> bool:
        """Tell a tool's span by its name, where the platform has no kind for it."""
        if span.kind != "CHAIN" or not self.steps or not self.steps[-1].calls:
            return False
        name = _bare(span.name)
        named = any(call.name == name for call in self.steps[-1].calls)
        return named and not span.is_bare and (span.given is not None or span.error is not None)

    def _run(self, span: Span) -> None:
        """Take what a run was asked, and what it answered."""
        self.question = self.question or task_in(span.given)
        self._offered(span)
        said = decoded(span.said)
        if isinstance(said, Mapping) and said.get("__interrupt__"):  # a graph of LangGraph waits
            span.ended = span.ended or "interrupted"
        if is_talk(said):
            self.answer = self.answer or last_word(said)
        elif span.kind == "AGENT" and span.error is None:
            self.answer = answer_of(said) or self.answer

    def _model(self, span: Span, agent: str | None) -> None:
        reply = span.reply
        unknown = reply.empty and span.said is None  # instrumentations leave contents out
        if reply.empty and span.is_bare and span.finish is None:
            return
        if not self.steps:
            self._before(span)
        else:
            self._returned(span)
        draft = Draft.of(reply)
        draft.finish = draft.finish or span.finish
        draft.reads = not (unknown and draft.finish)
        finals = [call for call in draft.calls if call.name.lower() in _FINAL_TOOLS]
        if finals:
            draft.calls = [call for call in draft.calls if call not in finals]
            draft.answer = answer_in(finals[0].arguments)
        if self.runs_code and not draft.calls and draft.answer is None:
            draft.calls = _code_in(draft.text)
        draft.error, draft.agent, draft.id = span.error, agent, span.id
        draft.request = self.request
        draft.tokens = span.tokens or draft.tokens
        self._offered(span)
        if not self.question:
            asked = span.asked
            self.question = last_user(asked) if asked else task_in(span.given)
        self.paused = None  # who waited for a human goes on
        self.steps.append(draft)

    def _offered(self, span: Span) -> None:
        """Add the tools that a model or an agent was offered: each may have its own."""
        self.tools += [name for name in span.tools if name not in self.tools]

    def _before(self, span: Span) -> None:
        """Take the calls that were made before the first span, since the user spoke last."""
        asked = span.asked
        last = max((at for at, said in enumerate(asked) if said.role == "user"), default=-1)
        since = asked[last + 1 :]
        if any(said.results for said in since) and any(said.calls for said in since):
            self.steps += drafts_of(since)

    def _returned(self, span: Span) -> None:
        """Take results that only the next request tells: not every tool has a span."""
        last = self.steps[-1]
        if len(last.observations) >= len(last.calls) or all(call.id is None for call in last.calls):
            return
        for said in span.asked:
            for result in said.results:
                made = self._made(result.call_id)
                if made is last:
                    last.observe(result)

    def _tool(self, span: Span) -> None:
        if span.is_bare and span.tool is None:
            # A tool's event without what it got or returned tells nothing that is not known.
            known = self.steps and any(self._names(span, c.name) for c in self.steps[-1].calls)
            if known or _AROUND.search(span.name) is not None:
                return
        name = span.tool or _bare(span.name)
        given = tool_input(span.given)
        if name.lower() in _FINAL_TOOLS or span.name.lower() in _FINAL_TOOLS:
            self._last().answer = answer_in(given)
            return
        failed = span.error is not None or name == _UNKNOWN
        if name == _UNKNOWN and isinstance(given, Mapping):
            name, given = str(given.get("requested_tool_name")), None
        told = list(results_in(span.said))
        if len(told) > 1:  # Haystack runs all calls of a step in one
            for each in told:
                self._last().observe(each)
            return
        result = told[0] if told else None
        if result is None:
            said = span.said
            if isinstance(said, str) and said[:1] == '"':  # a text that was written as JSON
                said = decoded(said)
            text = as_text(said) if span.error is None else span.error.message
            text = "" if text in NOTHING else text_of(text)
            result = Observation(text, name, span.call_id, failed=failed or span.failed)
        made = self._made(result.call_id)
        if made is not None:
            made.observe(result)
            return
        self._attach(span, name, given, result)

    def _attach(self, span: Span, name: str, given: Any, result: Observation) -> None:
        """Give a tool's work to the latest step, which may or may not tell of the call."""
        step = self._last()
        silent = span.ended is not None or (span.error is None and span.said is None)
        asked = [call for call in step.calls if self._names(span, call.name) or call.name == name]
        if not asked and (waiting := self._waiting(span, result.call_id)) is not None:
            step = waiting
            asked = [call for call in step.calls if self._names(span, call.name)]
        name = asked[0].name if asked else name
        seen = sum(each.tool == name for each in step.observations)
        if name == _REFUSED:
            step.observations += [] if silent else [result]
            return
        if seen >= len(asked):
            told = any(each.tool == name and each.text == result.text for each in step.observations)
            if asked and span.event and (silent or told):
                return  # it tells once more what is known
            step.calls.append(TraceCall(name, given, result.call_id))
        if not silent:
            step.observe(Observation(result.text, name, result.call_id, result.failed))

    def _waiting(self, span: Span, id: str | None) -> Draft | None:
        """Return an earlier step whose call a tool's span answers, if one still waits for it."""
        for step in reversed(self.steps[-_NEAR:-1]):
            names = [each.tool for each in step.observations]
            for call in step.calls[:_FEW]:
                same = None in (id, call.id) or call.id == id
                if same and self._names(span, call.name) and call.name not in names:
                    return step
        return None

    def _names(self, span: Span, name: str) -> bool:
        """Tell whether a span is named after a tool, in its own way."""
        own = (span.tool or _bare(span.name)).lower()
        return name.lower() in (own, own.rpartition(".")[2])

    def _chain(self, span: Span) -> None:
        """Take what the host says about a step: its error, its results, what its code printed."""
        steps, said, error = self.steps, span.said, span.error
        for result in results_in(said):
            made = self._made(result.call_id)
            if made is not None:
                made.observe(result)
        a_step = span.name.startswith("Step")
        if error is not None and (a_step or (steps and error.origin == "parser")):
            step = self._last()
            step.error = step.error or error
        elif a_step and isinstance(said, str) and steps and not steps[-1].observations:
            steps[-1].observations.append(Observation(said))

    def _made(self, id: str | None) -> Draft | None:
        return maker(self.steps, id)

    def _last(self) -> Draft:
        """Return the latest step, or one of its own where no model was asked."""
        if not self.steps or len(self.steps[-1].calls) >= _MOST:
            self.steps.append(Draft())
        return self.steps[-1]


def _code_in(text: str) -> list[TraceCall]:
    """Return the first block of code as the call that its host makes of it."""
    start = _CODE.search(text)
    if start is None:
        return []
    end = "</code>" if start[0] == "<code>" else "\n```"
    code, _, _ = text[start.end() :].partition(end)
    return [TraceCall("python", code.strip("\n"))]


def _is_same(told: tuple[str, str], error: TraceError) -> bool:
    """Tell whether an error is the one that is told, which may be without its name."""
    kind, message = told
    return message == error.message and (kind == error.kind or (kind == "Error" and bool(message)))


def _tells(message: str, error: TraceError | None) -> bool:
    """Tell whether a message repeats an error."""
    return error is not None and (error.kind in message or error.message in message)


def _bare(name: str) -> str:
    """Return a tool's name without what its instrumentation writes around it."""
    return _AROUND.sub("", name).strip("'") or name
