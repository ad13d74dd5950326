"""What is fuzzed: each target takes a text and raises if a promise does not hold."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from loopmend import (
    ReadingConfig,
    ToolCall,
    Turn,
    TurnReader,
    contracts,
    read_json,
    read_response,
    read_turn,
)
from loopmend.contracts import from_json, to_json
from loopmend.mending import Form, correction
from loopmend.reading import Toolbox
from loopmend.reading.json_streaming import JsonReader
from loopmend.reading.quick import quick_turn
from loopmend.reading.reader import read_slowly
from loopmend.rendering import show_turn
from loopmend.traces import (
    FORMATS,
    Redactor,
    Step,
    Trace,
    TraceFormatError,
    classify_trace,
    load_traces,
    redact_secrets,
)
from tests.core.reading.test_forms import WEATHER
from tests.fuzz import grammar

Target = Callable[[str, random.Random], object]

TOOLS: tuple[Any, ...] = (None, [WEATHER], ["search", "calculator", "f"], [])
CONFIGS = (
    ReadingConfig(),
    ReadingConfig(detect_signals=False),
    ReadingConfig(native=True),
    ReadingConfig(plain_text="error"),
    ReadingConfig(strict=True),
    ReadingConfig(calls="any", salvage=True),
)
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}
FORMS: tuple[Form, ...] = ("react", "json", "native", "code")
REDACTOR = Redactor()


def turns(text: str, chance: random.Random) -> None:
    """A turn is one thing or another, points into its text, survives JSON, and is shown."""
    tools, config = chance.choice(TOOLS), chance.choice(CONFIGS)
    turn = read_turn(text, tools=tools, config=config)
    assert turn.actions or turn.failure or turn.signal, turn
    assert turn.fidelity == "salvaged" or not (turn.actions and turn.failure), turn
    spans = [r.span for r in turn.repairs] + ([turn.failure.span] if turn.failure else [])
    assert all(0 <= start <= end <= len(text) for start, end in spans), spans
    if not any(word in repr(turn) for word in ("inf", "nan")):
        assert repr(from_json(Turn, to_json(turn))) == repr(turn)
    show_turn(text, turn)
    if turn.failure is not None:
        assert not any(sign < " " and sign not in "\n\t\r" for sign in turn.failure.message)
        box = None if tools is None else Toolbox(tools)
        said = correction(turn.failure, chance.choice(FORMS), box)
        again = read_turn(said, tools=tools)
        assert not any(isinstance(action, ToolCall) for action in again.actions), said


def responses(text: str, chance: random.Random) -> None:
    """A response is read, whatever its calls are."""
    calls = chance.choice(
        ((), [{"name": "search", "args": text}], [{"name": text, "input": grammar.value(chance)}])
    )
    read_response(text, calls=calls, tools=chance.choice(TOOLS))


def streams(text: str, chance: random.Random) -> None:
    """However a text is cut, the end of its stream is what the whole is read as."""
    tools, config = chance.choice(TOOLS), chance.choice(CONFIGS)
    reader = TurnReader(tools=tools, config=config)
    values = JsonReader(SCHEMA)
    at = 0
    while at < len(text):
        size = chance.randint(1, 40)
        for partial in reader.feed(text[at : at + size]):
            assert partial.failure is None, partial
        values.feed(text[at : at + size])
        at += size
    same(reader.finish(), read_turn(text, tools=tools, config=config))
    same(values.close(), read_json(text, SCHEMA))


def fast(text: str, chance: random.Random) -> None:
    """The short way answers what the long way answers, or nothing."""
    tools, config = chance.choice(TOOLS), chance.choice(CONFIGS)
    box = None if tools is None else Toolbox(tools)
    quick = quick_turn(text, box, config)
    if quick is not None:
        same(quick, read_slowly(text, box, None, config))


def spellings(text: str, chance: random.Random) -> None:
    """Other line ends and blanks around a text change nothing about which calls it makes."""
    tools = chance.choice(TOOLS)
    plain, other = (
        read_turn(each, tools=tools) for each in (text, grammar.respelled(text, chance))
    )
    assert _named(plain) == _named(other), (plain, other)


def _named(turn: Turn) -> list[Any]:
    return [getattr(action, "name", type(action).__name__) for action in turn.actions]


def values(text: str, chance: random.Random) -> None:
    """JSON is read with and without a schema."""
    read_json(text, chance.choice((None, SCHEMA, {"type": "array"})))
    read_json(text, config=ReadingConfig(salvage=True))


def actions(text: str, chance: random.Random) -> None:  # noqa: ARG001
    """The contract of actions parses a text or says why not."""
    try:
        contracts.parse_action(text)
    except contracts.ActionParseError as error:
        str(error)


def normalizations(text: str, chance: random.Random) -> None:  # noqa: ARG001
    """The contract of normalization has an answer for every text."""
    contracts.detect_normalization_failure(text)


def signals(text: str, chance: random.Random) -> None:
    """The contract of signals has an answer for every text."""
    contracts.detect_meta_signal(text, contracts.DetectionConfig(chance.random() < 0.5))


def scratchpads(text: str, chance: random.Random) -> None:
    """The contract of runs has an answer for every scratchpad."""
    contracts.classify_scratchpad_grammar(text)
    body = {"scratchpad": text, "iterations": chance.randint(-1, 9), "reason": text[:20]}
    contracts.classify_termination(body)
    contracts.classify_iteration_bound(body, chance.randint(0, 5))


def logs(text: str, chance: random.Random) -> None:  # noqa: ARG001
    """A ReAct log is a trace that is classified, redacted, written and read back."""
    _checked(Trace.from_react_log(text))


def files(text: str, chance: random.Random) -> None:
    """A file of any content in any format is traces, or is skipped with a word."""
    content = chance.choice(
        (
            text,
            json.dumps(grammar.conversation(chance)),
            "\n".join(json.dumps(grammar.conversation(chance)) for _ in range(3)) + text,
        )
    ).encode("utf-8", "surrogatepass")
    for trace in load_traces(content, chance.choice((None, *FORMATS))):
        _checked(trace)


def lines(text: str, chance: random.Random) -> None:
    """A line of our own format is a trace, or an error of the format."""
    try:
        Trace.from_json(text)
        Trace.from_json(json.dumps({"version": 1, "steps": [], "answer": text}))
        Trace.from_data({"version": 1, "steps": grammar.value(chance)})
    except TraceFormatError as error:
        assert "\x1b" not in str(error), error


def secrets(text: str, chance: random.Random) -> None:
    """Redaction is final, and takes places along."""
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once, (once, REDACTOR.text(once))
    redact_secrets(Trace([Step(text, turn=read_turn(text))], metadata={"x": grammar.value(chance)}))


def _checked(trace: Trace) -> None:
    classify_trace(trace)
    written = redact_secrets(trace).to_json()
    assert Trace.from_json(written).to_json() == written


def same(one: Any, other: Any) -> None:
    """Compare by what is written: values that are not a number are not equal to themselves."""
    assert one == other or repr(one) == repr(other), (one, other)


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        *(turns, responses, streams, fast, spellings, values, actions, normalizations),
        *(signals, scratchpads, logs, files, lines, secrets),
    )
}
