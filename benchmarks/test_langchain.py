"""The LangChain adapters against LangChain's own parts, in one run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from benchmarks.test_reading import REACT
from benchmarks.timing import beyond, ratio

TIMES_LANGCHAIN = 2.0
GOAL = 0.02
MOST_OVERHEAD = 0.10  # beyond what a shared machine adds by itself
TRIES = 5
ROUNDS = 400

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_classic")


@pytest.mark.parametrize("tools", [None, ["Search", "Lookup"]], ids=["any", "tools"])
@pytest.mark.parametrize("way", ["parse", "invoke"])
@pytest.mark.parametrize("case", list(REACT))
def test_parser(case: str, way: str, tools: Any, report: list[str]) -> None:
    """On well-formed ReAct text the parser takes at most twice LangChain's own."""
    from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser

    from langchain_loopmend import AgentActionOutputParser

    ours = getattr(AgentActionOutputParser(tools=tools), way)
    theirs = getattr(ReActSingleInputOutputParser(), way)
    found = [ratio(partial(ours, REACT[case]), partial(theirs, REACT[case]))]
    while found[-1] > TIMES_LANGCHAIN and len(found) < TRIES:
        found.append(ratio(partial(ours, REACT[case]), partial(theirs, REACT[case])))
    name = f"{way}, {case}, {'tools' if tools else 'no tools'}"
    report.append(f"AgentActionOutputParser {name:26} {min(found):5.2f} x LangChain's ReAct parser")
    assert min(found) <= TIMES_LANGCHAIN


def test_middleware(report: list[str]) -> None:
    """On a clean run the middleware should add 2 % to one with middleware that does nothing.

    What LangChain itself spends on any middleware is not ours, so it is reported beside it. A
    shared machine cannot hold such a figure, so it is reported; only much more is an error.
    """
    from langchain.agents.middleware import AgentMiddleware

    from langchain_loopmend.middleware import LoopGuardMiddleware, NormalizationMiddleware

    class Idle(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return handler(request)

    runs = {
        "none": _agent([]),
        "idle": _agent([Idle()]),
        "normalization": _agent([NormalizationMiddleware()]),
        "loop guard": _agent([LoopGuardMiddleware()]),
    }
    over: dict[str, float] = {}
    for _ in range(TRIES):
        for name, share in beyond(runs, "idle", "none", rounds=ROUNDS).items():
            over[name] = min(over.get(name, 1.0), share)
        if max(over.values()) <= GOAL:
            break
    report.append(f"middleware that does nothing: {-over['none']:6.1%} of a clean create_agent run")
    told = ("normalization", "loop guard")
    report.extend(f"{name:28}: {over[name]:6.1%} more than that" for name in told)
    assert max(over.values()) <= MOST_OVERHEAD


def _agent(middleware: list[Any]) -> Callable[[], Any]:
    """Return a run of an agent whose model calls one tool and answers."""
    from langchain.agents import create_agent

    from langchain_loopmend.testing import ScriptedChatModel, call

    def search(query: str) -> str:
        """Search the web."""
        return f"about {query}"

    script = [call("search", query="Oslo"), "Oslo is the capital of Norway, as far as I know."]
    model = ScriptedChatModel(script=script, repeat=True)
    agent = create_agent(model, [search], middleware=middleware)
    asked: Any = {"messages": [("user", "Where is Oslo?")]}
    return partial(agent.invoke, asked)
