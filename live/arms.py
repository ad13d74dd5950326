"""The kinds of agents that are compared, and how one of them is let at a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Final, NamedTuple

from live.asking import Server
from live.record import Run
from live.tasks import Task
from loopmend.traces.report import classify_trace
from loopmend.traces.trace import Trace

__all__ = ["ARMS", "COLUMNS", "Agent", "Arm", "Outcome", "arms_for", "run_task"]


class Outcome(NamedTuple):
    """How a run ended."""

    answer: str
    trace: Trace | None
    error: Exception | None = None


Agent = Callable[[Server, Run], Outcome]
"""Answers the question of a run's task with a model and the tools that note their calls."""

COLUMNS: Final = ("native", "loopmend")


@dataclass(frozen=True, slots=True)
class Arm:
    """A kind of agent, built without and with loopmend."""

    name: str
    agents: Mapping[str, str]
    """The column, and where the agent is: frameworks are imported when their turn comes."""
    decoded: bool
    """Whether the server decodes the model's calls; many servers do not, or not for each model."""

    def agent(self, column: str) -> Agent:
        """Return the agent of a column."""
        module, name = self.agents[column].split(":")
        found: Agent = getattr(import_module(module), name)
        return found


def _arm(name: str, module: str, native: str, mended: str, *, decoded: bool = False) -> Arm:
    agents = {"native": f"live.{module}:{native}", "loopmend": f"live.{module}:{mended}"}
    return Arm(name, agents, decoded)


ARMS: Final = (
    _arm("AgentExecutor (ReAct)", "langchain_runs", "executed", "executed_mended"),
    _arm("create_agent, calls left in the text", "langchain_runs", "created", "created_mended"),
    _arm(
        "create_agent, calls decoded by the server",
        "langchain_runs",
        "created",
        "created_mended",
        decoded=True,
    ),
    _arm("ReActAgent", "llama_index_runs", "reacts", "reacts_mended"),
    _arm(
        "FunctionAgent, calls left in the text", "llama_index_runs", "functions", "functions_mended"
    ),
)
"""The kinds of agents to compare."""


def arms_for(wanted: str = "", *, foreign: bool = False) -> list[Arm]:
    """Return the kinds of agents to run.

    Args:
        wanted: What stands in their names.
        foreign: Whether the server is somebody's own, which decodes calls in one way only.
    """
    found = [arm for arm in ARMS if wanted.casefold() in arm.name.casefold()]
    if not foreign:
        return found
    kinds = {arm.name.partition(",")[0]: arm for arm in found}
    return [replace(arm, name=kind) for kind, arm in kinds.items()]


def run_task(agent: Agent, server: Server, task: Task) -> Run:
    """Let an agent answer the question of a task, and note what it does."""
    run = Run(task)
    run.answer, trace, error = agent(server, run)
    if error is not None:
        run.error = f"{type(error).__name__}: {error}"
    if trace is not None:
        run.stop_reason = classify_trace(trace).stop_reason.value
    return run
