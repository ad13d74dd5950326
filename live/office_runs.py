"""`python -m live.office_runs`: agents of LangChain at the office tasks, alone and with loopmend.

Zero-shot, the frameworks' own prompts, loopmend with its defaults. Columns: the framework alone,
loopmend's defaults, and decoding constrained from the start.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_classic.agents.format_scratchpad import format_log_to_str
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import StructuredTool, render_text_description

from langchain_loopmend import AgentActionOutputParser, with_parsing_retry
from langchain_loopmend.classic import with_loop_guard
from langchain_loopmend.middleware import (
    LoopGuardMiddleware,
    NormalizationMiddleware,
    ToolCallingMiddleware,
)
from live.engine import SEED, needed, served
from live.office import TASKS, OfficeTask, office_tools

STEPS: Final = 6
# LangChain's own zero-shot prompt for ReAct agents.
PROMPT: Final = PromptTemplate.from_template(
    """Answer the following questions as best you can. You have access to the following tools:

{tools}

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [{tool_names}]
Action Input: the input to the action
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can repeat N times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!

Question: {input}
Thought:{agent_scratchpad}"""
)


class _Counter(BaseCallbackHandler):
    """Counts the model's calls."""

    def __init__(self) -> None:
        self.calls = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Count one."""
        self.calls += 1


def _created(*middleware: Callable[[], Any]) -> Callable[[Any, list[Any], str, Any], str]:
    def run(model: Any, tools: list[Any], question: str, counter: Any) -> str:
        agent: Any = create_agent(model, tools, middleware=[make() for make in middleware])
        config = {"recursion_limit": 4 * STEPS, "callbacks": [counter]}
        result = agent.invoke({"messages": [("user", question)]}, config)
        return str(result["messages"][-1].text)

    return run


def _executed(
    *, mended: bool, constrain: Any = "retry"
) -> Callable[[Any, list[Any], str, Any], str]:
    def run(model: Any, tools: list[Any], question: str, counter: Any) -> str:
        if mended:
            step = with_parsing_retry(
                model.bind(stop=["\nObservation"]),
                AgentActionOutputParser(tools=tools),
                constrain=constrain,
            )
            names = ", ".join(tool.name for tool in tools)
            prompt = PROMPT.partial(tools=render_text_description(tools), tool_names=names)
            agent: Any = (
                RunnablePassthrough.assign(
                    agent_scratchpad=lambda given: format_log_to_str(given["intermediate_steps"])
                )
                | prompt
                | step
            )
            agent = with_loop_guard(agent)
        else:
            agent = create_react_agent(model, tools, PROMPT)
        executor = AgentExecutor(
            agent=agent, tools=tools, handle_parsing_errors=True, max_iterations=STEPS
        )
        return str(executor.invoke({"input": question}, {"callbacks": [counter]})["output"])

    return run


ARMS: Final[dict[str, dict[str, Any]]] = {
    "create_agent": {
        "alone": _created(),
        "loopmend": _created(LoopGuardMiddleware, NormalizationMiddleware),
        "always": _created(LoopGuardMiddleware, ToolCallingMiddleware),
    },
    "AgentExecutor": {
        "alone": _executed(mended=False),
        "loopmend": _executed(mended=True),
        "always": _executed(mended=True, constrain="always"),
    },
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all tasks in each column, and print the rates side by side."""
    given = _arguments().parse_args(arguments)
    warnings.simplefilter("ignore")
    done = _known(given.out)
    with served(given.model) as url, given.out.open("a", encoding="utf-8") as out:
        model = needed("langchain_openai").ChatOpenAI(
            base_url=url,
            api_key="none",
            model="local",
            temperature=0,
            seed=SEED,
            max_tokens=160,
            max_retries=0,
            timeout=600,
            # All tasks begin alike; without a cache that beginning is most of the work.
            extra_body={"cache_prompt": True},
        )
        for arm in [name for name in ARMS if given.arm in name]:
            for at, task in enumerate(TASKS[: given.tasks]):
                for column, run in ARMS[arm].items():
                    if (arm, column, at) not in done and given.column in column:
                        done[arm, column, at] = _one(run, model, task)
                        row = [arm, column, at, done[arm, column, at]]
                        print(json.dumps(row, ensure_ascii=False), file=out, flush=True)
    _print(done)


def _one(run: Any, model: Any, task: OfficeTask) -> dict[str, Any]:
    called: list[str] = []
    tools = [StructuredTool.from_function(tool) for tool in office_tools(called)]
    counter = _Counter()
    started = time.monotonic()
    try:
        answer, error = run(model, tools, task.question, counter), None
    except Exception as raised:  # noqa: BLE001 - whatever an agent raises is a result here
        answer, error = "", f"{type(raised).__name__}: {raised}"[:300]
    return {
        "kind": task.kind,
        "question": task.question,
        "answer": answer[:500],
        "error": error,
        "called": called,
        "model_calls": counter.calls,
        "right": error is None and task.is_right(answer, called),
        "seconds": round(time.monotonic() - started, 1),
    }


def _known(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(arm, column, at): row for arm, column, at, row in rows}


def _print(done: dict[tuple[str, str, int], dict[str, Any]]) -> None:
    for arm, columns in ARMS.items():
        for column in columns:
            rows = [row for (a, c, _), row in sorted(done.items()) if (a, c) == (arm, column)]
            if not rows:
                continue
            right = sum(row["right"] for row in rows)
            calls = sum(row["model_calls"] for row in rows) / len(rows)
            said = f"{right:3} of {len(rows):3} right, {calls:.1f} model calls a task"
            print(f"{arm:14} {column:9} {said}")
        alone = {
            at for (a, c, at), row in done.items() if (a, c) == (arm, "alone") and row["right"]
        }
        for column in [c for c in columns if c != "alone"]:
            lost = [
                at for at in sorted(alone) if not done.get((arm, column, at), {"right": 1})["right"]
            ]
            print(f"{arm:14} {column:9} lost {len(lost)}: {lost}")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live.office_runs", description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file to serve instead of the default")
    parser.add_argument("--out", type=Path, required=True, help="where each run is written down")
    parser.add_argument("--tasks", type=int, default=len(TASKS), help="how many tasks to run")
    parser.add_argument("--arm", default="", help="only those whose name holds this")
    parser.add_argument("--column", default="", help="only those whose name holds this")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
