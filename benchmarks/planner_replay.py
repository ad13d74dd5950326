"""Replay real dialogues as turns of a planned agent, and count what the planner did.

    python -m benchmarks.planner_replay [folder with traces/tau_*.jsonl.gz]

The dialogues are not part of the repository; without them it says so and does nothing. Each message
of a user is run on a LlamaIndex workflow with two specialists on its roster and the conversation so
far, so that a delegation, a blocker or a change of the prompt that a reader finds wrong shows up.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEFAULT = Path(__file__).parents[2] / "shared/corpus"


def turns(folder: Path) -> Iterator[tuple[list[dict[str, Any]], str]]:
    """Yield what was said before each message of a user, and the message."""
    for path in sorted(folder.glob("traces/tau_*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            messages = json.loads(line)["messages"]
            for at, message in enumerate(messages):
                if message["role"] == "user" and isinstance(message.get("content"), str):
                    yield messages[:at], message["content"]


async def replay(before: list[dict[str, Any]], text: str) -> Any:
    """Return the plan of the first step of a turn."""
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    from llama_index_loopmend import PlanEvent, PlannedAgentWorkflow
    from llama_index_loopmend.testing import ScriptedLLM

    def search(query: str) -> str:
        """Search."""
        return query

    agents: list[Any] = [
        FunctionAgent(
            name=name, description=does, tools=[search], llm=ScriptedLLM(script=["Sure."])
        )
        for name, does in (
            ("agent", "Helps customers."),
            ("refunds", "Handles refunds and cancellations."),
            ("human_support", "Transfers to a human."),
        )
    ]
    workflow = PlannedAgentWorkflow(agents=agents, root_agent="agent")
    said = [
        ChatMessage(role=each["role"], content=each["content"])
        for each in before
        if each["role"] in ("user", "assistant") and each.get("content")
    ]
    memory = ChatMemoryBuffer.from_defaults(chat_history=said, token_limit=1_000_000)
    start: Any = workflow.run  # its type knows only positions that are deprecated
    handler = start(user_msg=text, memory=memory)
    plans = [each async for each in handler.stream_events() if isinstance(each, PlanEvent)]
    await handler
    return plans[0]


def main(arguments: list[str]) -> None:
    """Replay turns and print what was done, with the text of every turn that was changed."""
    warnings.simplefilter("ignore")
    found = list(turns(Path(arguments[0]) if arguments else DEFAULT))
    if not found:
        print("no dialogues to replay: pass a folder that holds traces/tau_*.jsonl.gz")
        return
    counts: Counter[str] = Counter()
    for before, text in found:
        plan = asyncio.run(replay(before, text))
        counts[plan.selected] += 1
        counts.update(f"hint in the event: {hint}" for hint in plan.hints)
        counts["prompts changed"] += bool(plan.told)
        if plan.done or plan.told:
            print(f"{plan.selected}: {plan.done} {plan.told} <- {text[:120]!r}")
    print(f"{len(found)} turns: {dict(counts)}")


if __name__ == "__main__":
    main(sys.argv[1:])
