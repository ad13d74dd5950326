"""Ten rules, ten situations on real agents; docs/planner.md has a line for each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.tools import RetrieverTool
from llama_index.core.workflow import Context

from llama_index_loopmend import PlannedAgentWorkflow, PlannerStepHook
from llama_index_loopmend.testing import call
from loopmend.contracts import DecompositionProposal
from tests.integrations.llama_index.agents import function
from tests.integrations.llama_index.memories import Words, memory_of, vector_block
from tests.integrations.llama_index.planned import (
    LONG,
    Ran,
    assistant,
    buffer,
    planned,
    ran,
    run,
    shown,
    user,
)

NARRATED = "I will now call the add tool to work this out."


def sources(done: Ran, at: int = -1) -> list[str]:
    """Return which rules proposed the candidates of a plan."""
    return [each["source"] for each in done.plans[at].candidates]


def test_rule_1_talk() -> None:
    """An agent without tools talks, and the model is asked as ever."""
    done = run(planned("function", "Hi!", tools=[]), "Hello")
    assert (done.plans[0].selected, sources(done)) == ("AnswerDirectly", ["rule 1"])
    assert done.text == "Hi!"


def test_rule_2_a_provider_that_is_down() -> None:
    """After three errors the fourth run asks nobody and says why."""
    agent = planned("function", *[ConnectionError("down")] * 3)
    for _ in range(3):
        with pytest.raises(ConnectionError):
            run(agent)
    done = run(agent)
    assert (done.plans[0].selected, done.plans[0].done) == (
        *("ReturnBlocker", "answered without asking the model"),
    )
    assert "rule 2" in sources(done)
    assert len(agent.llm.asked) == 3


def office(*script: Any, **options: Any) -> PlannedAgentWorkflow:
    """Return a workflow of a clerk and a poet."""
    agents: list[Any] = [
        function(name="clerk", description="Takes orders."),
        function(*script, name="poet", description="Writes poems."),
    ]
    hook = [PlannerStepHook(**options)]
    return PlannedAgentWorkflow(agents=agents, root_agent="clerk", hooks=hook)


def test_rule_3_a_specialist_who_is_asked_for() -> None:
    """The poet gets the turn, and the clerk's model is not asked."""
    done = run(office("Roses."), "@poet a poem")
    assert (done.plans[0].selected, done.plans[0].done) == (
        *("DelegateToSpecialist", "handed over to poet"),
    )
    assert (sources(done, 0), done.text) == (["rule 3"], "Roses.")


def test_rule_4_a_specialist_who_is_not_there() -> None:
    """A creator who asks for somebody where there is nobody has one made."""
    made: list[str] = []

    def compose(step: Any, plan: Any) -> str:
        made.append(step.user_text)
        return "Tax is set up."

    hook = [PlannerStepHook(authority="Creator", compose=compose)]
    agent = planned("function", "Done.", hook=hook)
    done = run(agent, "@tax file my return")
    assert (done.plans[0].selected, done.plans[0].done) == ("ComposeSubagent", "composed")
    assert (sources(done), made) == (["rule 4"], ["@tax file my return"])
    assert "Tax is set up." in shown(agent.llm)


def test_rule_5_a_decomposition_gate() -> None:
    """A gate of yours that agrees is told beside the request, and the two are one candidate."""
    gate = DecompositionProposal(should_delegate=True, utility_margin=0.4)
    workflow = office("Roses.", observe=lambda _: {"decomposition_proposal": gate})
    done = run(workflow, "@poet a poem")
    assert sources(done, 0) == ["rule 3, rule 5"]
    assert "utility margin 0.40" in done.plans[0].rationale


def test_rule_6_retrieval_that_missed() -> None:
    """A search that found nothing similar has memory looked into, once."""
    index = VectorStoreIndex.from_documents([Document(text="oslo")], embed_model=Words())
    tool = RetrieverTool.from_defaults(index.as_retriever(), name="search", description="Search.")
    agent = planned("function", call("search", input="dogs"), "Two.", tools=[tool])

    async def turn() -> Ran:
        async with memory_of(block := vector_block(name="facts")) as memory:
            await block.aput([user("I have two dogs."), assistant("I see.")])
            return await ran(agent, "How many animals?", memory=memory)

    done = asyncio.run(turn())
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized", "InspectMemory"]
    assert "rule 6" in sources(done)
    assert done.plans[1].done in ("looked into memory", "found nothing new in memory")


def test_rule_7_a_skill_that_is_missing() -> None:
    """Without a callback of yours the event advises the developer, and the model hears nothing."""
    known = {"missing_skills": ["pdf"], "authority": "Creator"}
    agent = planned("function", "3", hook=[PlannerStepHook(observe=lambda _: known)])
    done = run(agent)
    assert (done.plans[0].selected, sources(done)) == ("ComposeSkill", ["rule 7"])
    assert done.plans[0].advice == "Missing skills: pdf. Pass `compose=` to create it."
    assert "pdf" not in shown(agent.llm)


def test_rule_8_a_reply_that_broke_the_protocol() -> None:
    """The mistake is named before the next reply."""
    agent = planned("function", NARRATED, "3", hook=[PlannerStepHook()])

    async def turns() -> Ran:
        ctx: Any = Context(agent)
        await ran(agent, ctx=ctx)
        return await ran(agent, "And now?", ctx=ctx)

    done = asyncio.run(turns())
    assert (done.plans[0].selected, done.plans[0].done) == (
        *("NormalizationRetry", "named the mistake"),
    )
    assert sources(done) == ["rule 8"]
    assert "You described a tool call but did not make it." in shown(agent.llm, 1)


def test_rule_9_replies_that_are_all_alike() -> None:
    """That is told in the event, and the prompt stays as it is."""
    memory = buffer(*[each for n in range(3) for each in (user(f"{n} ?"), assistant(LONG))])
    agent = planned("function", "3")
    done = run(agent, "Go on with that, please, and do not stop", memory=memory)
    assert done.plans[0].hints == [
        "Vary the structure of the reply: the latest ones are all built alike."
    ]
    assert "Structural repetition (rule 9)" in done.plans[0].differences[0]
    assert "Vary" not in shown(agent.llm)


def test_rule_10_messages_that_get_shorter() -> None:
    """That is told in the event, and the prompt stays as it is."""
    said = ["Tell me all there is to know about the fjords", "And the rest of it, please?", "More?"]
    memory = buffer(*[each for text in said for each in (user(text), assistant(LONG))])
    agent = planned("function", "3")
    done = run(agent, "Go", memory=memory)
    assert done.plans[0].hints[1].startswith("The user's messages are getting shorter.")
    assert "getting shorter" not in shown(agent.llm)
