"""Cases in which a call must not be made, must not be changed, or must be made all the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.reading.forms import ANSWERS, FORMS, pythonic
from benchmarks.reading.framings import MEANT, SHOWN
from benchmarks.reading.markup import unescaped
from benchmarks.reading.offered import Call, Parameter, Tool, string_tool, tool
from benchmarks.reading.scoring import Reading, made, same_calls
from benchmarks.reading.values import NAMES, TEXTS, TYPED

TOOLS = [
    string_tool("search_notes", "query"),
    string_tool("close_account", "customer"),
    string_tool("post_note", "body"),
]
CLOSE = Call("close_account", {"customer": "K-2041"})
YARDSTICKS = ("shown", "inside", "named", "values", "meant")
FRAMED = (
    "ReAct, JSON input",
    "ReAct, Python call",
    "contract JSON",
    "name and arguments",
    "OpenAI function_call",
    "action and action_input",
    "Python list",
    "Hermes",
    "Qwen Coder",
    "function with JSON",
    "invoke",
    "GLM",
    "Mistral",
    "DeepSeek V3.1",
    "Kimi",
    "FunctionGemma",
    "Llama",
)
RAW = ("Qwen Coder", "invoke", "GLM", "FunctionGemma")
"""Forms whose values nothing escapes."""
CARRIERS = (*FRAMED, "OpenAI message", "Cohere", "Granite", "Harmony", "Gemma 4")
_SPELLABLE = ("contract JSON", "name and arguments", "Hermes", "ReAct, JSON input", "Mistral")


class Probe(NamedTuple):
    """A text, and the judge of what was read from it."""

    yardstick: str
    name: str
    text: str
    tools: list[Tool]
    right: Callable[[Reading], bool]


def probes() -> Iterator[Probe]:
    """Yield the cases of all yardsticks."""
    yield from _framed("shown", SHOWN, _none)
    yield from _framed("meant", MEANT, lambda got: same_calls([CLOSE], got.calls))
    yield from _inside()
    yield from _named()
    yield from _values()


def _none(got: Reading) -> bool:
    return not made(got, TOOLS)


def written(form: str, call: Call) -> str:
    """Write a call in a form, without a thought before it."""
    if form == "bare Python call":
        return pythonic(call)
    text = FORMS[form].write([call], random.Random(0))
    return text.split("\n", 1)[1] if text.startswith("Thought") else text


def _framed(
    yardstick: str, frames: dict[str, str], right: Callable[[Reading], bool]
) -> Iterator[Probe]:
    for form in (*FRAMED, "XML agent", "bare Python call"):
        call = _plain_close() if form == "XML agent" else written(form, CLOSE)
        for name, frame in frames.items():
            text = frame.replace("{call}", call)
            yield Probe(yardstick, f"{name} / {form}", text, TOOLS, right)


def _plain_close() -> str:
    return "<tool>close_account</tool><tool_input>K-2041</tool_input>"


def _inside() -> Iterator[Probe]:
    """Yield calls that carry another call, and answers that do."""
    for form in (*CARRIERS, "bare Python call"):
        for inner in (*FRAMED, "bare Python call"):
            call = Call("post_note", {"body": written(inner, CLOSE)})
            if _carries(form, call):
                name = f"{inner} in {form}"
                yield Probe("inside", name, written(form, call), TOOLS, _only(call, TOOLS))
    for form in ("contract answer", "contract question", "JSON Final Answer"):
        for inner in FRAMED:
            text = ANSWERS[form](written(inner, CLOSE), random.Random(0))
            yield Probe("inside", f"{inner} in {form}", text, TOOLS, _none)


def _named() -> Iterator[Probe]:
    for name in NAMES:
        call = Call(name, CLOSE.arguments)
        forms = [*_SPELLABLE, "invoke"]
        if name.replace(".", "").isidentifier():
            forms += ["Python list", "Qwen Coder", "DeepSeek V3.1", "Kimi", "FunctionGemma"]
        for form in forms:
            yield Probe("named", f"{name} / {form}", written(form, call), TOOLS, _none)


def _values() -> Iterator[Probe]:
    for kind, value in (*(("string", text) for text in TEXTS), *TYPED):
        call = Call("post_note", {"body": value})
        tools = [*TOOLS[:2], tool("post_note", {"body": Parameter({"type": kind}, ())})]
        for form in (*CARRIERS, "bare Python call"):
            if _carries(form, call):
                name = f"{value!r} / {form}"
                yield Probe("values", name, written(form, call), tools, _only(call, tools))


def _carries(form: str, call: Call) -> bool:
    """Tell whether a form says for sure where the value begins and ends."""
    value: Any = call.arguments["body"]
    if form in {"FunctionGemma", "Gemma 4"}:
        return isinstance(value, str) and not {"<escape>", '<|"|>'} & _marks(value)
    return form not in RAW or (isinstance(value, str) and bool(value) and unescaped(call))


def _marks(text: str) -> set[str]:
    return {mark for mark in ("<escape>", '<|"|>') if mark in text}


def _only(call: Call, tools: list[Tool]) -> Callable[[Reading], bool]:
    """Return a judge that takes this very call or none."""
    return lambda got: not made(got, tools) or same_calls([call], got.calls)
