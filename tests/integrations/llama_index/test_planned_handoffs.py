"""Handing over to a specialist, by LlamaIndex's own means, in workflows of several agents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import (
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
    ToolCallResult,
)
from llama_index.core.agent.workflow.agent_context import SimpleAgentContext
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import ToolMetadata
from llama_index.core.workflow import Context

from llama_index_loopmend import AgentStep, HandOver, PlannedAgentWorkflow, StepHook, with_hooks
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend.planning import RosterMatch
from tests.integrations.llama_index.agents import TOOLS
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.planned import (
    Ran,
    answer,
    buffer,
    ran,
    run,
    shown,
)

ASK = "@writer a poem, please."
DOES = {
    "clerk": "Takes orders.",
    "writer": "Writes poems and reports.",
    "ResearchAgent": "Looks things up.",
}
CLASSES: dict[str, Any] = {"react": ReActAgent, "function": FunctionAgent, "code": CodeActAgent}


def member(kind: str, name: str, *script: Any, **options: Any) -> Any:
    """Return an agent for a workflow, natively."""
    given: dict[str, Any] = {"name": name, "description": DOES[name], "tools": TOOLS[:1], **options}
    if kind == "code":
        given["code_execute_fn"] = executed
    return CLASSES[kind](llm=ScriptedLLM(script=script), **given)


def executed(code: str) -> str:
    """Execute code, or say so."""
    return f"ran {code}"


def team(*members: Any, hook: Any = None, own: bool = False, **options: Any) -> AgentWorkflow:
    """Return a workflow of agents: LlamaIndex's with planned agents, or ours."""
    hook = hook or hooks()
    if own:
        return PlannedAgentWorkflow(list(members), root_agent="clerk", hooks=hook, **options)
    agents: list[Any] = [with_hooks(each, hook) for each in members]
    return AgentWorkflow(agents, root_agent="clerk", **options)


def handovers(done: Ran) -> list[str]:
    """Return to whom a run was really handed over, in order."""
    results = [each for each in done.events if isinstance(each, ToolCallResult)]
    return [each.tool_kwargs["to_agent"] for each in results if each.tool_name == "handoff"]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("first", list(CLASSES))
@pytest.mark.parametrize("second", ["react", "function"])
def test_a_request_is_a_real_handoff(first: str, second: str, own: bool) -> None:  # noqa: FBT001
    """Who asks for the writer gets the writer, without the clerk's model being asked."""
    clerk = member(first, "clerk")
    writer = member(second, "writer", answer(second, "Roses are red."))
    done = run(team(clerk, writer, own=own), ASK)
    assert done.text == "Roses are red."
    assert done.output.current_agent_name == "writer"
    assert handovers(done) == ["writer"]
    assert clerk.llm.asked == []
    assert [(plan.current_agent_name, plan.done) for plan in done.plans] == [
        ("clerk", "handed over to writer"),
        ("writer", None),
    ]
    assert [plan.selected for plan in done.plans] == ["DelegateToSpecialist", "ContinueCentralized"]


@pytest.mark.parametrize("first", list(CLASSES))
def test_the_specialist_is_shown_the_handover(first: str) -> None:
    """Each result that the specialist sees belongs to a call that it sees as well."""
    writer = member("function", "writer", "Roses are red.")
    run(team(member(first, "clerk"), writer), ASK)
    assert "Agent writer is now handling the request" in shown(writer.llm)
    messages = writer.llm.asked[0]
    made = [b.tool_call_id for m in messages for b in m.blocks if isinstance(b, ToolCallBlock)]
    results = [
        message.additional_kwargs["tool_call_id"]
        for message in messages
        if message.role.value == "tool"
    ]
    assert results == made


def test_who_was_handed_over_to_does_the_work() -> None:
    """A specialist is not sent on because the message fits another one too."""
    text = "@writer @ResearchAgent look things up and write an order for poems."
    writer = member("function", "writer", "Done.")
    clerk, research = member("function", "clerk"), member("function", "ResearchAgent")
    done = run(team(clerk, writer, research), text)
    assert done.text == "Done."
    assert handovers(done) == ["writer"]


def test_who_is_asked_for_and_has_the_turn_keeps_it() -> None:
    """In the next turn the writer is not sent to the clerk by a request for the writer."""
    text = "@writer a poem about orders."
    clerk, writer = member("function", "clerk"), member("function", "writer", "One.", "Two.")
    workflow = team(clerk, writer)

    async def turns() -> list[Ran]:
        ctx, memory = Context(workflow), buffer()
        return [await ran(workflow, text, ctx=ctx, memory=memory) for _ in range(2)]

    first, second = asyncio.run(turns())
    assert (first.text, handovers(first)) == ("One.", ["writer"])
    assert (second.text, handovers(second)) == ("Two.", [])


def test_never_twice_to_the_same() -> None:
    """When the work comes back, the clerk goes on by itself, in this turn but not for ever."""
    back = call("handoff", to_agent="clerk", reason="done")
    clerk = member("function", "clerk", "A poem, as you asked.")
    writer = member("function", "writer", back, "Another one.")
    workflow = team(clerk, writer)

    async def turns() -> list[Ran]:
        ctx, memory = Context(workflow), buffer()
        return [await ran(workflow, ASK, ctx=ctx, memory=memory) for _ in range(2)]

    first, second = asyncio.run(turns())
    assert (first.text, handovers(first)) == ("A poem, as you asked.", ["writer", "clerk"])
    assert (second.text, handovers(second)) == ("Another one.", ["writer"])


def test_one_after_the_other() -> None:
    """Of two that are asked for the second gets its turn when the first one is done."""
    back = call("handoff", to_agent="clerk", reason="done")
    clerk = member("function", "clerk")
    writer = member("function", "writer", "A poem on what was found.")
    research = member("function", "ResearchAgent", back)
    done = run(team(clerk, research, writer), "@ResearchAgent find facts. @writer write them up.")
    assert handovers(done) == ["ResearchAgent", "clerk", "writer"]
    assert clerk.llm.asked == []


def test_a_callback_cannot_make_it_hand_over_twice() -> None:
    """What the user's own callback says of who fits holds once a turn as well."""
    known = {
        "explicit_specialist_workflow": True,
        "fit_agent_count": 1,
        "fit_agent_names": ["writer"],
    }
    hook = hooks(observe=lambda view: known if view.agent_name == "clerk" else {})
    back = call("handoff", to_agent="clerk", reason="done")
    clerk = member("function", "clerk", "Here it is.")
    done = run(team(clerk, member("function", "writer", back), hook=hook), "A poem.")
    assert handovers(done) == ["writer", "clerk"]
    assert done.outcomes == ["handed over to writer", None, None]


@pytest.mark.parametrize("own", [False, True])
def test_who_may_not_be_handed_over_to_is_not(own: bool) -> None:  # noqa: FBT001
    """The permissions of the workflow hold for the planner too."""
    clerk = member("function", "clerk", "I cannot.", can_handoff_to=["ResearchAgent"])
    writer, research = member("function", "writer"), member("function", "ResearchAgent")
    done = run(team(clerk, writer, research, own=own), ASK)
    assert (done.text, handovers(done)) == ("I cannot.", [])


def test_who_may_hand_over_to_nobody() -> None:
    """Without LlamaIndex's tool to hand over with nobody is handed over to."""
    clerk = member("function", "clerk", "I cannot.", can_handoff_to=[])
    done = run(team(clerk, member("function", "writer")), ASK)
    assert (done.text, handovers(done)) == ("I cannot.", [])


def test_the_best_that_is_allowed() -> None:
    """Of several that fit the first is taken that may be."""
    hook = hooks(
        match=lambda text, roster: RosterMatch(explicit=True, names=("stranger", "writer"))
    )
    clerk, writer = member("function", "clerk"), member("function", "writer", "Roses.")
    done = run(team(clerk, writer, hook=hook), "A poem.")
    assert handovers(done) == ["writer"]


def test_a_specialist_is_not_handed_what_nobody_asked_for() -> None:
    """That a description fits, or a name is mentioned, is no request: the model decides."""
    clerk = member("function", "clerk", "No.")
    done = run(team(clerk, member("function", "writer")), "I would like some poems.")
    assert handovers(done) == []
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized"]


def test_a_prompt_without_descriptions() -> None:
    """With a prompt of the user's own the names are still known."""
    clerk, writer = member("function", "clerk"), member("function", "writer", "Roses.")
    workflow = team(clerk, writer, handoff_prompt=PromptTemplate("Hand over, if you must."))
    assert handovers(run(workflow, ASK)) == ["writer"]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("Agents: {'writer': 'Writes.'}", "Writes."),
        ("Agents: none", ""),
        ("Agents: {'writer' 'Writes.'}", ""),
        ("Agents: {'writer': nothing, 'x': '1'}", ""),
        ("Agents: {'writer'}", ""),
        (None, ""),
    ],
)
def test_what_specialists_do(told: str | None, found: str) -> None:
    """What each does is read from the tool's description, where it is there."""

    class Tool:
        metadata = ToolMetadata(told or "", "handoff")

    stored = {"agents": ["clerk", "writer"], "can_handoff_to": {"clerk": None}}
    assert roster("clerk", stored, [Tool()]) == {"writer": found}
    assert roster("clerk", {}, [Tool()]) == {}
    assert roster("clerk", stored, []) == {}


def roster(name: str, stored: dict[str, Any], tools: list[Any]) -> Any:
    """Return the roster of a step."""
    agent = FunctionAgent(name=name, llm=ScriptedLLM(script=[]))
    memory = ChatMemoryBuffer.from_defaults(token_limit=1_000)
    return AgentStep(agent, SimpleAgentContext(), [], tools, memory, stored).roster


def test_a_hook_may_hand_over() -> None:
    """A hook of your own hands over to whom the agent may hand over to, and to nobody else."""

    class Over(StepHook):
        to = "writer"

        async def before(self, step: AgentStep) -> HandOver | None:
            return HandOver(self.to, "as always") if step.agent_name == "clerk" else None

    clerk, writer = member("function", "clerk"), member("function", "writer", "Roses.")
    hook = Over()
    done = run(team(clerk, writer, hook=[hook]), "A poem.")
    assert (done.text, handovers(done)) == ("Roses.", ["writer"])
    hook.to = "stranger"
    with pytest.raises(ValueError, match="`clerk` may not hand over to 'stranger'"):
        run(team(clerk, writer, hook=[hook]), "A poem.")


@pytest.mark.parametrize(
    "text",
    [
        "If it rains, ask @writer for a poem.",
        "Sum 1 and 2 first, then ask the writer.",
        "Do not ask writer.",
        "@clerk do it yourself, then @writer may look at it.",
        "What does ResearchAgent do?",
    ],
)
def test_what_the_model_decides(text: str) -> None:
    """A condition, a denial, a question, or work of the agent's own before it: no handover."""
    clerk = member("function", "clerk", "I see.")
    done = run(team(clerk, member("function", "writer"), member("function", "ResearchAgent")), text)
    assert (done.text, handovers(done)) == ("I see.", [])
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized"]
