"""The shapes that agents come in, natively and with all hooks: same answers, same events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.agent.workflow import (
    AgentStream,
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
)
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.objects import ObjectIndex
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from pydantic import BaseModel

from llama_index_loopmend import MetaSignalHook, PlanEvent, PlannedAgentWorkflow, with_hooks
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import ACT, FINISH, add, fail
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.humans import ask_human
from tests.integrations.llama_index.memories import Words, memory_of, vector_block
from tests.integrations.llama_index.mended import block, execute, message

ADD = call("add", a=1, b=2)
KINDS: dict[str, Any] = {"react": ReActAgent, "function": FunctionAgent, "code": CodeActAgent}


class Sum(BaseModel):
    """A sum."""

    total: int


class Made:
    """Makes agents of one way, and notes what their runs show."""

    def __init__(self, *, hooked: bool) -> None:
        self.hooked = hooked
        self.seen: list[str] = []
        self.planned = 0

    def agent(self, kind: str, *script: Any, **options: Any) -> Any:
        """Return an agent whose model follows a script."""
        given: dict[str, Any] = {"llm": ScriptedLLM(script=script), "tools": [add], **options}
        if kind == "code":
            given["code_execute_fn"] = execute
        made = KINDS[kind](**given)
        return with_hooks(made, [*hooks(), MetaSignalHook()]) if self.hooked else made

    def team(self, *agents: Any, **options: Any) -> Any:
        """Return a workflow of agents."""
        kind = PlannedAgentWorkflow if self.hooked else AgentWorkflow
        return kind(agents=list(agents), root_agent=agents[0].name, **options)

    async def run(self, agent: Any, question: str = "1 + 2?", **options: Any) -> str:
        """Run an agent to its end, and answer a human's questions with yes."""
        if "memory" not in options:
            options["memory"] = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        asked = {} if "chat_history" in options else {"user_msg": question}
        handler = agent.run(**asked, **options)
        async for event in handler.stream_events():
            self.planned += isinstance(event, PlanEvent)
            name = type(event).__name__
            again = isinstance(event, AgentStream) and self.seen[-1:] == [name]
            if not isinstance(event, PlanEvent) and not again:
                self.seen.append(name)
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))  # type: ignore[call-arg]
        output = await handler
        shaped = getattr(output, "structured_response", None)
        return f"{output} {[c.tool_name for c in output.tool_calls]} {shaped}"


Shape = Callable[[Made], Awaitable[Sequence[str]]]
SHAPES: dict[str, Shape] = {}


def shape(function: Shape) -> Shape:
    """Add a shape."""
    SHAPES[function.__name__] = function
    return function


def alone(kind: str, act: Any, answer: str, **options: Any) -> Shape:
    """Return the shape of one agent that calls a tool and answers."""

    async def run(made: Made) -> Sequence[str]:
        return [await made.run(made.agent(kind, act, answer, **options))]

    return run


CODE = "<execute>add(1, 2)</execute>"
SHAPES |= {
    "react": alone("react", ACT, FINISH),
    "function": alone("function", ADD, "3"),
    "code": alone("code", CODE, "3"),
    "react without streaming": alone("react", ACT, FINISH, streaming=False),
    "function without streaming": alone("function", ADD, "3", streaming=False),
    "a system prompt": alone("function", ADD, "3", system_prompt="Be brief."),
    "an initial state": alone("function", ADD, "3", initial_state={"mood": "good"}),
    "a tool that answers": alone(
        "function", ADD, "", tools=[FunctionTool.from_defaults(add, return_direct=True)]
    ),
    "a ReAct tool that answers": alone(
        "react", ACT, "", tools=[FunctionTool.from_defaults(add, return_direct=True)]
    ),
    "a tool that fails": alone("function", call("fail", why="no"), "It fails.", tools=[add, fail]),
    "parallel calls": alone(
        "function",
        message(block("add", {"a": 1, "b": 2}, "c1"), block("add", {"a": 3, "b": 4}, "c2")),
        "3 and 7",
    ),
    "a human": alone("function", call("ask_human", what="?"), "Yes.", tools=[ask_human]),
    "structured by a function": alone(
        "function", ADD, "3", structured_output_fn=lambda _: {"total": 3}
    ),
}


@shape
async def structured(made: Made) -> Sequence[str]:
    """LlamaIndex asks the model for the structure."""
    return [await made.run(made.agent("function", "3", call("Sum", total=3), output_cls=Sum))]


@shape
async def a_workflow_of_one(made: Made) -> Sequence[str]:
    """An agent in a workflow."""
    return [await made.run(made.team(made.agent("function", ADD, "3")))]


def handover(first: str, second: str) -> Shape:
    """Return the shape of an agent that hands over to another by itself."""

    async def run(made: Made) -> Sequence[str]:
        given = {"to_agent": "poet", "reason": "a poem"}
        act: Any = call("handoff", **given)
        if first == "react":
            act = f"Thought: hand over\nAction: handoff\nAction Input: {json.dumps(given)}"
        clerk = made.agent(first, act, name="clerk", description="Takes orders.")
        said = "Thought: done\nAnswer: Roses." if second == "react" else "Roses."
        poet = made.agent(second, said, name="poet", description="Writes poems.")
        return [await made.run(made.team(clerk, poet), "A poem about Oslo.")]

    return run


for first, second in (("function", "function"), ("function", "react"), ("react", "function")):
    SHAPES[f"{first} hands over to {second}"] = handover(first, second)


@shape
async def agents_as_tools(made: Made) -> Sequence[str]:
    """An agent that a tool of another one runs."""
    inner = made.agent("function", ADD, "3", name="inner")

    async def ask_inner(question: str) -> str:
        """Ask another agent."""
        return str(await made.run(inner, question))

    outer = made.agent(
        "function", call("ask_inner", question="1 + 2?"), "It is 3.", tools=[ask_inner]
    )
    return [await made.run(outer)]


@shape
async def two_turns(made: Made) -> Sequence[str]:
    """A memory that is handed to each run."""
    agent = made.agent("function", ADD, "3", "As I said, 3.")
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    said = [await made.run(agent, text, memory=memory) for text in ("1 + 2?", "And now?")]
    return [*said, *(str(each.content) for each in memory.get_all())]


@shape
async def a_memory_with_blocks(made: Made) -> Sequence[str]:
    """LlamaIndex's own memory, with a vector store."""
    async with memory_of(vector_block(name="facts")) as memory:
        agent = made.agent("function", ADD, "3", "4")
        return [await made.run(agent, text, memory=memory) for text in ("oslo?", "bergen?")]


@shape
async def retrieval(made: Made) -> Sequence[str]:
    """A retriever as a tool."""
    index = VectorStoreIndex.from_documents([Document(text="oslo is a city")], embed_model=Words())
    tool = RetrieverTool.from_defaults(index.as_retriever(), name="search", description="Search.")
    return [
        await made.run(made.agent("function", call("search", input="oslo"), "Yes.", tools=[tool]))
    ]


@shape
async def a_query_engine(made: Made) -> Sequence[str]:
    """A query engine as a tool, with a model of its own."""
    index = VectorStoreIndex.from_documents([Document(text="oslo is a city")], embed_model=Words())
    engine = index.as_query_engine(llm=ScriptedLLM(script=["A city."]))
    tool = QueryEngineTool.from_defaults(engine, name="ask", description="Ask.")
    return [await made.run(made.agent("function", call("ask", input="oslo"), "Yes.", tools=[tool]))]


@shape
async def tools_that_are_retrieved(made: Made) -> Sequence[str]:
    """Tools that are found anew for each message."""
    index = ObjectIndex.from_objects(
        [FunctionTool.from_defaults(add)], index_cls=VectorStoreIndex, embed_model=Words()
    )
    retriever = index.as_retriever(similarity_top_k=1)
    return [await made.run(made.agent("function", ADD, "3", tools=None, tool_retriever=retriever))]


@shape
async def a_context_that_is_written_down(made: Made) -> Sequence[str]:
    """The second turn goes on from JSON."""
    agent = made.agent("function", ADD, "3", "4")
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    ctx: Any = Context(agent)
    first = await made.run(agent, ctx=ctx, memory=memory)
    again = Context.from_dict(agent, json.loads(json.dumps(ctx.to_dict())))
    return [first, await made.run(agent, "And now?", ctx=again, memory=memory)]


@shape
async def a_history(made: Made) -> Sequence[str]:
    """A run that starts from messages."""
    history = [ChatMessage(role="user", content="1 + 2?")]
    return [await made.run(made.agent("react", FINISH), chat_history=history)]


@shape
async def fifty_at_once(made: Made) -> Sequence[str]:
    """Fifty runs of one agent."""

    def reply(messages: Sequence[ChatMessage]) -> Any:
        number = int(str(messages[0].content))
        done = any(m.role.value == "tool" for m in messages)
        return f"{number} done" if done else call("add", f"c{number}", a=number, b=number)

    agent = made.agent("function", reply)
    agent.llm.repeat = True
    said = await asyncio.gather(*(made.run(agent, str(n)) for n in range(50)))
    made.seen.sort()  # of many at once the order is nobody's
    return said


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    """With all hooks a clean run is what it is without: answers, calls, structure, events."""
    ways = [Made(hooked=hooked) for hooked in (False, True)]
    ends = [asyncio.run(_run(SHAPES[name], made)) for made in ways]
    assert ends[0] == ends[1]
    if name == "parallel calls":  # which of them ends first is nobody's
        ways[0].seen, ways[1].seen = (sorted(way.seen) for way in ways)
    if name == "fifty_at_once":  # what is streamed is cut differently
        ways[0].seen, ways[1].seen = (sorted({*way.seen}) for way in ways)
    assert ways[0].seen == ways[1].seen
    assert ways[1].planned > 0
    assert len(SHAPES) >= 22


async def _run(shape: Shape, made: Made) -> Sequence[str]:
    return await shape(made)
