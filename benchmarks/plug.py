"""The reader in the shapes that the scoring tools of the shared corpus expect.

python ../shared/tools/measure_reading.py --plug benchmarks.plug:read --rivals
python ../shared/tools/measure_refusals.py --plug benchmarks.plug:refuse
"""

from __future__ import annotations

from typing import Any

from loopmend import AskUser, Final, ReadingConfig, ToolCall, read_response, read_turn


def read(text: str, tools: list[Any] | None) -> dict[str, Any]:
    """Read a text; raise where the model should be asked again."""
    turn = read_turn(text, tools=tools)
    if not turn.actions:
        raise ValueError(turn.failure)
    first = turn.actions[0]
    if isinstance(first, Final):
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
