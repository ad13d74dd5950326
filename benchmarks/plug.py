"""`read_turn` in the shape that the scoring tool of the shared corpus expects.

python ../shared/tools/measure_reading.py --plug benchmarks.plug:read --rivals
"""

from __future__ import annotations

from typing import Any

from loopmend import AskUser, Final, ToolCall, read_turn


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
