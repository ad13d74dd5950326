"""Agents of each kind, natively and planned, and what there is to see of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.agent.workflow import (
    AgentOutput,
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
)
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context

from llama_index_loopmend import (
    PlannedAgentWorkflow,
    PlannedCodeActAgent,
    PlannedFunctionAgent,
    PlannedReActAgent,
    ProtocolIssueEvent,
    with_hooks,
)
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import ACT, FINISH, Agent, add
from tests.integrations.llama_index.hooked import hooks

QUESTION = "1 + 2?"
NARRATED = "I will use the add tool."
CALLS: dict[str, Any] = {
    "react": ACT,
    "function": call("add", a=1, b=2),
    "code": "<execute>add(1, 2)</execute>",
}
WRITTEN = 'Let me see. <tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
ANSWERS = {"react": FINISH, "function": "It is 3.", "code": "It is 3."}
NATIVE: dict[str, Any] = {"react": ReActAgent, "function": FunctionAgent, "code": CodeActAgent}
PLANNED: dict[str, Any] = {
    "react": PlannedReActAgent,
    "function": PlannedFunctionAgent,
    "code": PlannedCodeActAgent,
}
KINDS = tuple(NATIVE)
WAYS = ("class", "wrapped", "in a workflow", "planned workflow")


async def execute(code: str) -> str:
    """Run code."""
    return "3"


@dataclass
class Ran:
    """A run that is over."""

    llm: ScriptedLLM
    memory: ChatMemoryBuffer
    events: list[Any] = field(default_factory=list)
    output: AgentOutput | None = None
    error: Exception | None = None
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """What the run answered."""
        if self.error is not None:
            raise self.error
        return str(self.output)

    @property
    def made(self) -> list[tuple[str, dict[str, Any], str]]:
        """The calls that were made, with what came of them."""
        results: Sequence[Any] = [] if self.output is None else self.output.tool_calls
        return [(c.tool_name, c.tool_kwargs, str(c.tool_output.content)) for c in results]

    @property
    def asked(self) -> list[list[Any]]:
        """The messages that the model was shown each time."""
        return [list(prompt) for prompt in self.llm.asked]

    @property
    def prompts(self) -> list[list[str]]:
        """What the model was shown each time, without the first system prompt."""
        return [texts(prompt) for prompt in self.llm.asked]

    @property
    def issues(self) -> list[tuple[str, str]]:
        """What was refused, and what followed."""
        found = (event for event in self.events if isinstance(event, ProtocolIssueEvent))
        return [(event.pattern, event.outcome) for event in found]

    @property
    def remembered(self) -> list[str]:
        """What is in memory."""
        return texts(self.memory.get_all())

    def repeats(self, text: str = QUESTION) -> list[int]:
        """Return how often each prompt holds a message that is just this text."""
        return [prompt.count(text) for prompt in self.prompts]


def texts(messages: Sequence[Any]) -> list[str]:
    """Return what messages say, but for a system prompt at the start."""
    said = [message for at, message in enumerate(messages) if at or message.role != "system"]
    return [message.content or "" for message in said]


def scripted(*script: Any, **options: Any) -> ScriptedLLM:
    """Return a model that follows a script."""
    return ScriptedLLM(script=script, **options)


def native(kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    """Return an agent of LlamaIndex's own."""
    return NATIVE[kind](**{**_given(kind, llm), **options})


def planned(kind: str, llm: ScriptedLLM, *, hook: Any = None, **options: Any) -> Any:
    """Return a planned agent."""
    return PLANNED[kind](**{**_given(kind, llm), **options}, hooks=hook or hooks())


def attached(
    way: str, kind: str, llm: ScriptedLLM, *, streaming: bool = True, **hook: Any
) -> Agent:
    """Return an agent that has a step hook in one of the ways to get one."""
    step_hook = hooks(**hook)
    if way == "class":
        return planned(kind, llm, hook=step_hook, streaming=streaming)  # type: ignore[no-any-return]
    if way == "in a workflow":
        return AgentWorkflow(agents=[planned(kind, llm, hook=step_hook, streaming=streaming)])
    plain = native(kind, llm, streaming=streaming)
    if way == "wrapped":
        return with_hooks(plain, step_hook)  # type: ignore[no-any-return]
    return PlannedAgentWorkflow(agents=[plain], hooks=step_hook)


def run(
    agent: Agent,
    llm: ScriptedLLM,
    question: str = QUESTION,
    *,
    memory: ChatMemoryBuffer | None = None,
    ctx: Context[Any] | None = None,
    **options: Any,
) -> Ran:
    """Run an agent to its end, whatever that is."""
    memory = memory or ChatMemoryBuffer.from_defaults(token_limit=100_000)
    return asyncio.run(_run(agent, Ran(llm, memory), question, ctx or Context(agent), options))


async def _run(
    agent: Agent, ran: Ran, question: str, ctx: Context[Any], options: dict[str, Any]
) -> Ran:
    start: Any = agent.run  # its type knows only positions that are deprecated
    handler = start(user_msg=question, memory=ran.memory, ctx=ctx, **options)
    try:
        ran.events += [event async for event in handler.stream_events()]
        ran.output = await handler
    except Exception as error:  # noqa: BLE001 - kept, and raised where an answer is asked for
        ran.error = error
    ran.state = dict((await handler.ctx.store.get_state()).items())
    return ran


def _given(kind: str, llm: ScriptedLLM) -> dict[str, Any]:
    if kind == "code":
        return {"code_execute_fn": execute, "tools": [add], "llm": llm}
    return {"tools": [add], "llm": llm}


def ask(kind: str, *script: Any, raw: Any = None, **hook: Any) -> Ran:
    """Run a planned agent with a script."""
    llm = scripted(*script, raw=raw)
    return run(planned(kind, llm, hook=hooks(**hook)), llm)


def message(*blocks: Any, text: str = "") -> ChatMessage:
    """Return what a model says with these blocks."""
    said = [TextBlock(text=text)] if text else []
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[*said, *blocks])


def block(name: str, arguments: Any, id: str = "call_1") -> ToolCallBlock:
    """Return a call with arguments as they arrived."""
    return ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=arguments)
