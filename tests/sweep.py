"""`python -m tests.sweep`: every public function that takes text, on repeated tokens of dialects.

Twice the text may cost at most 2.4 times the time: what grows faster is not linear. The whole
sweep takes some minutes; `test_sweep.py` takes a part of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.timing import fastest
from loopmend import (
    JsonReader,
    LoopPolicy,
    Mending,
    Planner,
    Reply,
    ToolSpec,
    Trace,
    TurnReader,
    classify_trace,
    contracts,
    load_traces,
    read_json,
    read_response,
    read_turn,
)
from loopmend.mending import (
    CallResult,
    answer_at_cap,
    ask_before_cap,
    asks_to_see,
    beside,
    correction,
    cut_reason,
    is_protocol_error,
    parser_correction,
    refuses_schema,
)
from loopmend.planning import (
    RosterMatch,
    match_specialists,
    observe_conversation,
    response_skeleton,
)
from loopmend.reading import Toolbox, clean_parts, fit_text, fit_value
from loopmend.rendering import show_turn
from loopmend.traces import (
    Observation,
    Redactor,
    Step,
    TraceCall,
    TraceError,
    TraceFormatError,
    export_spans,
    redact_secrets,
)
from tests.core.reading.pumps import AROUND, PUMPS

MOST = 2.4
"""Linear is 2; a fifth more is for the machine."""
SIZE = 4000
FLOOR = 0.002
"""Seconds below which a measure is noise."""
BOX = Toolbox([ToolSpec("search", parameters={"properties": {"q": {"type": "string"}}})])
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


class _Tracer:
    @contextmanager
    def start_as_current_span(self, _name: str, **_: Any) -> Iterator[_Tracer]:
        yield self

    def end(self, **_: Any) -> None:
        """End nothing."""


def _trace(text: str) -> Trace:
    call = TraceCall("search", {"q": text, text: 1})
    step = Step(
        text, text, [call], [Observation(text, "search")], text, error=TraceError("E", text)
    )
    return Trace([step, step], text, text, tools=["search"], metadata={text: [text, text]})


def _streamed(make: Callable[[], Any], end: str, text: str) -> None:
    reader = make()
    for at in range(0, len(text), 64):
        fed = reader.feed(text[at : at + 64])
        list(fed) if isinstance(fed, Iterator) else None
    getattr(reader, end)()


def _failed(text: str) -> None:
    failure = read_turn(text).failure
    if failure is not None:
        for form in ("react", "json", "native", "code"):
            correction(failure, form, BOX, question=text)


def _mended(text: str) -> None:
    mending = Mending(BOX, form="react")
    mending.start(text)
    mending.reply(Reply(text))


def _parsed(call: Callable[[str], Any], text: str) -> None:
    try:
        call(text)
    except (contracts.ActionParseError, TraceFormatError, ValueError):  # what is promised
        return


FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "read_turn": read_turn,
    "read_turn with tools": lambda text: read_turn(text, tools=BOX),
    "read_response": lambda text: read_response(text, calls=[{"name": "search", "args": text}]),
    "read_json": read_json,
    "read_json with a schema": lambda text: read_json(text, SCHEMA),
    "TurnReader": partial(_streamed, TurnReader, "finish"),
    "JsonReader": partial(_streamed, lambda: JsonReader(SCHEMA), "close"),
    "clean_parts": clean_parts,
    "fit_text": lambda text: fit_text("search", text, BOX),
    "fit_value": lambda text: fit_value({"q": text, text: 1}, SCHEMA),
    "Toolbox": lambda text: (BOX.find(text), BOX.nearest(text), BOX.mentioned(text)),
    "parse_action": partial(_parsed, contracts.parse_action),
    "detect_normalization_failure": contracts.detect_normalization_failure,
    "detect_meta_signal": contracts.detect_meta_signal,
    "classify_scratchpad_grammar": contracts.classify_scratchpad_grammar,
    "classify_termination": lambda text: contracts.classify_termination(
        {"scratchpad": text, "reason": text, "answer": text, "iterations": 1}
    ),
    "assess_declared_action": contracts.assess_declared_action,
    "extract_echo_fragments": lambda text: contracts.extract_echo_fragments([text, text]),
    "from_json": partial(_parsed, partial(contracts.from_json, contracts.ToolCall)),
    "Mending": _mended,
    "correction": _failed,
    "beside": lambda text: beside(text, read_turn(text)),
    "asks_to_see": asks_to_see,
    "parser_correction": lambda text: (parser_correction(text, text), cut_reason(text)),
    "ask_before_cap": ask_before_cap,
    "answer_at_cap": lambda text: answer_at_cap([CallResult("search", {"q": text}, text)] * 2),
    "LoopPolicy": lambda text: LoopPolicy().decide(
        [CallResult("search", {"q": text}, text)] * 3, text
    ),
    "provider errors": lambda text: (
        is_protocol_error(ValueError(text)),
        refuses_schema(ValueError(text)),
    ),
    "match_specialists": lambda text: match_specialists(text, {"a": text, "search": "finds"}),
    "RosterMatch": lambda text: RosterMatch(True, ("a", text)).before(text),
    "observe_conversation": lambda text: Planner().advise(observe_conversation([text], [text])),
    "response_skeleton": response_skeleton,
    "from_react_log": lambda text: classify_trace(Trace.from_react_log(text)),
    "from_messages": lambda text: classify_trace(
        Trace.from_messages([{"role": "user", "content": text}, {"role": "ai", "content": text}])
    ),
    "load_traces": lambda text: list(load_traces(text.encode("utf-8", "replace"))),
    "Trace.from_json": partial(_parsed, Trace.from_json),
    "classify_trace": lambda text: classify_trace(_trace(text)),
    "classify_trace of many steps": lambda text: classify_trace(
        Trace(
            [Step(text[at : at + 9], error=TraceError("E", "x")) for at in range(0, len(text), 9)]
        )
    ),
    "scratchpad": lambda text: _trace(text).scratchpad,
    "Redactor.text": Redactor().text,
    "redact_secrets": lambda text: redact_secrets(_trace(text)),
    "export_spans": lambda text: export_spans(Trace([Step(text)], text), _Tracer()),
    "show_turn": lambda text: show_turn(text, read_turn(text)),
    "html of a trace": lambda text: _trace(text)._repr_html_(),
}


def offenders(
    names: Iterable[str], pumps: Iterable[str], around: Iterable[str]
) -> Iterator[tuple[str, str, str, float, float]]:
    """Yield each function, pump and surroundings that cost too much, with growth and seconds."""
    pairs = [(pump, place) for pump in pumps for place in around]
    for name in names:
        function = FUNCTIONS[name]
        for pump, place in pairs:
            grown = _growth(function, pump, AROUND[place])
            if grown is not None:
                yield name, pump, place, *grown


def _growth(
    function: Callable[[str], Any], pump: str, around: tuple[str, str]
) -> tuple[float, float] | None:
    """Return growth per doubling and seconds if both of two doublings are above the bound."""
    texts = [around[0] + pump * (SIZE * n // len(pump)) + around[1] for n in (1, 2, 4)]
    costs = [_seconds(function, text) for text in texts[:2]]
    if costs[1] < FLOOR or costs[1] <= MOST * costs[0]:
        return None
    # Suspicious; noise only ever adds, so the fastest of several counts.
    costs = [fastest(partial(function, text), rounds=5) for text in texts]
    growth = min(costs[1] / costs[0], costs[2] / costs[1])
    return (growth, costs[2]) if growth > MOST else None


def _seconds(function: Callable[[str], Any], text: str) -> float:
    started = time.thread_time()
    function(text)
    return time.thread_time() - started


def main(arguments: list[str]) -> int:
    """Sweep, report what grows faster than its text, and return 1 if anything does."""
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("--function", choices=list(FUNCTIONS), action="append")
    parser.add_argument("--around", choices=list(AROUND), action="append")
    options = parser.parse_args(arguments)
    found = 0
    for name in options.function or FUNCTIONS:
        for _, pump, place, growth, seconds in offenders(
            [name], PUMPS, options.around or ["alone"]
        ):
            found += 1
            print(
                f"{name}: {pump!r} {place}: {growth:.1f} per doubling, {seconds:.3f} s", flush=True
            )
    print(f"{len(options.function or FUNCTIONS)} functions, {len(PUMPS)} tokens: {found} offenders")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
