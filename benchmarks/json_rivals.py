"""Other readers of JSON in the shape that the scoring tool of the shared corpus expects.

python ../shared/tools/measure_reading.py --json-plug benchmarks.json_rivals:parsantic

None is a dependency of ours, and parsantic needs Python 3.12: run it where they are installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from benchmarks import baml_types

_DECLARED = re.compile(r"^\s*(?:class|enum|type)\s+(\w+)", re.MULTILINE)
_MOST_SECONDS = 10
_FUNCTION = """{declared}
type Anything = int | float | bool | string | null | Anything[] | map<string, Anything>
client<llm> Nobody {{
  provider openai
  options {{
    model "none"
    api_key "none"
  }}
}}
function Read(text: string) -> {target} {{
  client Nobody
  prompt #"{{{{ text }}}}"#
}}
"""


def json_repair(text: str, schema: Any) -> Any:  # noqa: ARG001 - the scorer's signature
    """Read with json_repair, which takes no types."""
    return import_module("json_repair").loads(text)


def langchain(text: str, schema: Any) -> Any:  # noqa: ARG001 - the scorer's signature
    """Read as LangChain's `JsonOutputParser` does."""
    return import_module("langchain_core.utils.json").parse_json_markdown(text)


def parsantic(text: str, schema: Any) -> Any:
    """Read with parsantic: any value, or the types that a source of BAML declares."""
    parse = import_module("parsantic").parse
    targets = baml_types.targets(schema) if isinstance(schema, str) else [Any]
    return _first(lambda each: baml_types.plain(parse(text, each or Any).value), targets)


def baml(text: str, schema: Any) -> Any:
    """Read with BAML's own parser, in a process that can be ended: on one text it hangs."""
    ours, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=_send_baml, args=(theirs, text, schema))
    process.start()
    theirs.close()
    try:
        if not ours.poll(_MOST_SECONDS):
            raise TimeoutError(text)
        return ours.recv()[0]
    finally:
        process.kill()
        process.join()


def _send_baml(to: Connection, text: str, schema: Any) -> None:
    to.send([_baml(text, schema)])


def _baml(text: str, schema: Any) -> Any:
    """Read any value, or one of the types that a source declares."""
    source = schema if isinstance(schema, str) else ""
    names = _DECLARED.findall(source)
    used = {each for each in names if len(re.findall(rf"\b{each}\b", source)) > 1}
    either = " | ".join([each for each in names if each not in used] or names) or "Anything"
    targets = [either, f"({either})[]", f"map<string, {either}>"] if names else [either]
    return _first(lambda target: _parsed(text, source, target), targets)


def _parsed(text: str, source: str, target: str) -> Any:
    runtime, empty = _runtime(source, target), ModuleType("empty")
    manager = runtime.create_context_manager()
    rest: tuple[Any, ...] = (False, manager, None, None, {})
    return _plain(runtime.parse_llm_response("Read", text, empty, empty, empty, *rest))


@cache
def _runtime(source: str, target: str) -> Any:
    files = {"read.baml": _FUNCTION.format(declared=source, target=target)}
    return import_module("baml_py").BamlRuntime.from_files(".", files, {})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return _plain(value.model_dump()) if hasattr(value, "model_dump") else value


def _first(read: Callable[[Any], Any], targets: Iterable[Any]) -> Any:
    failed: list[Exception] = []
    for target in targets:
        try:
            return read(target)
        except Exception as error:  # noqa: BLE001, PERF203 - each library raises what it likes
            failed.append(error)
    raise failed[0]
