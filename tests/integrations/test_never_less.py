"""Never less than native: what the frameworks' own parsers read, the reader reads alike.

Five parsers are asked: LangChain's for ReAct, JSON, structured chat and XML, and LlamaIndex's for
ReAct. Whatever one of them takes for a call of a tool on offer, or for an answer, `read_turn` must
take for the same; it may read more. Same means:

- the same tool; an object equals the same object written as text; a plain text equals the one text
  that the tool takes; `"2"` equals 2; an optional argument that is null equals one left out; quotes
  or backticks around a whole text, and blanks at its ends, do not count;
- the same answer but for blanks at its ends.

Where two of them read one text differently, one of them is wrong, and ours reads like either.
Where a native reading is a defect that we do not follow, `DEFECTS` says which and why.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain_classic")
pytest.importorskip("llama_index.core")

import dirtyjson  # type: ignore[import-untyped] # LlamaIndex needs it
from langchain_classic.agents.output_parsers import (
    JSONAgentOutputParser,
    ReActSingleInputOutputParser,
    XMLAgentOutputParser,
)
from langchain_classic.agents.structured_chat.output_parser import StructuredChatOutputParser
from langchain_core.agents import AgentFinish
from llama_index.core.agent.react.output_parser import ReActOutputParser, extract_tool_use
from llama_index.core.agent.react.types import ActionReasoningStep, ResponseReasoningStep

from loopmend import FinalAnswer, ToolCall, Turn, read_turn

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]
Shape = Callable[[Any], str]
CORPUS = Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus" / "outputs"


def tool(name: str, required: Sequence[str], **properties: Any) -> dict[str, Any]:
    """Describe a tool."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [
    tool("search", ["query"], query={"type": "string"}),
    tool("multiply", ["a", "b"], a={"type": "integer"}, b={"type": "integer"}),
    tool("get_time", []),
    tool(
        *("weather", ["city"]),
        city={"type": "string"},
        unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    ),
]
SCHEMAS: dict[str, dict[str, Any]] = {
    each["function"]["name"]: each["function"]["parameters"] for each in TOOLS
}


# What the native parsers read.


@dataclass(frozen=True)
class Reading:
    """What a native parser made of a text: a call, or an answer if there is no tool."""

    parser: str
    tool: str | None
    given: Any
    """The arguments as an object or text, or the answer."""

    def __str__(self) -> str:
        what = "answer" if self.tool is None else f"call of {self.tool} with"
        return f"{self.parser}: {what} {self.given!r}"


LANGCHAIN = {
    "ReActSingleInput": ReActSingleInputOutputParser(),
    "JSONAgent": JSONAgentOutputParser(),
    "StructuredChat": StructuredChatOutputParser(),
    "XMLAgent": XMLAgentOutputParser(),
}
LLAMA_INDEX = ReActOutputParser()


def of_langchain(name: str, text: str) -> Reading | None:
    """Read with one of LangChain's parsers."""
    if name == "JSONAgent" and '"action"' not in text:
        return None  # it cannot read this, and takes quadratic time to find out
    try:
        read = LANGCHAIN[name].parse(text)
    except ValueError:
        return None
    if isinstance(read, AgentFinish):
        return Reading(name, None, read.return_values["output"])
    return Reading(name, read.tool, read.tool_input)


def of_llama_index(text: str) -> Reading | None:
    """Read with LlamaIndex's parser."""
    try:
        read = LLAMA_INDEX.parse(text)
    except (ValueError, AttributeError):  # the latter where the thought is empty
        return None
    if isinstance(read, ActionReasoningStep):
        return Reading("LlamaIndex", read.action, plain(read.action_input))
    assert isinstance(read, ResponseReasoningStep)
    return Reading("LlamaIndex", None, read.response)


def plain(value: Any) -> Any:
    """Turn what dirtyjson returns into dicts and lists."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def natives(text: str) -> list[Reading]:
    """Return all readings of a text that are an answer or a call of a tool by its very name."""
    found = [*(of_langchain(name, text) for name in LANGCHAIN), of_llama_index(text)]
    return [each for each in found if each and (each.tool is None or each.tool in SCHEMAS)]


# What counts as the same.


def bare(text: str) -> str:
    """Take off blanks, and quotes or backticks around the whole text."""
    inner = text.strip().strip('"')  # as LangChain does, whether or not they are a pair
    if len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "'`":
        inner = inner[1:-1]
    return inner if inner == text else bare(inner)


def unfenced(text: str) -> str:
    """Take off a fence around the whole text."""
    found = re.fullmatch(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", text, re.DOTALL)
    return found[1] if found else text.strip()


def decoded(text: str) -> Any:
    """Return the object that a text is, or `None`."""
    text = unfenced(text)
    if not text.startswith("{"):
        return None
    for decode in (lambda t: json.loads(t, strict=False), ast.literal_eval, dirtyjson.loads):
        try:
            value = decode(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, dict):
            return plain(value)
    return None


def arguments_of(name: str, given: Any) -> dict[str, Any] | None:
    """Return the arguments by name, or `None` for a text that the tool has no place for."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        return None
    value = decoded(given)
    if value is not None:
        return dict(value)
    schema = SCHEMAS[name]
    if not schema["properties"]:
        return {} if bare(given).lower() in ("", "none", "null", "n/a") else None
    single = schema["required"]
    texts = len(single) == 1 and schema["properties"][single[0]]["type"] == "string"
    return {single[0]: given} if texts and bare(given) else None


def same_value(one: Any, other: Any) -> bool:
    """Tell whether two values of an argument are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (str, int, float)) and isinstance(other, (str, int, float)):
        return one == other or bare(str(one)) == bare(str(other))
    return bool(one == other)


def same_arguments(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two calls carry the same."""
    one, other = ({k: v for k, v in each.items() if v is not None} for each in (one, other))
    return same_value(one, other)


def same_answer(native: Any, ours: str) -> bool:
    """Tell whether two answers are the same; one that is no text equals its JSON."""
    if isinstance(native, str):
        return native.strip() == ours.strip()
    try:
        return same_value(json.loads(ours), native)
    except ValueError:
        return ours.strip() == str(native)


def unix(given: Any) -> Any:
    """Return text with the line ends that the reader gives it: CRLF is the transport's."""
    return given.replace("\r\n", "\n") if isinstance(given, str) else given


def alike(reading: Reading, turn: Turn) -> bool:
    """Tell whether the reader read the same."""
    if turn.failure is not None or len(turn.actions) != 1:
        return False
    action = turn.actions[0]
    if reading.tool is None:
        return isinstance(action, FinalAnswer) and same_answer(reading.given, action.content)
    if not isinstance(action, ToolCall) or action.name != reading.tool:
        return False
    wanted = arguments_of(reading.tool, unix(reading.given))
    got = arguments_of(reading.tool, action.arguments)
    return wanted is not None and got is not None and same_arguments(wanted, got)


# Where a native reading is a defect.

HEADER = re.compile(
    r"(?:^|(?<=\s))"
    r"(?:Thought|Action(?:\s*\d*\s*Input)?|Observation|Question|(?:Final )?Answer)\s*\d*\s*:"
)
FORM = re.compile(
    HEADER.pattern + r"|</?(?:tool|tool_input|final_answer)>|\"(?:action(?:_input)?|arguments)\""
)
ACTION = re.compile(r"\bAction\s*\d*\s*(?:Input\s*\d*\s*)?:|\"action\":|<tool>")
INPUT = re.compile(r"\bAction\s*\d*\s*Input\s*\d*\s*:")
ANSWER = re.compile(r"\bAnswer\s*:|<final_answer>|\"Final Answer\"")
NAMED = re.compile(r"\bAction\s*\d*\s*:|[\"']action[\"']\s*:|<tool>", re.IGNORECASE)
OBSERVATION = re.compile(r"\bObservation\s*\d*\s*:|<observation>")
OF_A_SENTENCE = re.compile(
    r"(?:\b(?:the|a|an|my|your|this|that|its|no|of|with|as|like|say|write|give|called)\s+|[\"'`*(])"
    r"(?:[Ff]inal )?[Aa]nswer\s*:\s*\Z"
)
SHOWN = re.compile(
    r"\b(?:for example|e\.g\.|such as|looks? like|would|do not|don't|will not|won't)\b"
    r"|\b(?:says|said|contains|ran)\b",
    re.IGNORECASE,
)
PLAN = re.compile(r"\b(?:I (?:need|have|want) to|I will|I'll|I should|[Ll]et me|use a tool\?)")


def outside(text: str, reading: Reading) -> str:
    """Return the text without the texts that a call carries: headers in those are no headers."""
    given = arguments_of(reading.tool, reading.given) if reading.tool else None
    for value in (given or {}).values():
        if isinstance(value, str) and value.strip():
            text = text.replace(value, "").replace(json.dumps(value), "")
    return text


def takes_the_form_for_the_answer(text: str, reading: Reading) -> bool:
    """Without its own form a parser answers with the whole text, though that holds another form."""
    whole = isinstance(reading.given, str) and reading.given.strip() == text.strip()
    return reading.tool is None and whole and FORM.search(text) is not None


def takes_a_plan_for_the_answer(text: str, reading: Reading) -> bool:
    """Without its own form a parser answers with the whole text, though that only tells a plan."""
    whole = isinstance(reading.given, str) and reading.given.strip() == text.strip()
    return reading.tool is None and whole and PLAN.search(text) is not None


def takes_what_follows(text: str, reading: Reading) -> bool:
    """An input or an answer runs to the end of the text; LlamaIndex's starts at any later brace.

    So an observation, a thought or another action becomes a part of what the tool or user is given.
    """
    if reading.parser == "LlamaIndex" and reading.tool is not None:
        parts = re.search(
            r"^[ \t]*Action:(.*?)\nAction Input:([^{]*)", text, re.DOTALL | re.MULTILINE
        )
        return parts is not None and HEADER.search(" ".join(parts.groups())) is not None
    given = reading.given if isinstance(reading.given, str) else ""
    return reading.parser in ("LlamaIndex", "ReActSingleInput") and bool(HEADER.search(given))


def drops_an_action(text: str, reading: Reading) -> bool:
    """Of several actions that stand side by side only one is read, and nobody is told."""
    told = OBSERVATION.split(outside(text, reading))[0]
    start = r"(?<!\S)" if reading.parser == "ReActSingleInput" else r"^[ \t]*"
    marks = (start + r"Action\s*\d*\s*:", start + r"Action\s*\d*\s*Input\b", r"\"action\":")
    several = any(len(re.findall(mark, told, re.MULTILINE)) > 1 for mark in marks)
    return reading.tool is not None and several


def picks_one_of_several_answers(text: str, reading: Reading) -> bool:
    """LangChain takes the last answer, which is that to a next question if one is made up.

    LlamaIndex takes the first one after a thought, with all others in it, and forgets one before
    the thought. One that is only said again is read; a header in the middle of an answer's line is
    a part of that answer.
    """
    marks = [*HEADER.finditer(text), None]
    starts = [m for m in marks if m and "Answer" in m[0] and is_line_start(text, m.start())]
    said = [
        (mark.start(), text[mark.end() : after.start() if after else len(text)].strip())
        for mark, after in pairwise(marks)
        if mark and "Answer" in mark[0] and (not starts or mark.start() >= starts[0].start())
    ]
    inside = bool(starts) and any(not is_line_start(text, at) for at, _ in said)
    parted = any(
        mark and "Answer" not in mark[0] and said and said[0][0] < mark.start() < said[-1][0]
        for mark in marks
    )
    several = parted or len({answer for _, answer in said}) > 1
    return reading.tool is None and (inside or several)


def is_line_start(text: str, at: int) -> bool:
    """Tell whether only blanks stand before a place in its line."""
    return not text[:at].rpartition("\n")[2].strip()


def picks_the_action_or_the_answer(text: str, reading: Reading) -> bool:
    """An action and an answer in one turn: one is picked by its place, or an answer's line is run.

    Which one is meant nobody can tell, so `ReadingConfig.action_and_answer` decides. An action that
    an observation parts from the answer is read.
    """
    text = outside(text, reading)
    action, answer = ACTION.search(text), ANSWER.search(text)
    if action is None or answer is None:
        return False
    first, second = sorted((action.start(), answer.start()))
    parted = OBSERVATION.search(text[first:second]) is not None
    as_json = reading.parser in ("JSONAgent", "StructuredChat") and reading.tool is None
    return not as_json and not (parted and action.start() < answer.start())


def believes_an_observation(text: str, reading: Reading) -> bool:
    """What stands in or after an observation that the model made up is read as if it were true."""
    made_up = OBSERVATION.search(text)
    if made_up is None:
        return False
    start = (ANSWER if reading.tool is None else NAMED).search(text)
    return start is None or start.start() > made_up.start()


def makes_a_call_that_is_only_shown(text: str, reading: Reading) -> bool:
    """A call in a fence is made, though the words before it say that it is only an example."""
    start = ACTION.search(text)
    return reading.tool is not None and bool(start and SHOWN.search(text[: start.start()]))


def answers_with_nothing(text: str, reading: Reading) -> bool:
    """Where nothing is said, or nothing after the header, the answer is empty; we ask again."""
    return reading.tool is None and not str(reading.given).strip()


def takes_a_sentence_for_the_answer(text: str, reading: Reading) -> bool:
    """`Answer:` counts wherever it stands, even as the object of a sentence or in quotes."""
    given = str(reading.given).strip()
    before = text.strip().removesuffix(given) if reading.tool is None else ""
    return OF_A_SENTENCE.search(before) is not None


def takes_a_word_for_the_tool(text: str, reading: Reading) -> bool:
    """LlamaIndex takes the first word of the action's line for the tool, whatever else it says.

    A note in brackets is fine; `search nothing` is no name of a tool on offer.
    """
    if reading.parser != "LlamaIndex" or reading.tool is None:
        return False
    line = re.search(rf"^[ \t]*Action: {re.escape(reading.tool)}\b(.*)$", text, re.MULTILINE)
    return line is not None and not re.fullmatch(r"\s*(?:\(.*\))?\s*", line[1])


def unescapes_its_own_tags(text: str, reading: Reading) -> bool:
    """LangChain's XML agent turns `[[tool]]` into a tag; here values arrive as they are written."""
    return reading.parser == "XMLAgent" and "[[" in text


def does_not_fit(text: str, reading: Reading) -> bool:
    """No native parser knows the tools: a required argument may be missing, or be no such value."""
    if reading.tool is None:
        return False
    schema, given = SCHEMAS[reading.tool], arguments_of(reading.tool, reading.given)
    if given is None or any(given.get(name) is None for name in schema["required"]):
        return True
    return any(
        not fits(value, schema["properties"][name])
        for name, value in given.items()
        if value is not None and name in schema["properties"]
    )


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Tell whether a value is what a parameter takes, a number in quotes included."""
    if isinstance(value, (dict, list, bool)):
        return False
    if schema["type"] == "integer":
        return re.fullmatch(r"\s*[-+]?\d+(?:\.0+)?\s*", str(value)) is not None
    return "enum" not in schema or value in schema["enum"]


def completes_what_is_cut_off(text: str, reading: Reading) -> bool:
    """LangChain closes what is open and drops what it cannot read: nobody asked for that call."""
    start = text.find("{")
    if reading.parser != "JSONAgent" or start < 0:
        return False
    raw = re.sub(r"[\n\r\t]", " ", text[start:])
    try:
        json.JSONDecoder().raw_decode(raw)
    except ValueError:
        return True
    return False


def loses_arguments(text: str, reading: Reading) -> bool:
    """Where dirtyjson gives up, LlamaIndex keeps pairs of texts and drops all other arguments."""
    if reading.parser != "LlamaIndex" or reading.tool is None:
        return False
    try:
        dirtyjson.loads(extract_tool_use(text)[2])
    except ValueError:
        return True
    return False


DEFECTS: tuple[Callable[[str, Reading], bool], ...] = (
    takes_the_form_for_the_answer,
    takes_a_plan_for_the_answer,
    takes_what_follows,
    drops_an_action,
    picks_one_of_several_answers,
    picks_the_action_or_the_answer,
    believes_an_observation,
    makes_a_call_that_is_only_shown,
    answers_with_nothing,
    takes_a_sentence_for_the_answer,
    takes_a_word_for_the_tool,
    unescapes_its_own_tags,
    does_not_fit,
    completes_what_is_cut_off,
    loses_arguments,
)
"""The native readings that we do not follow."""


def owed(text: str) -> list[Reading]:
    """Return the native readings of a text that are none of the defects."""
    return [each for each in natives(text) if not any(defect(text, each) for defect in DEFECTS)]


def complaint(text: str) -> str | None:
    """Say what a native parser reads and we do not, or nothing."""
    readings = owed(text)
    turn = read_turn(text, tools=TOOLS)
    if not readings or any(alike(each, turn) for each in readings):
        return None
    got = turn.failure or turn.actions
    return "\n".join([f"text {text!r}", *(f"  {each}" for each in readings), f"  ours: {got}"])


# What texts are made of.

THOUGHTS = (
    "I need to look this up.",
    "Do I need to use a tool? Yes",
    "I have to find two things:\n1. the capital\n2. its population",
    'The user asks "how far is it?" and means Oslo.',
    "At 10:30 the ratio was 3:2, so step 1 comes first.",
    "First I thought of something else.\n\nNow I know what to do.",
    "It's about the user's own words: 'as soon as possible'.",
    "The next action is clear, and its input is too.",
    "The answer may be 42, but I have to check.",
    "`multiply` and `search` are at hand; one of them will do.",
    "我需要先查一下。",
    "Step 2 of 3 (see above) - let me go on!",
)
QUERIES = (
    "Oslo",
    "capital of Norway",
    "what is 2 + 2?",
    'the "best" pizza in town',
    "price: 10 EUR",
    "https://example.org/a?b=c&d=e#f",
    "42",
    "-3.5",
    "007",
    "null",
    "it's raining, isn't it",
    "C:\\new\\table",
    "naïve café 東京 🎉",
    "SELECT name FROM towns\nWHERE size > 10;",
    "def f(x):\n    return {x: 1}\n\nprint(f(2))",
    "```python\nprint('hi')\n```",
    "a & b < c &amp; d",
    "[1, 2, 3]",
    "** plain text",
    "one, two, three",
    "key=value",
    "the final answer to everything",
    "name (1996) [film]",
)
CITIES = ("Oslo", "New York, NY", "São Paulo", "St. John's", "Washington (state)")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("search", {"query": query}) for query in QUERIES),
    ("multiply", {"a": 3, "b": 4}),
    ("multiply", {"a": -20, "b": 0}),
    ("multiply", {"b": 12345678901, "a": 1}),
    ("get_time", {}),
    *(("weather", {"city": city}) for city in CITIES),
    ("weather", {"city": "Oslo", "unit": "celsius"}),
    ("weather", {"unit": "fahrenheit", "city": "New York, NY"}),
)
ANSWERS = (
    "4",
    "Oslo",
    "The capital of Norway is Oslo.",
    "I don't know.",
    "Steps:\n1. Mix.\n2. Bake at 200 °C.\n\nEnjoy!",
    "- one: 1\n- two: 2\n- three: 3",
    "The ratio is 3:2, as of 10:30.",
    'She said "no", and that was that.',
    "**Oslo** has 700,000 inhabitants.",
    "Use this:\n\n```python\nprint({'a': 1})\n```\n\nIt prints a dict.",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "See https://example.org/a?b=c for more.",
    '{"capital": "Oslo", "size": 3}',
    "Norway's capital is 奥斯陆. 🎉",
    "Note: this is a guess.\n\nSource: my memory.",
    "x < 3 and y > 4",
    "First paragraph.\n\n\nSecond paragraph: with a colon.",
    'As JSON:\n```json\n{"a": [1, 2]}\n```',
    'Run `search(query="Oslo")` to see it yourself.',
)
SPOKEN = (
    *("what does Final Answer: mean", "Action: search", "Thought: hm\nAction: x\nAction Input: y"),
    *("the Answer: 4", "Observation: 4\nFinal Answer: 4", "<tool>x</tool>", "{action}"),
)
PROSE = (
    *("I am sorry, but I cannot help with that.", "Hello! What can I do for you?"),
    *("Oslo is the capital of Norway.", "The result is 12.", "Yes.", "3 + 4 = 7"),
    *(answer for answer in ANSWERS if not answer.startswith("{")),
)


def spaced(pick: Pick[str], *lines: str) -> str:
    """Join lines with one or more line breaks, and perhaps end with some."""
    joined = lines[0]
    for line in lines[1:]:
        joined += pick(["\n", "\n", "\n", "\n\n", " \n", "\n\n\n"]) + line
    return joined + pick(["", "", "\n", "\n\n", " "])


def text_input(pick: Pick[Any]) -> tuple[str, str]:
    """Pick a call with one text, and write the text as it is or in quotes."""
    name, arguments = pick([c for c in CALLS if c[0] in ("search", "weather") and len(c[1]) == 1])
    (text,) = arguments.values()
    return name, pick([text, text, f'"{text}"'])


def object_input(pick: Pick[Any]) -> tuple[str, str]:
    """Pick a call, and write its arguments as JSON."""
    name, arguments = pick(CALLS)
    written = json.dumps(arguments, ensure_ascii=pick([True, False]), indent=pick([None, None, 2]))
    return name, written


def loose_input(pick: Pick[Any]) -> tuple[str, str]:
    """Pick a call, and write its arguments as models do: single quotes, comments, loose commas."""
    name, arguments = pick([call for call in CALLS if call[1] and "\\" not in str(call[1])])
    written = json.dumps(arguments, ensure_ascii=False)
    styles = [
        repr(arguments),
        written[:-1] + ",}",
        re.sub(r'"(\w+)":', r"\1:", written),
        f"```json\n{written}\n```",
        f"```\n{written}\n```",
        written.replace(", ", ",  /* and */ ", 1) if len(arguments) > 1 else written,
        json.dumps({key: str(value) for key, value in arguments.items()}),
        json.dumps({**arguments, **({"unit": None} if name == "weather" else {})}),
    ]
    return name, pick(styles)


def no_input(pick: Pick[Any]) -> tuple[str, str]:
    """Pick what models write where nothing is to be given."""
    return "get_time", pick(["", "{}", "None", "null", "N/A"])


def any_input(pick: Pick[Any]) -> tuple[str, str]:
    """Pick a call, its input written in any way."""
    way = pick([text_input, text_input, object_input, object_input, loose_input])
    name, written = way(pick)
    return str(name), str(written)


def line(pick: Pick[str]) -> str:
    """Pick a thought of one line."""
    return pick([thought for thought in THOUGHTS if "\n" not in thought])


def ended(pick: Pick[str]) -> str:
    """Pick a thought of one line that is a whole sentence."""
    return pick([t for t in THOUGHTS if "\n" not in t and t[-1] in ".!?。"])


# ReAct's form, as LangChain and LlamaIndex ask for it.


def react(
    pick: Any, thought: str = "Thought:", action: str = "Action:", given: str = "Action Input:"
) -> str:
    """Write a thought, an action and its input, each after its header."""
    name, written = any_input(pick)
    said = pick(["", *THOUGHTS])
    return spaced(pick, f"{thought} {said}", f"{action} {name}", f"{given} {written}")


def react_of(way: Callable[[Any], tuple[str, str]]) -> Shape:
    """Write a call whose input is written in one way."""

    def shape(pick: Any) -> str:
        name, written = way(pick)
        return f"Thought: {pick(THOUGHTS)}\nAction: {name}\nAction Input: {written}"

    return shape


def react_numbered(pick: Any) -> str:
    """Number the headers in one of the ways that LangChain knows."""
    number = pick([1, 2, 10])
    given = pick(["Action Input {}:", "Action {} Input:", "Action {} Input {}:", "Action Input:"])
    return react(pick, f"Thought {number}:", f"Action {number}:", given.replace("{}", str(number)))


def react_colons(pick: Any) -> str:
    """Put blanks before the colons."""
    return react(pick, pick(["Thought :", "Thought:"]), "Action :", pick(["Action Input :"]))


def react_tight(pick: Any) -> str:
    """Leave the blanks after the colons out."""
    name, written = any_input(pick)
    given = pick(["Action Input:", "ActionInput:"])
    return f"Thought:{pick(THOUGHTS)}\nAction:{name}\n{given}{written}"


def react_own_lines(pick: Any) -> str:
    """Write each thing on the line after its header."""
    name, written = any_input(pick)
    return f"Thought:\n{pick(THOUGHTS)}\nAction:\n{name}\nAction Input:\n{written}"


def react_indented(pick: Any) -> str:
    """Indent the headers."""
    name, written = any_input(pick)
    return f"\n    Thought: {line(pick)}\n    Action: {name}\n    Action Input: {written}\n    "


def react_crlf(pick: Any) -> str:
    """End lines as on Windows."""
    return react(pick).replace("\n", "\r\n")


def react_bare(pick: Any) -> str:
    """Leave the thought out, or its header."""
    name, written = any_input(pick)
    lead = pick(["", "", "\n", f"{pick(THOUGHTS)}\n", f"{pick(THOUGHTS)}\n\n", "Thought:\n"])
    return f"{lead}Action: {name}\nAction Input: {written}"


def react_two_thoughts(pick: Any) -> str:
    """Think twice, or repeat the question first."""
    name, written = any_input(pick)
    lead = pick(["Thought: {}\nThought: {}", "Question: how far is it?\nThought: {}{}"])
    said = lead.replace("{}", line(pick), 1).replace("{}", pick(["", line(pick)]))
    return f"{said}\nAction: {name}\nAction Input: {written}"


def react_header_only(pick: Any) -> str:
    """Go on right after `Thought:`, as the standard prompt makes models do."""
    name, written = any_input(pick)
    return f"Thought: Action: {name}\nAction Input: {written}"


def react_after_a_sentence(pick: Any) -> str:
    """Start the action in the line of the thought, after a whole sentence."""
    name, written = any_input(pick)
    lead, gap = pick(["Thought: ", ""]), pick(["\n", " "])
    return f"{lead}{ended(pick)} Action: {name}{gap}Action Input: {written}"


def react_in_a_line(pick: Any) -> str:
    """Start the action in the line of the thought, though that has no end."""
    name, written = any_input(pick)
    lead = pick(["I should search", "Thought: I should look it up", "Thought: Let me see:", "So"])
    return f"{lead} Action: {name}{pick([' ', chr(10)])}Action Input: {written}"


def react_noted(pick: Any) -> str:
    """Add what LlamaIndex's own tests add: a note at the name, a name or words at the object."""
    name, written = object_input(pick)
    action = pick([name, f"{name} (the best tool)", f"{name}({pick(['', 'query', '...'])})"])
    given = pick(["{}", "{}, along those lines.", name + "({})", "Tool({})", "{} "])
    return f"Thought: {line(pick)}\nAction: {action}\nAction Input: {given.replace('{}', written)}"


def react_headers_in_a_thought(pick: Any) -> str:
    """Speak of the headers in the thought."""
    name, written = object_input(pick)
    said = pick(["The Action: line comes next.", "I have to write Action: and Action Input: now."])
    return f"Thought: {said}\nAction: {name}\nAction Input: {written}"


def react_headers_in_a_value(pick: Any) -> str:
    """Put headers into what the tool is given."""
    name, key = pick([("search", "query"), ("weather", "city")])
    given = json.dumps({key: pick(SPOKEN)})
    return f"Thought: {line(pick)}\nAction: {name}\nAction Input: {given}"


def react_after_thinking(pick: Any) -> str:
    """Think in tags before the form."""
    return f"<think>\n{pick(THOUGHTS)}\n</think>\n{pick(['', chr(10)])}{react(pick)}"


def react_observed(pick: Any) -> str:
    """Go on with an observation that nobody made."""
    name, written = object_input(pick)
    more = pick(["", "\nThought: I know.\nAnswer: 4", "\nThought: I know.\nFinal Answer: 4"])
    seen = pick(["4", '{"result": 4}', "not found"])
    lead = f"Thought: {line(pick)}\nAction: {name}\nAction Input: {written}"
    return f"{lead}\nObservation: {seen}{more}"


def react_extra(pick: Any) -> str:
    """Give an argument that the tool does not know beside all that it needs."""
    name, arguments = pick(CALLS)
    given = json.dumps({**arguments, pick(["limit", "lang"]): pick([5, "en"])})
    return f"Thought: {line(pick)}\nAction: {name}\nAction Input: {given}"


def react_lines(pick: Any) -> str:
    """Throw lines of the form together."""
    name, written = any_input(pick)
    pool = [
        f"Thought: {line(pick)}",
        *(f"Action: {name}", f"Action Input: {written}"),
        *(f"Final Answer: {pick(ANSWERS)}", f"Answer: {pick(ANSWERS)}"),
        *(f"Observation: {pick(ANSWERS)}", line(pick), ""),
    ]
    lines = [str(pick(pool)) for _ in range(pick([1, 2, 3, 4]))]
    return str(pick(["\n", "\n", "\n", " "]).join([*lines, str(pick(pool[:5]))]))


ANSWER_PATTERNS = {
    "final": "Thought: {t}\nFinal Answer: {a}",
    "final, alone": "Final Answer: {a}",
    "final, blank lines": "\nThought: {t}\n\nFinal Answer:\n\n{a}",
    "final, tight": "Thought:{t}\nFinal Answer:{a}",
    "final, after prose": "{t}\nFinal Answer: {a}",
    "final, own line": "Thought: {t}\nFinal Answer:\n{a}",
    "final, indented": "    Thought: {t}\n    Final Answer: {a}",
    "final, after a question": "Question: how far?\nThought: {t}\nFinal Answer: {a}",
    "final, two thoughts": "Thought: Hm.\nThought: {t}\nFinal Answer: {a}",
    "final, spoken of": "Thought: I must write the Final Answer: header.\nFinal Answer: {a}",
    "final, twice": "Thought: {t}\nFinal Answer: {a}\nFinal Answer: {a}",
    "final, header only": "Thought: Final Answer: {a}",
    "final, after a sentence": "Thought: I know. Final Answer: {a}",
    "final, after a sentence of prose": "I now know it all. Final Answer: {a}",
    "final, in a line": "Thought: I now know the final answer Final Answer: {a}",
    "final, in a line of prose": "So Final Answer: {a}",
    "answer": "Thought: {t}\nAnswer: {a}",
    "answer, blank lines": "Thought: {t}\n\nAnswer:\n{a}",
    "answer, tight": "Thought:{t}\nAnswer:{a}",
    "answer, implicit": "Thought: I can answer without using any more tools. Answer: {a}",
    "answer, header only": "Thought: Answer: {a}",
    "answer, in a line": "Thought: I can answer now Answer: {a}",
    "answer, after prose": "Sure.\nThought: {t}\nAnswer: {a}",
    "answer, two thoughts": "Thought: Hm.\nThought: {t}\nAnswer: {a}",
}


def answer_shape(pattern: str) -> Shape:
    """Write an answer in a pattern."""

    def shape(pick: Any) -> str:
        filled = pattern.replace("{t}", pick(["", *THOUGHTS])).replace("{a}", pick(ANSWERS))
        return str(filled + pick(["", "", "\n", "\n\n", " "]))

    return shape


# JSON, as LangChain's JSON and structured chat agents ask for it.

LEADS = (
    "",
    "\n",
    "I need to look this up.\n",
    "Thought: I need to look this up.\n",
    "Thought: I need to look this up.\nAction:\n",
    "Thought: I need to look this up.\n\nAction:\n\n",
    "Action:\n",
    "Let me do that now:\n\n",
    "I can use the `search` tool to achieve the goal.\n\nAction:\n",
    "Question: how far is it?\nThought: I have to see.\nAction:\n",
    "<think>I need to look this up.</think>\n",
)
FENCES = ("```json\n{}\n```", "```\n{}\n```", "```{}```", "```json\n{}```", "``` \n{}\n```")


def action_object(pick: Any) -> dict[str, Any]:
    """Pick a call as LangChain's agents write it."""
    name, arguments = pick(CALLS)
    given = [arguments, arguments, json.dumps(arguments)]
    if len(arguments) == 1:
        given += [*arguments.values()] * 2
    return {"action": name, "action_input": pick(given)}


def written_as_json(pick: Any, value: Any) -> str:
    """Write a value as JSON."""
    return json.dumps(value, ensure_ascii=pick([True, False]), indent=pick([None, 2, 4]))


def json_bare(pick: Any) -> str:
    """Write nothing but the object."""
    return str(written_as_json(pick, action_object(pick)) + pick(["", "\n", " \n\n"]))


def json_keys(pick: Any) -> str:
    """Write the keys in another order, and others beside them."""
    action = action_object(pick)
    thought = {"thought": pick(THOUGHTS)}
    orders = [
        {"action_input": action["action_input"], "action": action["action"]},
        {**thought, **action},
        {**action, **thought},
    ]
    return written_as_json(pick, pick(orders))


def json_fenced(pick: Any) -> str:
    """Write the object in a fence, after words that lead to it."""
    fence = pick(FENCES).replace("{}", written_as_json(pick, action_object(pick)))
    text = pick(LEADS) + fence + pick(["", "", "\n"])
    return str(text.replace("\n", pick(["\n", "\n", "\n", "\r\n"])))


def json_headers_in_a_value(pick: Any) -> str:
    """Put headers into what the tool is given."""
    text = pick(SPOKEN)
    action = {"action": "search", "action_input": pick([text, {"query": text}])}
    written = written_as_json(pick, action)
    return str(pick([written, f"Thought: Hm.\nAction:\n```json\n{written}\n```"]))


def json_indented(pick: Any) -> str:
    """Indent the whole, as LangChain's own tests do."""
    fence = f"```\n{json.dumps(action_object(pick), indent=2)}\n```\n"
    text = f"I can use the `foo` tool to achieve the goal.\n\nAction:\n{fence}"
    return text.replace("\n", "\n    ")


def json_followed(pick: Any) -> str:
    """Go on after the fence as models do."""
    action = written_as_json(pick, action_object(pick))
    after = pick(["I will wait for the result.", "This will look it up.", "Observation: 4"])
    return f"{pick(LEADS)}```json\n{action}\n```\n{after}"


def json_list(pick: Any) -> str:
    """Write one action in a list."""
    written = written_as_json(pick, [action_object(pick)])
    return str(pick([written, f"```json\n{written}\n```"]))


def json_raw_lines(pick: Any) -> str:
    """Break lines inside a text without escaping them."""
    text = pick(["def f(x):\n    return x", "one\ntwo", "a\tb"])
    written = f'{{"action": "search", "action_input": "{text}"}}'
    return str(pick([written, f"```json\n{written}\n```"]))


def json_no_input(pick: Any) -> str:
    """Leave the input out where nothing is to be given."""
    action = pick([{"action": "get_time"}, {"action": "get_time", "action_input": None}])
    written = written_as_json(pick, action)
    return str(pick([written, f"Action:\n```json\n{written}\n```"]))


def json_answer(pick: Any) -> str:
    """Write an answer as the action that ends it."""
    answer = {"action": "Final Answer", "action_input": pick(ANSWERS)}
    written = written_as_json(pick, answer)
    return str(pick([written, pick(LEADS) + pick(FENCES).replace("{}", written)]))


def json_value_answer(pick: Any) -> str:
    """Write an answer that is no text."""
    value = pick([{"capital": "Oslo"}, ["one", "two"], 4, 2.5, True])
    written = written_as_json(pick, {"action": "Final Answer", "action_input": value})
    return str(pick([written, f"Action:\n```json\n{written}\n```"]))


# XML, as LangChain's XML agent asks for it.


def xml_call(pick: Any) -> str:
    """Write a tool and its input in their tags."""
    name, written = pick([text_input, object_input])(pick)
    lead = pick(["", "", "\n", "I need to look this up.\n", "<thinking>Hm.</thinking>\n"])
    gap = pick(["", "", "\n", " "])
    given = pick([f"<tool_input>{written}</tool_input>", f"<tool_input>\n{written}\n</tool_input>"])
    return f"{lead}<tool>{name}</tool>{gap}{given}{pick(['', chr(10)])}"


def xml_no_input(pick: Any) -> str:
    """Leave the input out where nothing is to be given."""
    given = pick(["", "<tool_input></tool_input>", "<tool_input>{}</tool_input>"])
    return f"<tool>get_time</tool>{given}{pick(['', chr(10)])}"


def xml_answer(pick: Any) -> str:
    """Write an answer in its tags."""
    lead = pick(["", "", "\n", "I know it now.\n", "I know it now. "])
    answer = pick(ANSWERS)
    said = pick([answer, f"\n{answer}\n"])
    return f"{lead}<final_answer>{said}</final_answer>{pick(['', chr(10)])}"


def prose(pick: Any) -> str:
    """Write an answer in no form at all."""
    return str(pick(PROSE) + pick(["", "\n"]))


SHAPES: dict[str, Shape] = {
    "react": react,
    "react, text": react_of(text_input),
    "react, object": react_of(object_input),
    "react, loose object": react_of(loose_input),
    "react, no input": react_of(no_input),
    "react, numbered": react_numbered,
    "react, blanks before colons": react_colons,
    "react, tight": react_tight,
    "react, own lines": react_own_lines,
    "react, indented": react_indented,
    "react, Windows": react_crlf,
    "react, bare": react_bare,
    "react, two thoughts": react_two_thoughts,
    "react, header only": react_header_only,
    "react, after a sentence": react_after_a_sentence,
    "react, in a line": react_in_a_line,
    "react, noted": react_noted,
    "react, headers in a thought": react_headers_in_a_thought,
    "react, headers in a value": react_headers_in_a_value,
    "react, after thinking": react_after_thinking,
    "react, observed": react_observed,
    "react, extra argument": react_extra,
    "react, any lines": react_lines,
    **{name: answer_shape(pattern) for name, pattern in ANSWER_PATTERNS.items()},
    "json": json_bare,
    "json, other keys": json_keys,
    "json, fenced": json_fenced,
    "json, indented": json_indented,
    "json, headers in a value": json_headers_in_a_value,
    "json, followed": json_followed,
    "json, list": json_list,
    "json, raw lines": json_raw_lines,
    "json, no input": json_no_input,
    "json, answer": json_answer,
    "json, answer that is no text": json_value_answer,
    "xml": xml_call,
    "xml, no input": xml_no_input,
    "xml, answer": xml_answer,
    "prose": prose,
}
"""Ways to write a turn in one of the native forms."""


# The claims.


def drawn(shape: Shape, seed: str, count: int) -> Iterator[str]:
    """Write texts of a shape, the same ones each time."""
    pick = random.Random(seed).choice  # noqa: S311 - the same texts each time, nothing secret
    return (shape(pick) for _ in range(count))


def shown(complaints: Iterable[str | None]) -> str:
    """Show the shortest complaints, and how many there are."""
    found = sorted({each for each in complaints if each}, key=len)
    return "\n".join([f"{len(found)} texts are read otherwise", *found[:5]]) if found else ""


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_native_parser_reads(name: str) -> None:
    """What one of the five parsers reads of a text in a native form, the reader reads alike."""
    complaints = shown(complaint(text) for text in drawn(SHAPES[name], name, 60))
    assert not complaints, complaints


FORMS: dict[str, Callable[[str, str], str]] = {
    "react": lambda name, given: f"Thought: Hm.\nAction: {name}\nAction Input: {given}",
    "json": lambda name, given: json.dumps({"action": name, "action_input": given}),
    "structured chat": lambda name, given: (
        "Thought: Hm.\nAction:\n```json\n"
        f"{json.dumps({'action': name, 'action_input': decoded(given) or given}, indent=2)}\n```"
    ),
    "xml": lambda name, given: f"<tool>{name}</tool><tool_input>{given}</tool_input>",
}
"""Each form at its plainest."""
ANSWER_FORMS: dict[str, Callable[[str], str]] = {
    "react": "Thought: Hm.\nFinal Answer: {}".format,
    "react of LlamaIndex": "Thought: Hm.\nAnswer: {}".format,
    "json": lambda answer: json.dumps({"action": "Final Answer", "action_input": answer}),
    "structured chat": lambda answer: (
        "Thought: Hm.\nAction:\n```json\n"
        f"{json.dumps({'action': 'Final Answer', 'action_input': answer}, indent=2)}\n```"
    ),
    "xml": "<final_answer>{}</final_answer>".format,
    "prose": "{}".format,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_input(form: str) -> None:
    """Every input in the plainest form of each parser is read as natively."""
    written = [(name, json.dumps(arguments)) for name, arguments in CALLS]
    written += [(name, repr(arguments)) for name, arguments in CALLS]
    for name, arguments in CALLS:
        if len(arguments) == 1:
            (text,) = arguments.values()
            written += [(name, text), (name, f'"{text}"')]
    texts = [FORMS[form](name, given) for name, given in written]
    assert all(natives(text) for text in texts)
    complaints = shown(map(complaint, texts))
    assert not complaints, complaints


@pytest.mark.parametrize("form", ANSWER_FORMS)
def test_every_answer(form: str) -> None:
    """Every answer in the plainest form of each parser is read as natively."""
    answers = PROSE if form == "prose" else (*ANSWERS, *PROSE)
    texts = [ANSWER_FORMS[form](answer) for answer in answers]
    assert all(owed(text) for text in texts)
    complaints = shown(map(complaint, texts))
    assert not complaints, complaints


@settings(max_examples=300)
@given(st.data())
def test_any_native_form(data: st.DataObject) -> None:
    """No text in any native form is read natively and not, or otherwise, by the reader."""
    shape = data.draw(st.sampled_from(sorted(SHAPES)))
    text = SHAPES[shape](lambda options: data.draw(st.sampled_from(list(options))))
    found = complaint(text)
    assert found is None, found


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "react, any lines"])
def test_the_shapes_are_native(name: str) -> None:
    """Nearly all texts of a shape are read natively and without a defect, so it tests something."""
    texts = [*drawn(SHAPES[name], name, 60)]
    assert sum(bool(owed(text)) for text in texts) >= 0.95 * len(texts)


CUT = '{"action": "search", "action_input": "how far is Os'
FOR_EACH_DEFECT: dict[str, str] = {
    "takes_the_form_for_the_answer": "Action: search\nAction Input: Oslo",
    "takes_a_plan_for_the_answer": "I need to look this up. Let me search for it.",
    "takes_what_follows": "Action: search\nAction Input: Oslo\nObservation: It is in Norway.",
    "drops_an_action": 'Action:\n```json\n[{"action": "search", "action_input": "Oslo"}, '
    '{"action": "search", "action_input": "Rome"}]\n```',
    "picks_one_of_several_answers": "Final Answer: 4\n\nQuestion: And 3 + 3?\nThought: I know.\n"
    "Final Answer: 6",
    "picks_the_action_or_the_answer": "Thought: Hm.\nAction: search\n"
    'Action Input: {"query": "Oslo"}\nAnswer: Oslo is in Norway.',
    "believes_an_observation": "Thought: Hm.\nObservation: The page reads as follows.\n"
    'Action: search\nAction Input: {"query": "Oslo"}',
    "makes_a_call_that_is_only_shown": "An agent that wants to search would say, for example:\n"
    '```json\n{"action": "search", "action_input": "Oslo"}\n```\nThat is all there is to it.',
    "answers_with_nothing": "Thought: I know.\nFinal Answer: ",
    "takes_a_sentence_for_the_answer": "Thought: I do not know the Answer: yet.",
    "takes_a_word_for_the_tool": "Thought: Hm.\nAction: search nothing at all\n"
    'Action Input: {"query": "Oslo"}',
    "unescapes_its_own_tags": "<tool>search</tool><tool_input>[[tool]]x[[/tool]]</tool_input>",
    "does_not_fit": 'Thought: Hm.\nAction: multiply\nAction Input: {"a": 3}',
    "completes_what_is_cut_off": CUT,
    "loses_arguments": "Thought: Hm.\nAction: weather\n"
    'Action Input: {"city": "Oslo", "days": True}',
}
"""A text for each defect that shows it."""


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_each_defect_is_one(defect: Callable[[str, Reading], bool]) -> None:
    """Each defect on the list is still there natively, and the reader does not share it."""
    text = FOR_EACH_DEFECT[defect.__name__]
    readings = [each for each in natives(text) if defect(text, each)]
    assert readings
    turn = read_turn(text, tools=TOOLS)
    assert not any(alike(each, turn) for each in readings), turn


def test_each_defect_says_why() -> None:
    """The list of defects is short, and each says in words what is wrong."""
    assert len(DEFECTS) <= 15
    assert all(defect.__doc__ for defect in DEFECTS)
    assert [defect.__name__ for defect in DEFECTS] == [*FOR_EACH_DEFECT]


# What others collected.


def rows() -> Iterator[dict[str, Any]]:
    """Return the collected outputs that have one call, an answer or no call to expect."""
    for path in sorted(CORPUS.glob("*.jsonl.gz")):
        if path.name.startswith(("json.", "schema.", "bfcl.")):
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (row for row in map(json.loads, lines) if not row.get("unfair"))


def as_expected(row: dict[str, Any], calls: list[tuple[str, Any]] | None, answer: Any) -> bool:
    """Tell whether calls, or an answer, are what a row expects."""
    expected = row["expected"]
    if row.get("must_reject") or expected is None:
        return False
    kind = expected.get("kind") or expected["type"]
    if kind == "no_call":
        return calls is None
    if kind == "final":
        wanted = expected.get("content")
        said = calls is None and isinstance(answer, str)
        return said and (wanted is None or wanted.strip() == answer.strip())
    if kind not in ("tool_call", "tool_calls") or calls is None:
        return False
    wanted_calls = expected.get("calls") or ([expected] if "name" in expected else [])
    if not wanted_calls:
        return True
    if len(wanted_calls) != len(calls):
        return False
    return all(
        want["name"].strip() == name.strip() and same_given(want.get("arguments", {}), given)
        for want, (name, given) in zip(wanted_calls, calls, strict=True)
    )


def same_given(want: Any, got: Any) -> bool:
    """Tell whether two inputs are the same where the tool is not known."""
    one, other = (decoded(each) or each if isinstance(each, str) else each for each in (want, got))
    if isinstance(one, str) != isinstance(other, str):
        text, obj = (one, other) if isinstance(one, str) else (other, one)
        values = list(obj.values()) if isinstance(obj, dict) else []
        return same_value(values[0], text) if len(values) == 1 else not bare(text) and not values
    return same_value(one, other)


def native_readings(text: str) -> Iterator[Reading]:
    """Return what the five parsers read, whatever the tool."""
    found = [*(of_langchain(name, text) for name in LANGCHAIN), of_llama_index(text)]
    return (each for each in found if each is not None)


def test_what_others_collected() -> None:
    """Where a native parser reads a collected output as its row expects, so does the reader."""
    wrong, right = [], 0
    for row in rows():
        theirs = [
            each.parser
            for each in native_readings(row["input"])
            if not takes_the_form_for_the_answer(row["input"], each)
            and as_expected(row, [(each.tool, each.given)] if each.tool else None, each.given)
        ]
        if not theirs:
            continue
        if "[[" in row["input"]:
            continue  # tags that LangChain's XML agent escapes; see `unescapes_its_own_tags`
        turn = read_turn(row["input"], tools=row.get("tools"))
        shown = turn.failure is not None and turn.failure.message.startswith("Unclear whether")
        if shown or row["id"].endswith("case_sensitive_param_name_invalid_v3"):
            continue  # a call that is only shown is asked about; a key's case does not matter
        calls = [(a.name, a.arguments) for a in turn.actions if isinstance(a, ToolCall)]
        answer = next((a.content for a in turn.actions if isinstance(a, FinalAnswer)), None)
        asked = turn.failure is not None and row["expected"].get("type") != "no_call"
        if not asked and as_expected(row, calls or None, answer):
            right += 1
        else:
            got = turn.failure or turn.actions
            wrong.append(f"{row['id']} {theirs} {row['input'][:300]!r}\n  ours: {got}")
    if not wrong and not right:
        pytest.skip("the collection is not at hand")
    assert not wrong, f"{len(wrong)} of {len(wrong) + right}\n" + "\n".join(wrong[:10])
