"""The three ways to plan an agent's steps: classes, a wrapper for any agent, a workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import (
    AgentOutput,
    AgentStream,
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
)
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    MessageRole,
    TextBlock,
    ThinkingBlock,
)
from llama_index.core.memory import BaseMemory
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool

from llama_index_loopmend import (
    PlannedAgentWorkflow,
    PlannedCodeActAgent,
    PlannedFunctionAgent,
    PlannedReActAgent,
    TolerantReActOutputParser,
    with_hooks,
)
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import ACT, FINISH, TOOLS, add, function, react
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.planned import (
    KINDS,
    answer,
    buffer,
    kept,
    planned,
    ran,
    run,
    shown,
)

NARRATED = "I will now call the add tool to work this out."
CALLS: dict[str, Any] = {
    "react": ACT,
    "function": call("add", a=1, b=2),
    "code": "<execute>print(1 + 2)</execute>",
}


class EchoAgent(BaseWorkflowAgent):
    """An agent of somebody else's, that keeps no scratchpad."""

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[Any], memory: BaseMemory
    ) -> AgentOutput:
        """Ask the model once."""
        said = await self.llm.achat(llm_input)
        return AgentOutput(response=said.message, current_agent_name=self.name)

    async def handle_tool_call_results(self, ctx: Any, results: Any, memory: BaseMemory) -> None:
        """Never be told of any."""

    async def finalize(self, ctx: Any, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Write the answer down."""
        await memory.aput(output.response)
        return output


class ForgetfulAgent(EchoAgent):
    """An agent that leaves it to others to remember."""

    async def finalize(self, ctx: Any, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Do nothing."""
        return output


def native(kind: str, *script: Any, **options: Any) -> Any:
    """Return one of LlamaIndex's own agents."""
    if kind == "code":

        def execute(code: str) -> str:
            """Execute code."""
            return f"ran {code}"

        llm = ScriptedLLM(script=script)
        return CodeActAgent(code_execute_fn=execute, llm=llm, tools=[add], **options)
    return (react if kind == "react" else function)(*script, **options)


def attached(way: str, kind: str, *script: Any, **options: Any) -> Any:
    """Return an agent that is planned in one of the ways, and its model."""
    if way == "class":
        agent = planned(kind, *script, **options)
        return agent, agent.llm
    agent = native(kind, *script, **options)
    if way == "wrapper":
        return with_hooks(agent), agent.llm
    return PlannedAgentWorkflow(agents=[agent]), agent.llm


WAYS = ("class", "wrapper", "workflow")


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_in_each_way(way: str, kind: str, streaming: bool) -> None:  # noqa: FBT001
    """A call and an answer work in each way for each kind of agent, streaming or not."""
    agent, llm = attached(way, kind, CALLS[kind], answer(kind, "3"), streaming=streaming)
    done = run(agent)
    assert done.text == "3"
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized"]
    assert [call.tool_name for call in done.output.tool_calls] == [
        "execute" if kind == "code" else "add"
    ]
    assert any(isinstance(event, AgentStream) for event in done.events) is streaming
    assert len(llm.asked) == 2
    assert kept(done.memory)[0] == ("user", "1 + 2?")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_replies_are_mended_in_each_way(way: str, kind: str) -> None:
    """A narrated reply is refused and asked for again, and no iteration is spent."""
    agent, llm = attached(way, kind, NARRATED, answer(kind, "3"))
    done = run(agent, max_iterations=2)
    assert done.text == "3"
    assert [issue.outcome for issue in done.issues] == ["retry"]
    assert len(done.plans) == 1
    assert [m.content for m in llm.asked[1] if m.role.value == "user"].count("1 + 2?") == 1


def test_wrapping_leaves_the_original() -> None:
    """The agent that is wrapped works as before, unplanned."""
    agent = function(NARRATED, NARRATED, "3", timeout=7, verbose=True, system_prompt="Be brief.")
    before = agent.model_dump(exclude={"llm", "tools"})
    wrapped = with_hooks(agent)
    assert run(agent).text == NARRATED
    assert run(wrapped).text == "3"
    assert agent.model_dump(exclude={"llm", "tools"}) == before
    assert wrapped is not agent
    assert isinstance(wrapped, FunctionAgent)
    assert (wrapped._timeout, wrapped._verbose) == (7, True)
    assert (wrapped.name, wrapped.system_prompt, wrapped.llm) == ("Agent", "Be brief.", agent.llm)
    assert wrapped.model_dump(exclude={"llm", "tools"}) == before


def test_wrapping_keeps_what_an_agent_is_given() -> None:
    """State, permissions and the rest are those of the agent within."""
    agent = function(initial_state={"a": 1}, can_handoff_to=["b"], state_prompt="{state} {msg}")
    wrapped = with_hooks(agent)
    assert wrapped.initial_state == {"a": 1}
    assert wrapped.can_handoff_to == ["b"]
    assert wrapped.state_prompt == agent.state_prompt


def test_agents_of_other_kinds() -> None:
    """An agent of somebody else's is planned and mended too, with nothing but its steps."""
    agent = EchoAgent(llm=ScriptedLLM(script=[NARRATED, "3"]), tools=TOOLS[:1])
    done = run(with_hooks(agent))
    assert done.text == "3"
    assert [(m.role.value, m.content) for m in agent.llm.asked[1]] == [  # type: ignore[attr-defined]
        ("user", "1 + 2?"),
        ("user", done.issues[0].correction),
    ]
    assert kept(done.memory) == [("user", "1 + 2?"), ("assistant", "3")]


@pytest.mark.parametrize("make", [EchoAgent, ForgetfulAgent])
def test_a_blocker_of_another_kind_of_agent(make: Any) -> None:
    """Where no scratchpad is known the blocker is in memory once, whoever writes it there."""
    agent = make(llm=ScriptedLLM(script=[]), tools=TOOLS[:1])
    done = run(with_hooks(agent, hooks(token_budget=0)))
    assert kept(done.memory) == [("user", "1 + 2?"), ("assistant", done.text)]
    assert done.text == "Stopped: Token budget of 0 is used up."


class BlankAgent(EchoAgent):
    """An agent whose tools are made when they are asked for, and that ends with a call."""

    async def get_tools(self, input_str: str | None = None) -> Sequence[Any]:
        """Return one tool that answers by itself."""
        return [FunctionTool.from_defaults(add, return_direct=True)]

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[Any], memory: BaseMemory
    ) -> AgentOutput:
        """Call the tool."""
        said = await self.llm.achat(llm_input)
        made = self.llm.get_tool_calls_from_response(said)  # type: ignore[attr-defined]
        return AgentOutput(response=said.message, tool_calls=made, current_agent_name=self.name)


def test_the_tools_are_those_of_the_agent_within() -> None:
    """An agent that finds its tools itself finds them when it is wrapped."""
    agent = BlankAgent(llm=ScriptedLLM(script=[call("add", a=1, b=2)]))
    assert run(with_hooks(agent)).text == "3"


@pytest.mark.parametrize("make", [PlannedFunctionAgent, PlannedReActAgent])
def test_nothing_is_planned_twice(make: Any) -> None:
    """What has a hook already cannot be given another one."""
    agent = make(name="clerk", llm=ScriptedLLM(script=[]))
    with pytest.raises(ValueError, match="`clerk` already has hooks"):
        with_hooks(agent)
    with pytest.raises(ValueError, match="already has hooks"):
        with_hooks(with_hooks(function()))


@pytest.mark.parametrize("wrong", [None, "agent", AgentWorkflow, FunctionAgent])
def test_only_agents_can_be_wrapped(wrong: Any) -> None:
    """Something else is refused by name."""
    with pytest.raises(TypeError, match="`agent` must be a LlamaIndex agent, not "):
        with_hooks(wrong)


def test_prompts_are_those_of_the_agent() -> None:
    """Prompts are those of the agent, and updating them leaves it as it is."""
    agent = react(FINISH, FINISH)
    wrapped = with_hooks(agent)
    assert set(wrapped.get_prompts()) == set(agent.get_prompts()) == {"react_header"}
    wrapped.update_prompts({"react_header": PromptTemplate("Mind {tool_desc} {tool_names}")})
    assert (run(wrapped).text, run(agent).text) == ("3", "3")
    assert "Mind > Tool Name: add" in shown(agent.llm)
    assert "Mind > Tool Name: add" not in shown(agent.llm, 1)


def test_parsers() -> None:
    """The planned ReAct agent reads tolerantly, unless it is given a parser."""
    assert type(planned("react").output_parser) is TolerantReActOutputParser
    own = ReActAgent(llm=ScriptedLLM(script=[])).output_parser
    assert planned("react", output_parser=own).output_parser is own


THINKING = "Thought: maybe the Answer: is 4\nThought: no\nAnswer: 3"


def test_the_answer_is_the_one_that_was_parsed() -> None:
    """What follows the first `Answer:` is not the answer, whatever else the message holds."""
    said = ChatMessage(blocks=[ThinkingBlock(content="hm"), TextBlock(text=THINKING)])
    said.role = MessageRole.ASSISTANT
    assert run(planned("react", said)).text == "3"


def test_an_answer_that_an_agent_leaves_out() -> None:
    """Also an agent that finishes without a word has answered what was parsed."""

    class Silent(ReActAgent):
        async def finalize(self, ctx: Any, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
            output.response.blocks = []
            return output

    agent = Silent(llm=ScriptedLLM(script=[FINISH]), tools=[add])
    assert run(with_hooks(agent)).text == "3"


def test_hooks_are_not_written_down() -> None:
    """A hook is no part of what an agent is when it is dumped."""
    for kind in KINDS:
        assert "hooks" not in planned(kind).model_dump(exclude={"llm", "tools"})
    made = PlannedCodeActAgent(code_execute_fn=add, llm=ScriptedLLM(script=[]))
    assert len(made.hooks) == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["react", "function"])
def test_the_last_answer_is_an_informed_one(way: str, kind: str) -> None:
    """At the cap the model answers with what was found, in each way."""
    agent, llm = attached(way, kind, CALLS[kind], CALLS[kind], "So it is 3.")
    done = run(agent, max_iterations=2, early_stopping_method="generate")
    assert done.text == "So it is 3."
    assert "3" in shown(llm, 2).replace("1 + 2?", "")


def test_a_workflow_plans_all_its_agents() -> None:
    """Agents are wrapped with the workflow's hook, but one with a hook of its own keeps it."""
    hook, own = hooks(mode="observe"), hooks(mode="advise")
    clerk = function(name="clerk")
    writer = planned("react", name="writer", description="Writes.", hook=own)
    workflow = PlannedAgentWorkflow([clerk, writer], root_agent="clerk", hooks=hook)
    first, second = list[Any](workflow.agents.values())
    assert first is not clerk
    assert type(first).__name__ == "HookedFunctionAgent"
    assert first.hooks == hook
    assert second is writer
    assert writer.hooks == own
    assert workflow.hooks == hook


def test_the_cap_of_a_planned_agent_in_a_workflow() -> None:
    """An agent with a hook of its own is asked for a last answer as any other."""
    agent = planned("react", ACT, ACT, "So it is 3.")
    workflow = PlannedAgentWorkflow([agent])
    done = run(workflow, max_iterations=2, early_stopping_method="generate")
    assert done.text == "So it is 3."
    assert "Observation: 3" in shown(agent.llm, 2)


def test_a_workflow_of_tools() -> None:
    """LlamaIndex's shortcut makes a planned workflow as well."""
    llm = ScriptedLLM(script=[call("add", a=1, b=2), NARRATED, "3"])
    workflow = PlannedAgentWorkflow.from_tools_or_functions([add], llm=llm, timeout=30)
    assert isinstance(workflow, PlannedAgentWorkflow)
    done = run(workflow)
    assert (done.text, len(done.issues)) == ("3", 1)


def test_planned_agents_in_a_native_workflow() -> None:
    """Planned agents work in LlamaIndex's own workflow, which knows nothing of them."""
    clerk = planned("function", NARRATED, call("handoff", to_agent="writer", reason="a poem"))
    clerk.name, clerk.description = "clerk", "Takes orders."
    writer = planned("react", NARRATED, answer("react", "Roses."), name="writer", description="W.")
    done = run(AgentWorkflow([clerk, writer], root_agent="clerk"))
    assert done.text == "Roses."
    assert [issue.current_agent_name for issue in done.issues] == ["clerk", "writer"]


def test_timeouts_hold() -> None:
    """A wrapped agent gives up when the agent within would have."""
    agent = function("3", timeout=0.05)
    agent.llm.pause = 1.0  # type: ignore[attr-defined]

    async def late() -> None:
        await ran(with_hooks(agent), memory=buffer())

    with pytest.raises(Exception, match=r"timed out after 0\.05"):
        asyncio.run(late())


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"mode": "force"}, ValueError, "`mode` must be one of enforce, advise, observe"),
        ({"on_failure": "stop"}, ValueError, "on_failure must be 'return', 'raise' or a function"),
        ({"max_retries": -1}, ValueError, "max_retries must be 0 or more, not -1"),
        ({"token_budget": -1}, ValueError, "`token_budget` must be 0 or more"),
        ({"max_retries": "2"}, TypeError, "`max_retries` must be an int"),
        ({"token_budget": 1.5}, TypeError, "`token_budget` must be an int"),
    ],
)
def test_hooks_that_cannot_be(given: dict[str, Any], error: type[Exception], words: str) -> None:
    """What makes no sense is refused when the hook is made."""
    with pytest.raises(error, match=words):
        hooks(**given)
