"""`prompt | with_parsing_retry(llm)`: all ways to run it, and what it does when nothing helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.language_models import FakeListLLM
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import (
    JsonOutputKeyToolsParser,
    JsonOutputToolsParser,
    NumberedListOutputParser,
    PydanticToolsParser,
    StrOutputParser,
)
from langchain_core.output_parsers import JsonOutputParser as LangChainJsonParser
from langchain_core.output_parsers import PydanticOutputParser as LangChainPydanticParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from langchain_loopmend import (
    ActionParseException,
    AgentActionOutputParser,
    GaveUpFinish,
    NormalizationError,
    PydanticOutputParser,
    with_parsing_retry,
)
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel, call
from loopmend import FailurePattern, GaveUp
from tests.integrations.langchain.events import Events
from tests.integrations.langchain.tools import TOOLS, wait

PROMPT = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{q}")])
BAD, GOOD = "Let me search for that.", "Action: search\nAction Input: Oslo"
ASK = {"q": "Where is Oslo?"}


def picky(items: list[str]) -> list[str]:
    """Refuse an empty list."""
    if not items:
        msg = "no items"
        raise ValueError(msg)
    return items


async def collected(chain: Any, given: Any, config: Any = None) -> list[Any]:
    """Collect an async stream."""
    return [chunk async for chunk in chain.astream(given, config)]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])
def test_every_way_to_run(way: str) -> None:
    """A bad reply is corrected however the chain is run, and the model is asked in that way."""
    llm = ScriptedChatModel(script=[BAD, GOOD])
    chain = PROMPT | with_parsing_retry(llm, tools=TOOLS)
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
    """The latest correction follows the conversation, roles included; refused replies do not."""
    llm = ScriptedChatModel(script=[BAD, "", GOOD])
    (PROMPT | with_parsing_retry(llm)).invoke(ASK)
    assert [m.type for m in llm.asked[2]] == ["system", "human", "human"]
    assert llm.asked[2][:2] == llm.asked[0]
    assert str(llm.asked[2][2].content).startswith("Your reply was empty.")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_callbacks(*, asynchronous: bool, streaming: bool) -> None:
    """Runs nest under one root, are tagged by attempt, and each retry is announced."""
    events = Events()
    llm = ScriptedChatModel(script=[BAD, GOOD])
    chain = with_parsing_retry(llm)
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
        ("ParsingRetry", ()),
        ("model", ("loopmend:attempt:1",)),
        ("AgentActionOutputParser", ("loopmend:attempt:1",)),
        ("model", ("loopmend:attempt:2",)),
        ("AgentActionOutputParser", ("loopmend:attempt:2",)),
    ]
    [(name, data)] = events.custom
    assert name == "loopmend_retry"
    assert data == {
        "attempt": 1,
        "pattern": "narrated",
        "message": "The model described a tool call without making it.",
        "correction": llm.asked[1][-1].content,
    }


def test_keyword_arguments_reach_the_model() -> None:
    """Stop sequences and the like can be bound as to the model itself."""
    seen: list[Any] = []

    class Model(ScriptedChatModel):
        def _generate(  # type: ignore[override]
            self, messages: Any, stop: Any = None, **kwargs: Any
        ) -> Any:
            seen.append(stop)
            return super()._generate(messages, stop, **kwargs)

    with_parsing_retry(Model(script=[GOOD])).bind(stop=["\nObservation"]).invoke("go")
    assert seen == [["\nObservation"]]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_exhausted(retries: int) -> None:
    """When nothing helps, the last error is raised or returned; never is the bound exceeded."""
    reworded = [f"Let me search for that, attempt {n}." for n in range(retries + 1)]
    llm = ScriptedChatModel(script=reworded)
    with pytest.raises(ActionParseException, match=f"attempt {retries}"):
        with_parsing_retry(llm, max_retries=retries).invoke("go")
    assert len(llm.asked) == retries + 1
    llm = ScriptedChatModel(script=reworded)
    given_up = with_parsing_retry(llm, max_retries=retries, on_failure="return").invoke("go")
    assert isinstance(given_up, GaveUpFinish)
    assert isinstance(given_up, AgentFinish)
    assert (given_up.return_values, given_up.retries) == ({"output": reworded[-1]}, retries)
    assert given_up.reason == "parse_fail"
    assert given_up.failure is not None
    assert given_up.failure.message == given_up.error


def test_who_repeats_itself_is_not_asked_a_third_time() -> None:
    """A model that says a refused reply again without having seen it will go on saying it."""
    llm = ScriptedChatModel(script=[BAD, BAD])
    with pytest.raises(ActionParseException, match="Let me search"):
        with_parsing_retry(llm, max_retries=9).invoke("go")


def test_a_function_has_the_last_word() -> None:
    """After giving up, a host's own function says what to use, given the verdict and the finish."""

    def say(verdict: GaveUp, finish: GaveUpFinish) -> str:
        return f"{verdict.failure.pattern.value}: {finish.return_values['output']}"

    llm = ScriptedChatModel(script=[BAD, BAD])
    assert with_parsing_retry(llm, on_failure=say).invoke("go") == f"narrated: {BAD}"
    with pytest.raises(ValueError, match="on_failure must be"):
        with_parsing_retry(llm, on_failure="ignore")  # type: ignore[arg-type]


def test_foreign_parser_exhausted() -> None:
    """Another parser's own words say what is wrong."""
    llm = ScriptedChatModel(script=["?"], repeat=True)
    chain = with_parsing_retry(llm, NumberedListOutputParser() | picky, on_failure="return")
    given_up = chain.invoke("go")
    assert given_up.failure.pattern is FailurePattern.MALFORMED
    assert given_up.error == given_up.failure.message == "no items"
    assert dumpd(given_up)["type"] == "not_implemented"


def test_another_model_for_asking_again() -> None:
    """A stronger model can be kept for corrections."""
    weak, strong = ScriptedChatModel(script=[BAD]), ScriptedChatModel(script=[GOOD])
    found = with_parsing_retry(weak, retry_llm=strong).invoke("go")
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
    assert with_parsing_retry(llm).invoke(given).tool == "search"
    assert llm.asked[1][0] == HumanMessage("go")
    text_model = FakeListLLM(responses=[BAD, GOOD])
    assert with_parsing_retry(text_model).invoke(given).tool == "search"


def test_models_of_plain_text_go_on_with_their_text() -> None:
    """A text model sees its prompt and the correction as one text."""
    seen: list[str] = []

    class Model(FakeListLLM):
        def _call(self, prompt: str, *args: Any, **kwargs: Any) -> str:
            seen.append(prompt)
            return super()._call(prompt, *args, **kwargs)

    with_parsing_retry(Model(responses=[BAD, GOOD])).invoke("Question: where?\nThought:")
    assert seen[1].startswith("Question: where?\nThought:\n\nYou described a tool call but did")
    assert seen[1].endswith(".\n\n")
    streamed = list(with_parsing_retry(FakeListLLM(responses=[GOOD])).stream("go"))
    assert streamed[0].tool == "search"


def test_types_for_agents_and_dumps() -> None:
    """Agents look at the types; dumps hold the parts."""
    chain = with_parsing_retry(ScriptedChatModel(script=[GOOD]), tools=["search"])
    assert chain.OutputType == AgentActionOutputParser().OutputType
    assert chain.InputType == ScriptedChatModel(script=[]).InputType
    assert dumpd(chain)["kwargs"]["max_retries"] == 2


def test_tools_belong_to_one_place() -> None:
    """A parser brings its tools along: giving both is an error."""
    with pytest.raises(TypeError, match="pass the tools to the parser"):
        with_parsing_retry(ScriptedChatModel(script=[]), AgentActionOutputParser(), TOOLS)


def test_errors_of_the_model_are_not_ours() -> None:
    """What the model raises goes through at once; only replies are corrected."""
    llm = ScriptedChatModel(script=[ConnectionError("down")])
    with pytest.raises(ConnectionError, match="down"):
        with_parsing_retry(llm).invoke("go")
    assert len(llm.asked) == 1
    llm = ScriptedChatModel(script=[ConnectionError("down")])
    with pytest.raises(ConnectionError, match="down"):
        wait(with_parsing_retry(llm).ainvoke("go"))


def test_a_provider_that_could_not_decode_the_reply() -> None:
    """Some raise in place of a reply; that is corrected, and raised if nothing helps."""
    error = ValueError("error parsing tool call: raw='{'")
    assert with_parsing_retry(ScriptedChatModel(script=[error, GOOD])).invoke("go").tool == "search"
    with pytest.raises(NormalizationError, match="The provider could not decode the call"):
        with_parsing_retry(ScriptedChatModel(script=[error]), max_retries=0).invoke("go")
    llm = ScriptedChatModel(script=[BAD, error, error])
    given_up = with_parsing_retry(llm, on_failure="return").invoke("go")
    assert (given_up.retries, given_up.return_values) == (2, {"output": BAD})


def test_native_calls_count() -> None:
    """A reply that calls through the interface needs no correction."""
    reply = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "x"}, "id": "1"}])
    found = with_parsing_retry(ScriptedChatModel(script=[reply]), tools=TOOLS).invoke("go")
    assert isinstance(found, AgentAction)


# Any parser, any schema


class City(BaseModel):
    """A city."""

    name: str
    people: int


@dataclass
class Town:
    """A town."""

    name: str
    people: int


class Place(TypedDict):
    """A place."""

    name: str
    people: int


DATA: dict[str, Any] = {"name": "Oslo", "people": 717710}
OSLO = City(**DATA)
WRITTEN = '{"name": "Oslo", "people": 717710}'


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (City, OSLO),
        (Town, Town("Oslo", 717710)),
        (Place, DATA),
        (City.model_json_schema(), DATA),
        (LangChainPydanticParser(pydantic_object=City), OSLO),
        (LangChainJsonParser(), DATA),
        (PydanticOutputParser(pydantic_object=City), OSLO),
        (StrOutputParser() | City.model_validate_json, OSLO),
        (lambda reply: City.model_validate_json(reply.text), OSLO),
    ],
    ids=["model", "dataclass", "typed-dict", "schema", "pydantic", "json", "ours", "chain", "own"],
)
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "stream"])
def test_any_parser_or_schema(wanted: Any, expected: Any, way: str) -> None:
    """Each is asked for again until the model gives it, in every way to run a chain."""
    llm = ScriptedChatModel(script=["It is big.", WRITTEN])
    chain = PROMPT | with_parsing_retry(llm, wanted)
    run: dict[str, Any] = {
        "invoke": lambda: chain.invoke(ASK),
        "ainvoke": lambda: wait(chain.ainvoke(ASK)),
        "batch": lambda: chain.batch([ASK])[0],
        "stream": lambda: next(iter(chain.stream(ASK))),
    }
    assert run[way]() == expected
    assert len(llm.asked) == 2


def test_what_is_neither_parser_nor_schema() -> None:
    """It is refused at once."""
    with pytest.raises(TypeError, match="must be a type or a JSON Schema, not a str"):
        with_parsing_retry(ScriptedChatModel(script=[]), "City")


def test_the_correction_names_just_what_is_wrong() -> None:
    """A value that does not fit is corrected where it does not; nothing of it is repeated."""
    llm = ScriptedChatModel(script=['{"name": "Oslo", "people": "many"}', WRITTEN])
    assert with_parsing_retry(llm, City).invoke("go") == OSLO
    assert llm.asked[1][-1].content == (
        "Fix only this: `people` must be an integer, not a string.\n"
        "Reply with one JSON object of this shape and nothing else: "
        '{"name": string, "people": integer}'
    )


def test_a_torn_value_is_asked_for_again_even_from_langchains_parser() -> None:
    """LangChain's own parser would return what arrived as if it were all."""
    torn = AIMessage('{"people": 1, "name": "Os', response_metadata={"finish_reason": "length"})
    llm = ScriptedChatModel(script=[torn, WRITTEN])
    parser: Any = LangChainPydanticParser(pydantic_object=City)
    assert with_parsing_retry(llm, parser).invoke("go") == OSLO
    assert str(llm.asked[1][-1].content).startswith("Your reply was cut off")


def test_a_schema_constrains_the_retry() -> None:
    """The provider decodes by the value's schema, and the conversation stays as it is."""
    llm = DecodingChatModel(script=["It is big.", WRITTEN])
    assert (PROMPT | with_parsing_retry(llm, City)).invoke(ASK) == OSLO
    assert llm.schemas[0] is None
    assert llm.schemas[1]["properties"].keys() == {"name", "people"}
    assert llm.asked[1] == llm.asked[0]
    llm = DecodingChatModel(script=["No.", "Never.", WRITTEN])
    assert with_parsing_retry(llm, City, constrain="always").invoke("go") == OSLO
    assert None not in llm.schemas
    assert [m.type for m in llm.asked[2]] == ["human", "human"]
    llm = DecodingChatModel(script=["It is big.", WRITTEN], refuses=True)
    assert with_parsing_retry(llm, City).invoke("go") == OSLO
    assert llm.schemas == [None, None]
    llm = DecodingChatModel(script=["It is big.", "[1]"])
    assert with_parsing_retry(llm, LangChainJsonParser()).invoke("go") == [1]
    assert llm.schemas == [None, None]


def test_fallbacks_inside_and_outside() -> None:
    """Fallbacks of the model and of the step itself work as those of any other."""
    down = ScriptedChatModel(script=[ConnectionError("down")])
    up = ScriptedChatModel(script=["It is big.", WRITTEN])
    assert with_parsing_retry(down.with_fallbacks([up]), City).invoke("go") is not None
    stubborn = ScriptedChatModel(script=["No.", "Never.", "Not now."])
    other = ScriptedChatModel(script=[WRITTEN])
    step = with_parsing_retry(stubborn, City).with_fallbacks([with_parsing_retry(other, City)])
    assert step.invoke("go") == OSLO


# Parsers of tool calls


TOOL_PARSERS: Any = [
    PydanticToolsParser(tools=[City], first_tool_only=True),
    JsonOutputKeyToolsParser(key_name="City", first_tool_only=True),
]


@pytest.mark.parametrize("parser", TOOL_PARSERS)
def test_a_refused_call_goes_back_with_our_answer(parser: Any) -> None:
    """The model sees its call and what is wrong with it, not two messages of a human."""
    llm = ScriptedChatModel(script=[call("City", name="Oslo"), call("City", **DATA)])
    step = with_parsing_retry(llm.bind(tools=[convert_to_openai_tool(City)]), parser)
    assert step.invoke("How big is Oslo?") in (OSLO, DATA)
    human, made, answer = llm.asked[1]
    assert (human.type, made.type, answer.type) == ("human", "ai", "tool")
    assert made.tool_calls[0]["args"] == {"name": "Oslo"}  # type: ignore[attr-defined]
    assert answer.tool_call_id == made.tool_calls[0]["id"]  # type: ignore[attr-defined]
    assert "`City` needs `people`" in str(answer.content)


@pytest.mark.parametrize("parser", TOOL_PARSERS)
def test_prose_in_place_of_a_call(parser: Any) -> None:
    """LangChain's parsers of calls return nothing for a reply without one; here it is refused."""
    llm = ScriptedChatModel(script=["It is big.", "Let me see.", call("City", **DATA)])
    step = with_parsing_retry(llm.bind(tools=[convert_to_openai_tool(City)]), parser)
    assert step.invoke("go") in (OSLO, DATA)
    assert [m.type for m in llm.asked[1]] == ["human", "human"]
    written = f'{{"name": "City", "arguments": {WRITTEN}}}'
    llm = ScriptedChatModel(script=[written])
    step = with_parsing_retry(llm.bind(tools=[convert_to_openai_tool(City)]), parser)
    assert step.invoke("go") in (OSLO, DATA)


def test_a_call_that_the_parser_refuses() -> None:
    """What only the parser knows to be wrong goes back as the answer to the call, too."""

    class Positive(BaseModel):
        people: int = Field(gt=0)

    llm = ScriptedChatModel(script=[call("Positive", people=-1), call("Positive", people=1)])
    parser = PydanticToolsParser(tools=[Positive], first_tool_only=True)
    assert with_parsing_retry(llm, parser).invoke("go") == Positive(people=1)
    assert llm.asked[1][-1].type == "tool"
    assert "greater than 0" in str(llm.asked[1][-1].content)
    texts = FakeListLLM(responses=["It is big.", "Very.", "Huge."])
    with pytest.raises(NormalizationError, match="calls no tool"):
        with_parsing_retry(texts, parser).invoke("go")
    unknown = ScriptedChatModel(script=["No.", call("City", **DATA)]).bind(stop=["."])
    assert with_parsing_retry(unknown, JsonOutputToolsParser()).invoke("go")[0]["args"] == DATA
