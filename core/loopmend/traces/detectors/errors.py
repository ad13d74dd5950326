"""What failed: tools, providers, pages that do not let robots in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from loopmend.traces.finding import Certainty, Detector, Finding
from loopmend.traces.stop import StopReason
from loopmend.traces.trace import Observation, TraceError
from loopmend.traces.view import View, holds

__all__ = ["ERRORS", "says_unknown"]

_STORM: Final = 3
_REFUSED: Final = "_Exception"
"""What LangChain's AgentExecutor calls in place of a tool for a reply that it cannot parse."""
_UNKNOWN: Final = re.compile(
    r"\W{0,3}(?:error: )?(?:(?P<name>[\w.\-]{1,80}) is not a valid tool\b"
    r"|(?:unknown|no such) tool\W{0,4}(?P<told>[\w.\-]{0,80})"
    r"|tool\W{1,4}(?P<said>[\w.\-]{1,80})\W{1,3}(?:was )?(?:not found|does not exist))",
    re.IGNORECASE,
)
_ARGUMENTS: Final = (
    *("validation error for", "validation errors for", "required positional argument"),
    *("unexpected keyword argument", "were malformed", "error invoking tool"),
)
_PARSERS: Final = ("parserexception", "parsingerror", "parseexception")
_PARSING: Final = (
    *("could not parse", "outputparser", "agentparsingerror", "error in code parsing"),
    *("invalid format", "code snippet is invalid", "invalid or incomplete response"),
)
# Only what fetches pages can be kept out of one; a search for captchas is no captcha.
_FETCHES: Final = re.compile(
    r"visit|brows|fetch|open|page|url|http|web|click|scrap|crawl|navigat|goto|python", re.IGNORECASE
)
# What such a page says to its visitor, or opens with; an article speaks of these things, too.
_BLOCKED: Final = re.compile(
    r"\bare you a robot\b|\b(?:solve|complete|enter|pass) (?:the|this|a) captcha\b"
    r"|\bunusual traffic from your\b|\bverify (?:that )?you are (?:a )?human\b"
    r"|\benable javascript and cookies\b|\bcloudflare ray id\b|\bblocked by robots\b"
    r"|\A\W{0,4}(?:error:? |http:? |\w{1,30}error: ){0,2}"
    r"(?:403 (?:forbidden|client error)|access denied|captcha required)(?=\s*(?:[\n.,:;(!]|\Z))"
)
# What every such page has a piece of, in lower case: to look for it is much faster.
_BLOCKING: Final = ("robot", "captcha", "traffic", "human", "javascript", "ray id", "403", "denied")
_CLASSES: Final = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("rate_limit", r"\b429\b|rate.?limit|too many requests|quota"),
        (
            "context_overflow",
            (
                r"context.{0,20}(?:length|window|overflow)|maximum context|too many tokens"
                r"|prompt is too long"
            ),
        ),
        (
            "authentication",
            r"\b(?:401|403)\b|authenticat|unauthori[sz]ed|permission.?denied|invalid api key",
        ),
        (
            "server",
            (
                r"\b(?:500|502|503|504|529)\b|internal.?server|overloaded|service.?unavailable"
                r"|bad gateway"
            ),
        ),
        ("timeout", r"timed?.?out"),
    )
)


def step_errors(view: View) -> Iterator[Finding]:
    """Find steps that failed, by whose fault that is, and whether the run got over it."""
    for at, step in enumerate(view.trace.steps):
        if step.error is not None:
            yield _marked(_step_error(at, step.error), recovered=view.goes_on(at))
    for at, observation in view.failed:
        if observation.tool == _REFUSED and view.trace.steps[at].error is not None:
            continue  # the step's error tells it
        finding = _tool_failure(at, observation)
        # Who called a tool that there is not does better to call another one.
        tool = observation.tool if finding.kind == "tool_error" else None
        yield _marked(finding, recovered=view.recovers(at, tool))


def _marked(finding: Finding, *, recovered: bool) -> Finding:
    """Mark what the run got over: that is worth knowing, but no fault of the run."""
    if not recovered:
        return finding
    of = finding  # to replace fields takes twice as long
    return Finding(of.kind, of.message, "info", of.certainty, of.step, of.evidence, recovered=True)


def _step_error(at: int, error: TraceError) -> Finding:
    said = f"{error.kind}: {error.message}"
    sure = error.origin == "parser" or error.kind.lower().endswith(_PARSERS)
    # A tool that cannot parse something speaks of its own data.
    if sure or (error.origin != "tool" and holds(said[:1000].lower(), _PARSING)):
        message = "The model's output could not be parsed."
        certainty: Certainty = "proven" if sure else "suspected"
        return Finding("parse_failure", message, "error", certainty, at, said[:200])
    if error.origin == "model":
        return _provider(at, error)
    message = "The step failed."
    return Finding("tool_error", message, "warning", "proven", at, said[:200])


def _tool_failure(at: int, observation: Observation) -> Finding:
    text = observation.text[:200]
    certainty: Certainty = "proven" if observation.failed else "suspected"
    folded = text.lower()
    if "tool" in folded and says_unknown(observation):
        return Finding("unknown_tool", "Unknown tool.", "error", certainty, at, text)
    # That it failed is a fact; what it failed at is told by words that mean other things, too.
    if holds(folded, _ARGUMENTS):
        message = "A tool refused its arguments."
        return Finding("malformed_arguments", message, "error", "suspected", at, text)
    if holds(folded, _PARSING):
        message = "The model's output could not be parsed."
        return Finding("parse_failure", message, "error", "suspected", at, text)
    message = "A tool reported a problem."
    return Finding("tool_error", message, "warning", certainty, at, text)


def says_unknown(observation: Observation) -> bool:
    """Tell whether a result says that there is no tool of the name that was called."""
    match = _UNKNOWN.match(observation.text[:200])
    named = match[match.lastgroup or 0].lower() if match is not None else None
    return named is not None and named in ("", (observation.tool or named).lower())


def provider(view: View) -> Iterator[Finding]:
    """Find what ended the run on the provider's side."""
    error = view.trace.error
    if error is None or _class(error) is None:
        return
    if error.origin == "model":
        yield _provider(None, error)
    elif error.origin == "unknown" and view.stop.reason is StopReason.PROVIDER_ERROR:
        yield replace(_provider(None, error), certainty="suspected")


def _provider(at: int | None, error: TraceError) -> Finding:
    which = _class(error)
    said = f"{error.kind}: {error.message}"[:200]
    message = f"The model's provider failed{f': {which}' if which else ''}."
    return Finding("provider_error", message, "error", "proven", at, said)


def _class(error: TraceError) -> str | None:
    said = f"{error.kind} {error.message[:300]}"
    return next((name for name, pattern in _CLASSES if pattern.search(said)), None)


def storm(view: View) -> Iterator[Finding]:
    """Find several failures in a row."""
    flagged = {at for at, seen in view.failed if seen.failed}
    steps, run, before = view.trace.steps, 0, -2
    for at in view.failures:
        follows = at == before + 1 and steps[at].request == steps[before].request
        run, before = run + 1 if follows else 1, at
        if run == _STORM:
            message = f"{_STORM} steps in a row failed, up to step {at + 1}."
            these = range(at - _STORM + 1, at + 1)
            sure = all(steps[n].error is not None or n in flagged for n in these)
            certainty: Certainty = "proven" if sure else "suspected"
            finding = Finding("error_storm", message, "error", certainty, at)
            yield _marked(finding, recovered=view.recovers(at))
            return


@lru_cache(maxsize=1024)
def _fetches(tool: str) -> bool:
    return _FETCHES.search(tool) is not None


def blocked(view: View) -> Iterator[Finding]:
    """Find pages that did not let the agent in."""
    for at, step in enumerate(view.trace.steps):
        for observation in step.observations:
            if observation.tool is not None and not _fetches(observation.tool):
                continue
            opening = observation.text[:300].lower()
            if holds(opening, _BLOCKING) and _BLOCKED.search(opening):
                message = "A page blocked the agent."
                evidence = observation.text[:200]
                yield Finding("blocked_page", message, "warning", "suspected", at, evidence)
                return


ERRORS: Final[tuple[Detector, ...]] = (step_errors, provider, storm, blocked)
