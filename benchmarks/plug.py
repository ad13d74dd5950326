"""The reader in the shapes that the scoring tools of the shared corpus expect.

python ../shared/tools/measure_reading.py --plug benchmarks.plug:read --rivals
python ../shared/tools/measure_refusals.py --plug benchmarks.plug:refuse
python ../shared/tools/measure_reading.py --json-plug benchmarks.plug:json
"""

from __future__ import annotations

from typing import Any

from benchmarks import baml_types
from loopmend import (
    AskUser,
    FinalAnswer,
    JsonReading,
    ReadingConfig,
    ToolCall,
    read_json,
    read_response,
    read_turn,
)


def read(text: str, tools: list[Any] | None) -> dict[str, Any]:
    """Read a text; raise where the model should be asked again."""
    turn = read_turn(text, tools=tools)
    if not turn.actions:
        raise ValueError(turn.failure)
    first = turn.actions[0]
    if isinstance(first, FinalAnswer):
        return {"type": "final", "content": first.content}
    if isinstance(first, AskUser):
        return {"type": "ask_user", "content": first.question}
    calls = [action for action in turn.actions if isinstance(action, ToolCall)]
    return {
        "type": "tool_calls",
        "calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
    }


def refuse(text: str, tools: list[Any] | None, after_tool_result: bool, native: bool) -> str | None:  # noqa: FBT001 - the scorer's signature
    """Return why a message is refused, `"call"` if a call is read out of it, or `None`."""
    config = ReadingConfig(after_tool_result=after_tool_result)
    protocol = "native" if native else "text"
    turn = read_response(text, tools=tools, protocol=protocol, config=config)  # type: ignore[arg-type]
    if turn.failure is not None:
        return turn.failure.pattern.value
    return "call" if any(isinstance(action, ToolCall) for action in turn.actions) else None


def json(text: str, schema: Any) -> Any:
    """Read a value or raise; of one that stops in the middle return what there is, as rivals do."""
    return _value(text, schema, ReadingConfig(salvage=True))


def json_whole(text: str, schema: Any) -> Any:
    """Read a value as `read_json` does by default: one that stops in the middle is none."""
    return _value(text, schema, ReadingConfig())


def _value(text: str, schema: Any, config: ReadingConfig) -> Any:
    if not isinstance(schema, str):
        return _plain(read_json(text, schema, config=config))
    readings = [read_json(text, each, config=config) for each in baml_types.targets(schema)]
    best = min((each for each in readings if each.ok), key=_changes, default=None)
    salvaged = next((each for each in readings if each.fidelity == "salvaged"), None)
    return _plain(best or salvaged or readings[0])


def _changes(reading: JsonReading) -> int:
    return len(reading.repairs)


def _plain(reading: JsonReading) -> Any:
    if reading.failure is not None and reading.fidelity != "salvaged":
        raise ValueError(reading.failure.message)
    return baml_types.plain(reading.value)
