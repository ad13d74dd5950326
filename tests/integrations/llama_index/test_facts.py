"""What the planner knows of a run without being told, and what follows from it."""

from __future__ import annotations

import asyncio
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.base.response.schema import Response
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool, RetrieverTool
from llama_index.core.workflow import Context

from llama_index_loopmend import PlanEvent, PlannedAgentWorkflow, PlannerStepHook, embedding_match
from llama_index_loopmend.hooks.matching import _MOST
from llama_index_loopmend.steps import best_score
from llama_index_loopmend.testing import call
from loopmend.planning import RosterMatch
from tests.integrations.llama_index.agents import add, fail, function
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.memories import Words
from tests.integrations.llama_index.planned import Ran, buffer, planned, ran, run, shown

NARRATED = "I will now call the add tool to work this out."
ADD = call("add", a=1, b=2)


def known(done: Ran, name: str) -> list[Any]:
    """Return a fact of each plan of a run."""
    return [plan.known[name] for plan in done.plans]


def test_the_budget_is_what_the_model_reports() -> None:
    """What is left of the context window is known after the first reply, from its tokens."""
    agent = planned("function", ADD, "3")
    agent.llm.raw = {"usage": {"prompt_tokens": 40, "completion_tokens": 10}}
    window = agent.llm.metadata.context_window
    assert known(run(agent), "tokens_left") == [None, window - 50]
    agent = planned("function", ADD, "3")
    agent.llm.raw = {"usage": {"prompt_tokens": window, "completion_tokens": 10}}
    assert known(run(agent), "tokens_left") == [None]  # LlamaIndex's window is a default
    assert known(run(planned("function", ADD, "3")), "tokens_left") == [None]


def test_each_model_has_a_breaker() -> None:
    """Three errors of a provider open it without a word from you; another model's stays closed."""
    down = ConnectionError("down")
    hook = [PlannerStepHook()]
    agent = planned("function", down, down, down, hook=hook)
    for _ in range(3):
        with pytest.raises(ConnectionError):
            run(agent)
    assert run(agent).text.startswith("Stopped: Provider circuit breaker open")
    assert run(planned("function", "3", hook=hook)).text == "3"
    off = planned("function", *[down] * 4, hook=[PlannerStepHook(breaker=False)])
    for _ in range(4):
        with pytest.raises(ConnectionError):
            run(off)


@pytest.mark.parametrize("mode", ["enforce", "advise", "observe"])
@pytest.mark.parametrize("same", ["context", "memory", "nothing"])
def test_mistakes_of_the_last_run(same: str, mode: Any) -> None:
    """The last run in the same context or memory counts, also if no other hook judges replies."""
    agent = planned("function", NARRATED, "3", hook=[PlannerStepHook(mode=mode)])
    memory = buffer()

    async def turns() -> Ran:
        ctx: Any = Context(agent)
        await ran(agent, ctx=ctx, memory=memory)
        ctx = ctx if same == "context" else Context(agent)
        other = buffer() if same == "nothing" else memory
        return await ran(agent, ctx=ctx, memory=other)

    done = asyncio.run(turns())
    issue = None if same == "nothing" else "narrated"
    assert known(done, "protocol_issue") == [issue]
    assert done.plans[0].selected == (
        "ContinueCentralized" if same == "nothing" else "NormalizationRetry"
    )
    words = "In your last turn: You described a tool call"
    assert (words in shown(agent.llm, 1)) is (mode == "enforce" and same != "nothing")


class Strict(ReActOutputParser):
    """A parser of somebody's own."""


@pytest.mark.parametrize(
    ("kind", "said", "options", "issue"),
    [
        ("react", "Thought: I will add.", {"output_parser": Strict()}, "no_action"),
        ("react", "Thought: t\nAnswer: 3", {"output_parser": Strict()}, None),
        ("code", "<execute>add(1, 2)</execute>", {}, None),
    ],
)
def test_the_planner_alone_knows_of_mistakes(
    kind: str, said: Any, options: dict[str, Any], issue: str | None
) -> None:
    """What the agent's own parser refuses is a mistake; code that is run is none."""
    answer = "Thought: t\nAnswer: 3" if kind == "react" else "3"
    memory = buffer()
    agent = planned(kind, said, answer, hook=[PlannerStepHook()], **options)
    done = run(agent, memory=memory)
    assert [plan.known["protocol_issue"] for plan in done.plans][1:2] == ([issue] if issue else [])


def test_a_memory_that_is_gone_is_forgotten() -> None:
    """What is known of a memory lives as long as the memory."""
    from llama_index_loopmend.steps import _last_runs

    agent = planned("function", NARRATED, hook=[PlannerStepHook()])
    memory: ChatMemoryBuffer | None = buffer()
    asyncio.run(ran(agent, memory=memory))
    key = id(memory)
    assert key in _last_runs._held
    del memory
    import gc

    gc.collect()
    assert key not in _last_runs._held


def scored(*scores: float | None) -> list[NodeWithScore]:
    """Return nodes with scores."""
    return [NodeWithScore(node=TextNode(text="x"), score=score) for score in scores]


def result(returned: Any) -> Any:
    """Return a tool's result that a tool returned so."""
    return SimpleNamespace(tool_output=SimpleNamespace(raw_output=returned))


@pytest.mark.parametrize(
    ("returned", "best"),
    [
        ([scored(0.2, 0.9, 0.1)], 0.9),
        ([scored(0.9), scored(0.1, 0.2)], 0.2),
        ([scored(0.9), "text", 3, None, []], 0.9),
        ([Response("…", source_nodes=scored(0.3))], 0.3),
        ([Response("…", source_nodes=[])], 0.0),
        ([scored(-0.2)], 0.0),
        ([scored(None)], None),
        ([scored(None, 0.4)], 0.4),
        ([scored(12.5, 0.1)], None),
        ([scored(float("nan"))], None),
        (["text"], None),
        ([["text"]], None),
        ([], None),
    ],
)
def test_the_best_of_the_latest_retrieval(returned: list[Any], best: float | None) -> None:
    """One good hit is enough, and what is no similarity is unknown."""
    assert best_score([result(each) for each in returned]) == best


@pytest.mark.parametrize("query", ["cats", "oslo"])
def test_poor_retrieval_without_a_memory_that_could_help(query: str) -> None:
    """Where memory cannot add anything, nothing is looked for, whatever the score is."""
    index = VectorStoreIndex.from_documents([Document(text="oslo")], embed_model=Words())
    tool = RetrieverTool.from_defaults(index.as_retriever(), name="search", description="Search.")
    done = run(planned("function", call("search", input=query), "Found.", tools=[tool]))
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized"] * 2
    assert known(done, "best_score")[0] is None
    assert (known(done, "best_score")[1] > 0.5) is (query == "oslo")


def test_tools_of_an_mcp_server() -> None:
    """A tool that an MCP client made is recognised by where its function comes from."""
    plain = FunctionTool.from_defaults(add)
    made = FunctionType(add.__code__, {"__name__": "llama_index.tools.mcp.base"}, "add")
    made.__module__ = "llama_index.tools.mcp.base"
    made.__annotations__ = {"a": int, "b": int}
    server = FunctionTool.from_defaults(made, name="add", description="Add.")
    for tool, expected in ((plain, False), (server, True)):
        done = run(planned("function", "3", tools=[tool]))
        assert known(done, "mcp_tools") == [expected]


def test_failures_in_a_row() -> None:
    """Errors of tools are counted until one works."""
    acts = [call("fail", f"call_{n}", why=str(n)) for n in range(2)]
    done = run(planned("function", *acts, ADD, "3", tools=[add, fail]))
    assert known(done, "failures_in_a_row") == [0, 1, 2, 0]


def test_what_is_unknown_sets_off_nothing() -> None:
    """The first step of a run knows little, and goes on."""
    done = run(planned("function", "3"))
    (plan,) = done.plans
    unknown = ("tokens_left", "protocol_issue", "best_score")
    assert [plan.known[name] for name in unknown] == [None] * 3
    assert (plan.selected, plan.done, plan.told, plan.advice) == (
        *("ContinueCentralized", None, [], None),
    )
    assert [each["source"] for each in plan.candidates] == ["fallback"]
    assert PlanEvent.model_validate_json(plan.model_dump_json()) == plan


DOES = {"clerk": "takes orders", "vet": "cats cats dogs", "guide": "oslo bergen"}


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("cats dogs cats", "vet"),
        ("bergen oslo", "guide"),
        ("something else", None),
        ("@guide cats cats dogs", "guide"),
    ],
)
def test_descriptions_by_embedding(text: str, handed: str | None) -> None:
    """Who does what is asked for takes over, from a similarity on, and names come first."""
    agents: list[Any] = [
        function("I see.", name=name, description=does, tools=[]) for name, does in DOES.items()
    ]
    hook = hooks(match=embedding_match(Words(), threshold=0.8))
    workflow = PlannedAgentWorkflow(agents=agents, root_agent="clerk", hooks=hook)
    done = run(workflow, text)
    assert done.output.current_agent_name == (handed or "clerk")


def test_embeddings_are_kept_within_bounds() -> None:
    """However many descriptions there are over time, few are kept, and each is made once."""
    match: Any = embedding_match(Words())

    async def several() -> Any:
        assert await match("cats", {}) == RosterMatch()
        for number in range(_MOST + 3):
            await match("cats", {"vet": f"dogs {number}", "nobody": ""})
        await match("cats", {"vet": "cats"})
        return await match("cats", {"vet": "cats"})

    assert asyncio.run(several()) == RosterMatch(explicit=True, names=("vet",))
