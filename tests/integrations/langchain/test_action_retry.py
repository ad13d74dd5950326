"""`prompt | with_action_retry(llm)`: all ways to run it, and what it does when nothing helps."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.language_models import FakeListLLM
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate

from langchain_loopmend import (
    ActionParseException,
    AgentActionOutputParser,
    GaveUp,
    with_action_retry,
)
from langchain_loopmend.testing import ScriptedChatModel
from tests.integrations.langchain.events import Events
from tests.integrations.langchain.tools import TOOLS, wait

PROMPT = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{q}")])
BAD, GOOD = "Let me search for that.", "Action: search\nAction Input: Oslo"
ASK = {"q": "Where is Oslo?"}


async def collected(chain: Any, given: Any, config: Any = None) -> list[Any]:
    """Collect an async stream."""
    return [chunk async for chunk in chain.astream(given, config)]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])
def test_every_way_to_run(way: str) -> None:
    """A bad reply is corrected however the chain is run, and the model is asked in that way."""
    llm = ScriptedChatModel(script=[BAD, GOOD])
    chain = PROMPT | with_action_retry(llm, tools=TOOLS)
    run: dict[str, Any] = {
        "invoke": lambda: [chain.invoke(ASK)],
        "ainvoke": lambda: [wait(chain.ainvoke(ASK))],
        "batch": lambda: chain.batch([ASK]),
        "abatch": lambda: wait(chain.abatch([ASK])),
        "stream": lambda: list(chain.stream(ASK)),
        "astream": lambda: wait(collected(chain, ASK)),
    }
    found = run[way]()
    assert [(a.tool, a.tool_input) for a in found] == [("search", {"query": "Oslo"})]
    asked = {"invoke": "sync", "batch": "sync", "ainvoke": "async", "abatch": "async"}
    assert set(llm.ways) == {asked.get(way, way)}


def test_roles_are_kept() -> None:
    """The correction follows the whole conversation, roles and all attempts included."""
    llm = ScriptedChatModel(script=[BAD, "", GOOD])
    (PROMPT | with_action_retry(llm)).invoke(ASK)
    assert [type(m).__name__ for m in llm.asked[2]] == [
        *("SystemMessage", "HumanMessage", "AIMessage", "HumanMessage", "HumanMessage"),
    ]
    assert llm.asked[2][2].content == BAD


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_callbacks(*, asynchronous: bool, streaming: bool) -> None:
    """Runs nest under one root, are tagged by attempt, and each retry is announced."""
    events = Events()
    chain = with_action_retry(ScriptedChatModel(script=[BAD, GOOD]))
    config: Any = {"callbacks": [events], "tags": ["mine"]}
    if streaming:
        _ = (
            wait(collected(chain, "go", config))
            if asynchronous
            else list(chain.stream("go", config))
        )
        assert "".join(events.tokens) == BAD + GOOD
    elif asynchronous:
        wait(chain.ainvoke("go", config))
    else:
        chain.invoke("go", config)
    assert events.roots == 1
    assert events.runs == [
        ("ActionRetry", ()),
        ("model", ("loopmend:attempt:1",)),
        ("AgentActionOutputParser", ("loopmend:attempt:1",)),
        ("model", ("loopmend:attempt:2",)),
        ("AgentActionOutputParser", ("loopmend:attempt:2",)),
    ]
    [(name, data)] = events.custom
    assert (name, data["attempt"], data["pattern"]) == ("loopmend_retry", 1, "narrated")
    assert data["message"] == "The model described a tool call without making it."
    assert "cannot be used" in data["correction"]


def test_keyword_arguments_reach_the_model() -> None:
    """Stop sequences and the like can be bound as to the model itself."""
    seen: list[Any] = []

    class Model(ScriptedChatModel):
        def _generate(  # type: ignore[override]
            self, messages: Any, stop: Any = None, **kwargs: Any
        ) -> Any:
            seen.append(stop)
            return super()._generate(messages, stop, **kwargs)

    with_action_retry(Model(script=[GOOD])).bind(stop=["\nObservation"]).invoke("go")
    assert seen == [["\nObservation"]]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_exhausted(retries: int) -> None:
    """When nothing helps, the last error is raised or returned; never is the bound exceeded."""
    llm = ScriptedChatModel(script=[BAD] * (retries + 1))
    with pytest.raises(ActionParseException, match="Let me search"):
        with_action_retry(llm, max_retries=retries).invoke("go")
    assert len(llm.asked) == retries + 1
    llm = ScriptedChatModel(script=[BAD] * (retries + 1))
    given_up = with_action_retry(llm, max_retries=retries, on_exhausted="return").invoke("go")
    assert isinstance(given_up, GaveUp)
    assert isinstance(given_up, AgentFinish)
    assert (given_up.return_values, given_up.retries) == ({"output": BAD}, retries)
    assert given_up.failure is not None
    assert given_up.failure.message == given_up.error


def test_foreign_parser_exhausted() -> None:
    """With another parser there is no failure in our terms, but its own words."""
    llm = ScriptedChatModel(script=["?"], repeat=True)
    chain = with_action_retry(llm, JsonOutputParser(), on_exhausted="return")
    given_up = chain.invoke("go")
    assert given_up.failure is None
    assert "Invalid json output" in given_up.error
    assert dumpd(given_up)["type"] == "not_implemented"


def test_another_model_for_asking_again() -> None:
    """A stronger model can be kept for corrections."""
    weak, strong = ScriptedChatModel(script=[BAD]), ScriptedChatModel(script=[GOOD])
    found = with_action_retry(weak, retry_llm=strong).invoke("go")
    assert (found.tool, len(weak.asked), len(strong.asked)) == ("search", 1, 1)


@pytest.mark.parametrize(
    "given",
    [
        "go",
        PromptTemplate.from_template("go").format_prompt(),
        [HumanMessage("go")],
        [("human", "go")],
    ],
    ids=["text", "prompt", "messages", "tuples"],
)
def test_any_input_of_a_model(given: Any) -> None:
    """Whatever a model takes is taken, by chat models and by models of plain text."""
    llm = ScriptedChatModel(script=[BAD, GOOD])
    assert with_action_retry(llm).invoke(given).tool == "search"
    assert llm.asked[1][0] == HumanMessage("go")
    text_model = FakeListLLM(responses=[BAD, GOOD])
    assert with_action_retry(text_model).invoke(given).tool == "search"


def test_models_of_plain_text_go_on_with_their_text() -> None:
    """A text model sees its prompt, its reply and the correction as one text."""
    seen: list[str] = []

    class Model(FakeListLLM):
        def _call(self, prompt: str, *args: Any, **kwargs: Any) -> str:
            seen.append(prompt)
            return super()._call(prompt, *args, **kwargs)

    with_action_retry(Model(responses=[BAD, GOOD])).invoke("Question: where?\nThought:")
    assert seen[1].startswith(f"Question: where?\nThought:{BAD}\n\nYour last reply cannot be used.")
    streamed = list(with_action_retry(FakeListLLM(responses=[GOOD])).stream("go"))
    assert streamed[0].tool == "search"


def test_types_for_agents_and_dumps() -> None:
    """Agents look at the types; dumps hold the parts."""
    chain = with_action_retry(ScriptedChatModel(script=[GOOD]), tools=["search"])
    assert chain.OutputType == AgentActionOutputParser().OutputType
    assert chain.InputType == ScriptedChatModel(script=[]).InputType
    assert dumpd(chain)["kwargs"]["max_retries"] == 2


def test_tools_belong_to_one_place() -> None:
    """A parser brings its tools along: giving both is an error."""
    with pytest.raises(TypeError, match="give the tools to the parser"):
        with_action_retry(ScriptedChatModel(script=[]), AgentActionOutputParser(), TOOLS)


def test_errors_of_the_model_are_not_ours() -> None:
    """What the model raises goes through at once; only replies are corrected."""
    llm = ScriptedChatModel(script=[ConnectionError("down")])
    with pytest.raises(ConnectionError, match="down"):
        with_action_retry(llm).invoke("go")
    assert len(llm.asked) == 1


def test_native_calls_count() -> None:
    """A reply that calls through the interface needs no correction."""
    reply = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "x"}, "id": "1"}])
    found = with_action_retry(ScriptedChatModel(script=[reply]), tools=TOOLS).invoke("go")
    assert isinstance(found, AgentAction)
