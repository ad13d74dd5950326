"""Print what `read_json` and its rivals make of values that this project broke.

python -m benchmarks.reading.structured
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

from loopmend import read_json

Read = Callable[[str], Any]
HEADER = """\
The values and the ways to break them are made up by this project, and its reader is developed
beside them: development figures, in %. `refused` of what has one meaning costs a question to the
model, `wrong` costs more. What stops in the middle, says a key twice or leaves parts out has no
value: there, any value is wrong.
"""
VALUES: tuple[Any, ...] = (
    {"city": "Oslo", "people": 717710, "capital": True, "mayor": None},
    {"query": "what is new", "limit": 5, "tags": ["a", "b c"], "exact": False},
    {"name": "Ada", "address": {"street": "Main St. 5", "zip": "0042"}, "scores": [1, 2.5, -3]},
    {"title": "It's a test", "note": "one, two: three", "items": [{"id": 1}, {"id": 2}]},
    [{"id": at, "name": f"user {at}", "active": at % 2 == 0} for at in range(8)],
    {"path": "notes.md", "content": "A line of a file.\nAnother one.\n" * 6, "append": True},
)
_KEY = re.compile(r'"(\w+)":')


def _python(value: Any, _: str) -> str:
    return repr(value)


def _raw_lines(_: Any, text: str) -> str:
    return text.replace("\\n", "\n")


BROKEN: dict[str, Callable[[Any, str], str]] = {
    "as it is": lambda _, text: text,
    "in a fence, with words": lambda _, text: f"Sure!\n\n```json\n{text}\n```\nAnything else?",
    "behind a thought": lambda _, text: f'<think>Maybe {{"a": 1}}?</think>\n{text}',
    "as Python": _python,
    "bare keys": lambda _, text: _KEY.sub(r"\1:", text),
    "trailing commas": lambda _, text: re.sub(r"(?<=[^{\[])([}\]])", r",\1", text),
    "comments": lambda _, text: text.replace(",\n", ", // so\n"),
    "smart quotes for keys": lambda _, text: _KEY.sub("\u201c\\1\u201d:", text),
    "missing commas": lambda _, text: text.replace(",\n", "\n"),
    "raw line ends": _raw_lines,
    "no last bracket, in a fence": lambda _, text: f"```json\n{text[:-1].rstrip()}\n```",
    "encoded twice": lambda _, text: json.dumps(text),
}
HOPELESS: dict[str, Callable[[Any, str], str]] = {
    "stops in a string": lambda _, text: text[: text.rindex('"') - 1],
    "stops behind a comma": lambda _, text: text[: text.rindex(",") + 1],
    "a key twice": lambda _, text: re.sub(r'("\w+": )', r"\g<1>0, \1", text, count=1),
    "parts left out": lambda _, text: f"{text[:-1].rstrip()}, ...{text[-1]}",
}


def rivals() -> Iterator[tuple[str, Read | None]]:
    """Yield each reader with its name, or with `None` if it is not installed."""
    yield "loopmend", _ours
    for name, module, made in (
        ("json_repair", "json_repair", lambda m: m.loads),
        ("LangChain JsonOutputParser", "langchain_core.output_parsers", _langchain),
        ("parsantic", "parsantic", lambda m: partial(_parsantic, m)),
        ("dirtyjson", "dirtyjson", lambda m: m.loads),
        ("json", "json", lambda m: m.loads),
    ):
        yield name, made(import_module(module)) if find_spec(module.partition(".")[0]) else None


def _ours(text: str) -> Any:
    reading = read_json(text)
    if reading.failure is not None:
        raise ValueError(reading.failure.message)
    return reading.value


def _langchain(module: Any) -> Read:
    parse: Read = module.JsonOutputParser().parse
    return parse


def _parsantic(module: Any, text: str) -> Any:
    return module.parse(text, Any).value


def cases() -> Iterator[tuple[str, str, Any]]:
    """Yield each text with its kind and the value that it says; an exception where it says none."""
    for (kind, broken), value in product(BROKEN.items(), VALUES):
        yield kind, broken(value, json.dumps(value, indent=1)), value
    for (kind, broken), value in product(HOPELESS.items(), VALUES):
        yield kind, broken(value, json.dumps(value, indent=1)), ValueError


def _outcome(read: Read, text: str, value: Any) -> str:
    try:
        found = read(text)
    except Exception:  # noqa: BLE001 - whatever a rival raises
        return "right" if value is ValueError else "refused"
    same = value is not ValueError and json.dumps(found, default=str) == json.dumps(value)
    return "right" if same else "wrong"


def main() -> None:
    """Measure each reader that is installed."""
    print(HEADER)
    texts = list(cases())
    print(f"{len(texts)} texts, {len(BROKEN) + len(HOPELESS)} kinds\n")
    print(f"{'':28}  right  wrong  refused  wrong in")
    for name, read in rivals():
        if read is None:
            print(f"{name:28}  not installed, passed over")
            continue
        got = [(kind, _outcome(read, text, value)) for kind, text, value in texts]
        counts = Counter(outcome for _, outcome in got)
        shares = [100 * counts[each] / len(got) for each in ("right", "wrong", "refused")]
        wrong = ", ".join(dict.fromkeys(kind for kind, outcome in got if outcome == "wrong"))
        print(f"{name:28}{shares[0]:7.1f}{shares[1]:7.1f}{shares[2]:9.1f}  {wrong}")


if __name__ == "__main__":
    main()
