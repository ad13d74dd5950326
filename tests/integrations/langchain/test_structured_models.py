"""The mended chat model is a chat model: tools, structured output by every method, agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel
from typing_extensions import TypedDict

from langchain_loopmend import (
    AgentActionOutputParser,
    ToolCallRetry,
    ValueParseException,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel, call
from tests.integrations.langchain.events import Events
from tests.integrations.langchain.tools import search, wait


class City(BaseModel):
    """A city."""

    name: str
    people: int


class Place(TypedDict):
    """A place."""

    name: str
    people: int


@dataclass
class Town:
    """A town."""

    name: str
    people: int


DATA: dict[str, Any] = {"name": "Oslo", "people": 717710}
OSLO = City(**DATA)
WRITTEN = '{"name": "Oslo", "people": 717710}'


class Provider(ScriptedChatModel):
    """A model whose client has all three methods, as langchain-openai's has."""

    given: list[Any] = []  # noqa: RUF012 - pydantic copies it

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Bind tools as clients do."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(
        self, schema: Any = None, *, method: str = "json_schema", **kwargs: Any
    ) -> Any:
        """Bind what each method needs."""
        if method == "function_calling":
            return super().with_structured_output(schema, **kwargs)
        if method == "json_mode":
            return self.bind(response_format={"type": "json_object"})
        tool = convert_to_openai_tool(schema)["function"]
        return self.bind(response_format={"type": "json_schema", "schema": tool["parameters"]})

    def _next(self, messages: Any, way: Any, kwargs: Any) -> AIMessage:
        self.given.append(dict(kwargs))
        return super()._next(messages, way, kwargs)


@pytest.mark.parametrize("method", ["function_calling", "json_mode", "json_schema"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_method(method: str, *, asynchronous: bool) -> None:
    """The model is bound as its own method binds it, read in any form, and asked again."""
    bad = call("City", name="Oslo") if method == "function_calling" else '{"name": "Oslo"}'
    good = call("City", **DATA) if method == "function_calling" else f"```json\n{WRITTEN}\n```"
    llm = Provider(script=[bad, good], given=[])
    chain = with_tool_call_retry(llm).with_structured_output(City, method=method)
    found = wait(chain.ainvoke("How big?")) if asynchronous else chain.invoke("How big?")
    assert found == OSLO
    wanted = "tools" if method == "function_calling" else "response_format"
    assert [wanted in given for given in llm.given] == [True, True]
    assert "`people` is missing" in str(llm.asked[1][-1].content)


def test_a_refused_call_goes_back_with_our_answer() -> None:
    """The model sees its call and what is wrong with it, not two questions of a human."""
    llm = Provider(script=[call("City", name="Oslo"), call("City", **DATA)], given=[])
    chain = with_tool_call_retry(llm).with_structured_output(City, method="function_calling")
    assert chain.invoke("How big is Oslo?") == OSLO
    human, made, answer = llm.asked[1]
    assert human == HumanMessage("How big is Oslo?")
    assert isinstance(made, AIMessage)
    assert made.tool_calls[0]["args"] == {"name": "Oslo"}
    assert (answer.type, answer.status) == ("tool", "error")  # type: ignore[attr-defined]
    assert str(answer.content).startswith("Fix only this: `people` is missing: an integer.")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (City, OSLO),
        (Place, DATA),
        (convert_to_openai_tool(City), DATA),
        ({**City.model_json_schema(), "description": "A city."}, DATA),
    ],
    ids=["model", "typed-dict", "tool", "json-schema"],
)
def test_every_kind_of_schema(schema: Any, expected: Any) -> None:
    """What LangChain's method takes is taken, and returned as LangChain returns it."""
    llm = Provider(script=[call("Place" if schema is Place else "City", **DATA)], given=[])
    chain = with_tool_call_retry(llm).with_structured_output(schema, method="function_calling")
    assert chain.invoke("go") == expected


def test_with_the_raw_reply() -> None:
    """`include_raw` returns the reply beside the value, or beside the error."""
    llm = Provider(script=["It is big.", WRITTEN], given=[])
    found = with_tool_call_retry(llm).with_structured_output(City, include_raw=True).invoke("go")
    assert (found["raw"].content, found["parsed"]) == (WRITTEN, OSLO)
    assert found["parsing_error"] is None
    llm = Provider(script=["It is big.", "Very."], given=[])
    mended = with_tool_call_retry(llm, max_retries=1)
    found = mended.with_structured_output(City, include_raw=True).invoke("go")
    assert (found["raw"].content, found["parsed"]) == ("Very.", None)
    assert isinstance(found["parsing_error"], ValueParseException)
    assert mended.with_structured_output(City, include_raw=True).OutputType == dict[str, Any]


def test_when_nothing_helps_it_raises() -> None:
    """As LangChain's does, with its kind of exception."""
    llm = Provider(script=["No.", "Never.", "Not now."], given=[])
    with pytest.raises(OutputParserException):
        with_tool_call_retry(llm).with_structured_output(City).invoke("go")


def test_models_without_a_method_of_their_own() -> None:
    """A model that knows no structured output is asked in words."""
    llm = FakeListChatModel(responses=["It is big.", WRITTEN])
    assert with_tool_call_retry(llm).with_structured_output(City).invoke("go") == OSLO
    function: Any = RunnableLambda(lambda _: AIMessage(WRITTEN))
    chain = with_tool_call_retry(function).with_structured_output(Town)
    assert chain.invoke("go") == Town("Oslo", 717710)


def test_the_retry_is_constrained_where_the_provider_can() -> None:
    """The schema of the value is what the provider decodes by from the first retry on."""
    llm = DecodingChatModel(script=["It is big.", WRITTEN])
    prompt = ChatPromptTemplate.from_template("How big is {city}?")
    chain = prompt | with_tool_call_retry(llm).with_structured_output(City)
    assert chain.invoke({"city": "Oslo"}) == OSLO
    assert llm.schemas[1]["properties"].keys() == {"name", "people"}
    assert [m.content for m in llm.asked[1]] == ["How big is Oslo?"]


def test_it_is_a_chat_model() -> None:
    """Whatever takes chat models takes it: `generate`, batches, callbacks, tools."""
    mended = with_tool_call_retry(ScriptedChatModel(script=["Hello!"], repeat=True))
    assert isinstance(mended, BaseChatModel)
    assert isinstance(mended.bind_tools([search]), ToolCallRetry)
    assert mended._llm_type == "loopmend-mended"
    events = Events()
    [[generation]] = mended.generate([[HumanMessage("Hi")]], callbacks=[events]).generations
    assert generation.text == "Hello!"
    assert events.roots == 1
    [[generation]] = wait(mended.agenerate([[HumanMessage("Hi")]], stop=["."])).generations
    assert generation.text == "Hello!"
    assert mended._generate([HumanMessage("Hi")]).generations[0].text == "Hello!"
    assert [m.content for m in mended.batch(["a", "b"])] == ["Hello!", "Hello!"]


def test_react_agent_with_response_format() -> None:
    """LangGraph's prebuilt agent asks the mended model for tools and for the response."""
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    llm = Provider(
        script=[
            "Let me search for that.",
            call("search", query="Oslo"),
            "717,710.",
            "Big.",
            WRITTEN,
        ],
        given=[],
    )
    graph = prebuilt.create_react_agent(with_tool_call_retry(llm), [search], response_format=City)
    result = graph.invoke({"messages": [("user", "How big is Oslo?")]})
    assert result["structured_response"] == OSLO
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert "tools" not in llm.given[-1]


def test_a_call_that_a_streaming_client_completed_is_asked_for_again() -> None:
    """LangChain closes the arguments of a stream that hit its limit; they are no whole value."""
    cut = AIMessage(
        "",
        tool_calls=[{"name": "City", "args": {"people": 7, "name": "Os"}, "id": "1"}],
        response_metadata={"finish_reason": "length"},
    )
    model = ScriptedChatModel(script=[cut, WRITTEN])
    assert with_tool_call_retry(model).with_structured_output(City).invoke("How big?") == OSLO


def test_after_giving_up_the_models_own_function_is_asked() -> None:
    """`on_failure` says what to return of a value, too; without a function it raises as ever."""
    llm = ScriptedChatModel(script=["No."], repeat=True)
    told: list[Any] = []

    def instead(outcome: Any, finish: Any) -> Any:
        told.append((outcome.retries, finish.return_values["output"]))
        return OSLO

    asking = with_tool_call_retry(llm, on_failure=instead).with_structured_output(City)
    assert (asking.invoke("How big?"), told) == (OSLO, [(1, "No.")])
    with pytest.raises(OutputParserException):
        with_tool_call_retry(llm).with_structured_output(City).invoke("How big?")


def test_a_refusal_is_not_asked_about_again() -> None:
    """The provider said no, and the error says so at once."""
    refused = AIMessage("", additional_kwargs={"refusal": "I cannot help with that."})
    llm = ScriptedChatModel(script=[refused])
    with pytest.raises(OutputParserException):
        with_tool_call_retry(llm).with_structured_output(City).invoke("How big?")
    llm = ScriptedChatModel(script=[refused])
    asking = with_tool_call_retry(llm).with_structured_output(City, include_raw=True)
    found = asking.invoke("How big?")
    assert found["raw"].additional_kwargs == refused.additional_kwargs
    assert (found["parsed"], len(llm.asked)) == (None, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: with_tool_call_retry("gpt-4"),  # type: ignore[arg-type]
        lambda: with_parsing_retry("gpt-4", City),  # type: ignore[arg-type]
    ],
)
def test_a_name_is_no_model(make: Any) -> None:
    """What cannot be asked is refused at once, not when it is first asked."""
    with pytest.raises(TypeError, match="`llm` must be a model, not str"):
        make()


def test_one_name_is_not_several_tools() -> None:
    """Wherever tools are taken, the letters of a name are none."""
    llm = ScriptedChatModel(script=[])
    for take in (
        lambda: with_tool_call_retry(llm, "search"),
        lambda: with_tool_call_retry(llm).bind_tools("search"),
        lambda: with_parsing_retry(llm, tools="search"),
        lambda: AgentActionOutputParser(tools="search"),
    ):
        with pytest.raises(TypeError, match="`tools` must be a collection of tools, not one str"):
            take()
