"""`PlannerMiddleware`: plans each model call of `create_agent` from facts of the run."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage

pytest.importorskip("langchain.agents")

from langchain.agents.middleware import wrap_model_call
from langchain.agents.structured_output import ToolStrategy
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphInterrupt

from langchain_loopmend.messages import ENDED
from langchain_loopmend.middleware import PlannerMiddleware
from langchain_loopmend.middleware.planner import Kept, ModelStep
from loopmend import Failure, FailurePattern, NormalizationError, Planner
from loopmend.breaker import CircuitBreaker
from loopmend.contracts import ActionCandidate, PlannedAction, RetrievalMetrics, TaskStateInput
from tests.integrations.langchain.test_agents import DONE, GOOD, NARRATED, QUESTION, agent
from tests.integrations.langchain.tools import wait


@dataclass
class City:
    """A city."""

    name: str


NARRATION_TOLD = "In your last turn: You described a tool call but did not make it."


@pytest.mark.parametrize("asynchronous", [False, True])
def test_planner_names_the_mistake(*, asynchronous: bool) -> None:
    """After a protocol error of the last turn the model is told which, only for the one call."""
    run, llm = agent(GOOD, DONE, middleware=[PlannerMiddleware()], system_prompt="Be brief.")
    history: Any = {"messages": [("user", "Where?"), ("ai", NARRATED), ("user", "Well?")]}
    result = wait(run.ainvoke(history)) if asynchronous else run.invoke(history)
    assert result["plan"]["selected"] == "ContinueCentralized"
    first, second = (str(asked[0].content) for asked in llm.asked)
    assert first.startswith(f"Be brief.\n\n{NARRATION_TOLD}")
    assert second == "Be brief."
    assert all(message.type != "system" for message in result["messages"])


def test_planner_observes() -> None:
    """The plan is made and kept, but nobody acts on it."""
    looks = PlannerMiddleware(mode="observe", token_budget=0)
    run, llm = agent(DONE, middleware=[looks])
    result = run.invoke({"messages": [("user", "Where?"), ("ai", NARRATED), ("user", "Well?")]})
    assert [message.type for message in llm.asked[0]] == ["human", "ai", "human"]
    assert result["plan"]["selected"] == "ReturnBlocker"
    assert result["messages"][-1].content == DONE


def test_planner_advises() -> None:
    """The model is told what the plan would do."""
    run, llm = agent(DONE, middleware=[PlannerMiddleware(mode="advise", token_budget=0)])
    run.invoke(QUESTION)
    why = "Token budget of 0 is used up."
    said = f"Suggested next step: tell the user why the run cannot go on. {why}"
    assert llm.asked[0][0].content == said


REPETITIVE = "I have looked for the hotel that you asked for, and so far I have found none there."


@pytest.mark.parametrize("hints", [False, True])
def test_planner_hints_at_repetition_only_if_asked_to(*, hints: bool) -> None:
    """Rules 9 and 10 guess at the user's taste: by default only the plan has them."""
    run, llm = agent(DONE, middleware=[PlannerMiddleware(hints=hints)])
    turns: list[Any] = [("user", "Find a hotel."), ("ai", REPETITIVE)] * 3
    result = run.invoke({"messages": [*turns, ("user", "Well?")]})
    assert result["plan"]["hints"]
    assert (llm.asked[0][0].type == "system") is hints


def test_planner_blocks() -> None:
    """A blocker ends the run with an answer and without a model call, in a conversation too."""
    fields: dict[str, Any] = {"intents": (), "provider_breaker_open": True}
    run, llm = agent(DONE, middleware=[PlannerMiddleware(observe=lambda step: fields)])
    result = run.invoke(QUESTION)
    assert result["plan"]["selected"] == "ReturnBlocker"
    assert result["messages"][-1].content.startswith("Stopped: Provider")
    assert result["messages"][-1].response_metadata == {ENDED: "blocked"}
    assert len(result["plan"]["differences"]) == 1
    assert llm.asked == []


def test_planner_blocks_a_structured_answer() -> None:
    """Under a response format the run ends as well, without a structured response."""
    run, llm = agent(
        DONE, middleware=[PlannerMiddleware(token_budget=0)], response_format=ToolStrategy(City)
    )
    result = run.invoke(QUESTION)
    assert result["messages"][-1].content == "Stopped: Token budget of 0 is used up."
    assert result.get("structured_response") is None
    assert llm.asked == []


def test_planner_counts_tokens_of_the_turn() -> None:
    """What the provider reports counts against the budget, until the user's next message."""
    usage: Any = {"input_tokens": 90, "output_tokens": 20, "total_tokens": 110}
    costly = GOOD.model_copy(update={"usage_metadata": usage})
    middleware = [PlannerMiddleware(token_budget=100)]
    run, llm = agent(costly, DONE, middleware=middleware, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    first = run.invoke(QUESTION, config)
    assert first["messages"][-1].content == "Stopped: Token budget of 100 is used up."
    assert first["plan"]["known"]["tokens_left"] == 0
    assert run.invoke(QUESTION, config)["messages"][-1].content == DONE
    assert len(llm.asked) == 2


def test_checkpoint_contains_nothing_of_a_run() -> None:
    """What the planner keeps while a run goes on can be written down as nothing, whatever it is."""
    kept = Kept()
    kept.run[PlannerMiddleware()] = object()
    kind, data = JsonPlusSerializer().dumps_typed({"planner_run": kept})
    assert kind == "msgpack"
    assert b"PlannerMiddleware" not in data


def test_planner_estimates_what_nobody_counts() -> None:
    """Without a report of the provider the words count, a token for four characters."""
    run, llm = agent(GOOD, DONE, middleware=[PlannerMiddleware(token_budget=3)])
    said = run.invoke(QUESTION)["messages"][-1].content
    assert said == "Stopped: Token budget of 3 is used up."
    assert len(llm.asked) == 1


def test_planner_keeps_a_breaker_for_each_model() -> None:
    """Errors of the provider open it, a reply that arrived does not; an open one blocks."""
    down = ConnectionError("the provider is down")
    run, llm = agent(*[down] * 9, middleware=[PlannerMiddleware()])
    for _ in range(CircuitBreaker().threshold):
        with pytest.raises(ConnectionError):
            run.invoke(QUESTION)
    asked = len(llm.asked)
    assert run.invoke(QUESTION)["messages"][-1].content.startswith("Stopped: Provider circuit")
    assert len(llm.asked) == asked


@pytest.mark.parametrize("error", [NormalizationError, GraphInterrupt])
def test_planner_takes_only_the_providers_errors(error: type[Exception]) -> None:
    """A reply that was refused did arrive, and a pause says nothing."""

    @wrap_model_call
    def fail(request: Any, handler: Any) -> Any:
        if error is NormalizationError:
            raise NormalizationError(Failure(FailurePattern.EMPTY, "Nothing was said.", (0, 0)), 0)
        raise error

    breaker = CircuitBreaker(threshold=1)
    run, _ = agent(DONE, middleware=[PlannerMiddleware(breaker=breaker), fail])
    with contextlib.suppress(NormalizationError):
        run.invoke(QUESTION)
    assert not breaker.is_open()


def test_planner_knows_what_is_left_of_the_window() -> None:
    """The model's profile says how much it can see, and its replies how much that was."""
    usage: Any = {"input_tokens": 900, "output_tokens": 50, "total_tokens": 950}
    costly = GOOD.model_copy(update={"usage_metadata": usage})
    known: list[Any] = []
    profiles: tuple[Any, ...] = ({"max_input_tokens": 1000}, None)
    for profile in profiles:
        run, llm = agent(costly, DONE, middleware=[PlannerMiddleware(mode="observe")])
        llm.profile = profile
        known.append(run.invoke(QUESTION)["plan"]["known"]["tokens_left"])
    assert known == [50, None]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_planner_looks_into_memory(*, asynchronous: bool) -> None:
    """Where retrieval left a gap, the host's own look is told to the model, once a turn."""
    looks: list[str] = []

    def look(step: ModelStep) -> str:
        looks.append(step.user_text)
        return "Oslo is in Norway."

    async def look_async(step: ModelStep) -> str:
        return look(step)

    gap = {"retrieval_metrics": RetrievalMetrics(1, True, 0.1)}
    middleware = [
        PlannerMiddleware(
            observe=lambda step: gap, inspect_memory=look_async if asynchronous else look
        )
    ]
    run, llm = agent(GOOD, DONE, middleware=middleware)
    _ = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert [asked[0].content for asked in llm.asked][:1] == ["From memory:\nOslo is in Norway."]
    assert looks == ["Where is Oslo?"]


def test_planner_plans_anew_only_when_a_fact_changed() -> None:
    """A plan stands as long as the facts do: three steps of one kind are one plan."""
    planned: list[Any] = []

    @dataclass(frozen=True)
    class Counting(Planner):
        def advise(self, *given: Any, **how: Any) -> Any:
            planned.append(given)
            return super().advise(*given, **how)

    run, llm = agent(GOOD, GOOD, DONE, middleware=[PlannerMiddleware(planner=Counting())])
    run.invoke(QUESTION)
    assert (len(planned), len(llm.asked)) == (1, 3)


def test_planner_counts_failures_in_a_row() -> None:
    """Results that the host marks as errors are counted from the end."""
    bad = ToolMessage("no", tool_call_id="1", status="error")
    fine = ToolMessage("yes", tool_call_id="2")
    made = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": n} for n in "1234"])
    results = [fine, bad.model_copy(update={"tool_call_id": "3"}), bad]
    run, _ = agent(DONE, middleware=[PlannerMiddleware()])
    result = run.invoke({"messages": [("user", "Go"), made, *results]})
    assert result["plan"]["known"]["failures_in_a_row"] == 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_planner_with_rules_of_ones_own(*, asynchronous: bool) -> None:
    """A host's own blocker ends the run, in its own words; otherwise nothing differs."""

    def no_deletion(state: Any, input: TaskStateInput) -> ActionCandidate | None:
        if "delete" not in input.user_content:
            return None
        return ActionCandidate(PlannedAction.RETURN_BLOCKER, 0.9, "Nothing is deleted here.")

    middleware = [PlannerMiddleware(planner=Planner([no_deletion]))]
    said = []
    for question in ("Where is Oslo?", "Please delete Oslo."):
        run, _ = agent(DONE, middleware=middleware)
        asked: Any = {"messages": [("user", question)]}
        result = wait(run.ainvoke(asked)) if asynchronous else run.invoke(asked)
        said.append((result["messages"][-1].content, len(result["plan"]["differences"])))
    assert said == [(DONE, 0), ("Stopped: Nothing is deleted here.", 1)]


@pytest.mark.parametrize(("broken", "reminded"), [(0, False), (1, True), (2, True), (3, False)])
def test_planner_reminds_twice_in_a_row(broken: int, *, reminded: bool) -> None:
    """A model that was reminded twice and still narrates is let go on."""
    run, llm = agent(DONE, middleware=[PlannerMiddleware()])
    turns: list[Any] = [("user", "Well?"), ("ai", DONE)]
    turns += [("user", "Well?"), ("ai", NARRATED)] * broken
    result = run.invoke({"messages": [*turns, ("user", "Well?")]})
    assert (llm.asked[0][0].type == "system") is reminded
    assert len(result["plan"]["differences"]) == (broken == 3)


def test_a_result_ends_the_row_of_broken_replies() -> None:
    """After a call that was made the model is reminded anew."""
    run, llm = agent(DONE, middleware=[PlannerMiddleware()])
    broken: list[Any] = [("ai", NARRATED), ("user", "Well?")] * 3
    worked: list[Any] = [GOOD, ToolMessage("Norway", tool_call_id="call_1")]
    run.invoke({"messages": [("user", "Go"), *broken, *worked, *broken[:2]]})
    assert str(llm.asked[0][0].content).startswith(NARRATION_TOLD)


def test_notes_keep_the_blocks_of_a_system_message() -> None:
    """Marks for a provider's cache stay where they are."""
    block: Any = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    prompt = SystemMessage(content=[block])
    run, llm = agent(DONE, middleware=[PlannerMiddleware()], system_prompt=prompt)
    run.invoke({"messages": [("user", "Where?"), ("ai", NARRATED), ("user", "Well?")]})
    content: Any = llm.asked[0][0].content
    assert content[0] == block
    assert content[1]["text"].startswith(NARRATION_TOLD)
