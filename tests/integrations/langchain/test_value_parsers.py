"""The value parsers: LangChain's interface, but they read what models write and lose nothing."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import JsonOutputParser as LangChainJsonParser
from langchain_core.output_parsers import PydanticOutputParser as LangChainPydanticParser
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from langchain_loopmend import JsonOutputParser, PydanticOutputParser, ValueParseException
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import FailurePattern
from tests.integrations.langchain.tools import wait

P = FailurePattern


class City(BaseModel):
    """A city."""

    name: str
    people: int = Field(description="how many live there")


@dataclass
class Town:
    """A town."""

    name: str
    people: int


class Place(TypedDict):
    """A place."""

    name: str
    people: int


OSLO = City(name="Oslo", people=717710)
DATA = {"name": "Oslo", "people": 717710}
WRITTEN = '{"name": "Oslo", "people": 717710}'
PYDANTIC = PydanticOutputParser(pydantic_object=City)
JSON = JsonOutputParser(pydantic_object=City)
FORMS = [
    WRITTEN,
    f"Here you are:\n```json\n{WRITTEN}\n```\nAnything else?",
    "```json\n{'name': 'Oslo', 'people': 717710}\n```",
    f"<think>They want {{a}} city.</think>{WRITTEN}",
    "{name: 'Oslo', people: 717710}",
    '{"name": "Oslo", // the capital\n "people": 717710}',
    '{"name": "Oslo", "people": "717710",}',
]


@pytest.mark.parametrize("text", FORMS)
def test_what_models_write(text: str) -> None:
    """A value in any certain form is read, as an instance or as data."""
    assert PYDANTIC.parse(text) == OSLO
    assert JSON.parse(text) == DATA
    assert PYDANTIC.invoke(AIMessage(text)) == OSLO
    assert wait(PYDANTIC.ainvoke(text)) == OSLO
    assert wait(JSON.aparse(text)) == DATA


def test_the_same_format_instructions() -> None:
    """Prompts need not change."""
    theirs: Any = LangChainPydanticParser(pydantic_object=City)
    assert PYDANTIC.get_format_instructions() == theirs.get_format_instructions()
    assert (
        JSON.get_format_instructions()
        == LangChainJsonParser(pydantic_object=City).get_format_instructions()
    )
    assert JsonOutputParser().get_format_instructions() == "Return a JSON object."
    told = JsonOutputParser(pydantic_object=list[int]).get_format_instructions()
    assert '{"properties": {"value": {"type": "array", "items": {"type": "integer"}}}' in told
    assert JsonOutputParser(pydantic_object=list[int]).parse('{"value": [1, 2]}') == [1, 2]
    assert '"people"' in PydanticOutputParser(pydantic_object=Town).get_format_instructions()


def test_they_are_langchains_parsers_to_others() -> None:
    """Code that asks for LangChain's classes takes ours, and types are known."""
    assert isinstance(PYDANTIC, LangChainPydanticParser)
    assert isinstance(JSON, LangChainJsonParser)
    assert PYDANTIC.OutputType is City
    assert (PYDANTIC._type, JSON._type) == ("pydantic", "simple_json_output_parser")
    with pytest.raises(ValidationError):
        JsonOutputParser(pydantic_objekt=City)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("text", "pattern", "starts"),
    [
        ("It is big.", P.NO_ACTION, "Invalid json output: It is big."),
        ("", P.EMPTY, "Invalid json output: "),
        ('{"name": "Os', P.TRUNCATED, 'Invalid json output: {"name": "Os'),
        ('{"name": "Oslo"}', P.BAD_VALUE, "Failed to parse City from completion {"),
        ('{"name": "a", "name": "b", "people": 1}', P.MALFORMED, "Invalid json output: "),
    ],
)
def test_what_is_no_value(text: str, pattern: FailurePattern, starts: str) -> None:
    """The exception is LangChain's, begins as LangChain's does, and holds what is wrong."""
    for parser in (PYDANTIC, JSON):
        with pytest.raises(OutputParserException) as caught:
            parser.parse(text)
        error = caught.value
        assert isinstance(error, ValueParseException)
        assert str(error).startswith(starts)
        assert "troubleshooting" not in str(error)
        assert (error.llm_output, error.send_to_llm) == (text, True)
        assert error.failure.pattern is pattern
        assert error.reading.failure == error.failure
        assert "JSON object" in str(error.observation)
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.failure) == (str(error), error.failure)


def test_the_failure_names_each_problem() -> None:
    """Each path that is wrong is named, with what is expected and what came."""
    with pytest.raises(ValueParseException) as caught:
        PYDANTIC.parse('{"people": "many"}')
    assert [str(problem) for problem in caught.value.failure.problems] == [
        "`name` is missing: a string",
        "`people` must be an integer, not a string",
    ]


def test_a_cut_that_openai_tells_as_incomplete_details() -> None:
    """Its Responses interface has no finish reason; 71 may be the beginning of 717710."""
    told = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    with pytest.raises(ValueParseException) as caught:
        JsonOutputParser().invoke(AIMessage("71", response_metadata=told))
    assert caught.value.failure.pattern is P.TRUNCATED
    whole = {"status": "completed", "incomplete_details": None}
    assert JsonOutputParser().invoke(AIMessage("71", response_metadata=whole)) == 71


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_reply_that_was_cut_off_is_refused(reason: str) -> None:
    """LangChain's parser returns what arrived as if it were all."""
    text = '{"people": 717710, "name": "Os'
    metadata = {"finish_reason": reason}
    reply = AIMessage(text, response_metadata=metadata)
    assert LangChainPydanticParser(pydantic_object=City).invoke(reply) == City(
        name="Os", people=717710
    )
    for parser in (PYDANTIC, JSON, JsonOutputParser()):
        with pytest.raises(ValueParseException) as caught:
            parser.invoke(reply)
        assert caught.value.failure.pattern is P.TRUNCATED
    with pytest.raises(ValueParseException, match="Invalid json output: 4"):
        JsonOutputParser().parse_result([Generation(text="4", generation_info=metadata)])
    whole = AIMessage(WRITTEN, response_metadata=metadata)
    assert PYDANTIC.invoke(whole) == OSLO


def test_strict() -> None:
    """Whoever wants JSON to the letter says so."""
    parser = PydanticOutputParser(pydantic_object=City, strict=True)
    assert parser.parse(WRITTEN) == OSLO
    with pytest.raises(ValueParseException, match="Invalid json output"):
        parser.parse("{'name': 'Oslo', 'people': 717710}")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Town, Town("Oslo", 717710)),
        (Place, DATA),
        (City.model_json_schema(), DATA),
        (convert_to_openai_tool(City), DATA),
        (convert_to_openai_tool(City)["function"], DATA),
        (dict[str, Any], DATA),
        ({"type": "object"}, DATA),
    ],
    ids=["dataclass", "typed-dict", "json-schema", "tool", "function", "dict", "any-object"],
)
def test_every_kind_of_schema(schema: Any, expected: Any) -> None:
    """Besides pydantic models, whatever `read_json` takes is a schema."""
    assert PydanticOutputParser(pydantic_object=schema).parse(f"Sure: {WRITTEN}") == expected
    assert JsonOutputParser(pydantic_object=schema).parse(f"Sure: {WRITTEN}") == DATA


@pytest.mark.filterwarnings("ignore:Core Pydantic V1")
def test_models_of_pydantic_1() -> None:
    """They are validated by pydantic 1, and what it refuses is refused."""
    v1: Any = pytest.importorskip("pydantic.v1")

    class Old(v1.BaseModel):  # type: ignore[misc]
        name: str
        people: int

        @v1.validator("people")  # type: ignore[untyped-decorator]
        def _positive(cls, people: int) -> int:  # noqa: N805 - pydantic's way
            if people < 0:
                msg = "negative"
                raise ValueError(msg)
            return people

    parser: Any = PydanticOutputParser(pydantic_object=Old)
    assert parser.parse(WRITTEN) == Old(**DATA)
    assert JsonOutputParser(pydantic_object=Old).parse(WRITTEN) == DATA
    assert "people" in parser.get_format_instructions()
    with pytest.raises(ValueParseException, match="negative"):
        parser.parse('{"name": "Oslo", "people": -1}')


def test_a_value_that_comes_as_a_call() -> None:
    """A call by the schema's name gives the value; any other call does not."""
    given = call("City", **DATA)
    assert PYDANTIC.invoke(given) == OSLO
    for other in (call("search", **DATA), AIMessage("")):
        with pytest.raises(ValueParseException) as caught:
            PYDANTIC.invoke(other)
        assert caught.value.failure.pattern is P.EMPTY
    with pytest.raises(ValueParseException):
        JsonOutputParser().invoke(given)


def test_data_that_only_pydantic_takes() -> None:
    """Data that a model coerces in a way that its schema does not describe are left as they are."""

    class Switch(BaseModel):
        state: bool

    parser = JsonOutputParser(pydantic_object=Switch)
    assert parser.parse('{"state": "t"}') == {"state": "t"}
    assert parser.parse('{"state": "on"}') == {"state": True}
    assert JsonOutputParser(pydantic_object=int).parse("4") == 4


def test_partial_values_while_streaming() -> None:
    """Data arrive in parts, a number once it has ended, an instance as a whole."""
    chunks = ['{"name": "Os', 'lo", "peop', 'le": 717', "710}"]
    parts = [{"name": "Os"}, {"name": "Oslo"}, DATA]
    assert list(JSON.transform(iter(chunks))) == parts
    assert list(PYDANTIC.transform(iter(chunks))) == [OSLO]
    patches = list(JsonOutputParser(diff=True).transform(iter(chunks)))
    assert patches[0] == [{"op": "replace", "path": "", "value": {"name": "Os"}}]
    assert patches[-1] == [{"op": "add", "path": "/people", "value": 717710}]
    text = [Generation(text='{"name": "Os')]
    assert JSON.parse_result(text, partial=True) == {"name": "Os"}
    assert PYDANTIC.parse_result(text, partial=True) is None


def test_the_last_part_is_the_checked_value() -> None:
    """Where the end of a stream changes what it means, the value comes once more."""
    chunks = ["{'name': 'Oslo', ", "'people': '717710'}"]
    assert list(JSON.transform(iter(chunks)))[-1] == DATA


@pytest.mark.parametrize("parser", [JSON, PYDANTIC])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_streams_through_a_chain(parser: Any, *, asynchronous: bool) -> None:
    """A chain streams, and an unreadable stream raises where LangChain's ends in silence."""

    async def collected(chain: Any) -> list[Any]:
        return [part async for part in chain.astream("go")]

    def run(text: str) -> list[Any]:
        chain = ScriptedChatModel(script=[text]) | parser
        return wait(collected(chain)) if asynchronous else list(chain.stream("go"))

    assert run(WRITTEN)[-1] in (DATA, OSLO)
    with pytest.raises(ValueParseException):
        run("It is big.")
    silent = ScriptedChatModel(script=["It is big."]) | LangChainJsonParser()
    assert list(silent.stream("go")) == []


def test_a_stream_that_was_cut_off_is_refused() -> None:
    """The finish reason comes with the last chunk, and counts."""
    last = AIMessageChunk(content="", response_metadata={"finish_reason": "length"})
    chunks = [AIMessageChunk(content="717"), AIMessageChunk(content="710"), last]
    with pytest.raises(ValueParseException) as caught:
        list(JsonOutputParser().transform(iter(chunks)))
    assert caught.value.failure.pattern is P.TRUNCATED
    generation = ChatGeneration(message=AIMessage("717710"))
    assert JsonOutputParser().parse_result([generation]) == 717710


def test_misspelt_options_are_errors() -> None:
    """An option that does not exist is refused, although LangChain's base class ignores it."""
    with pytest.raises(ValidationError, match="strickt"):
        PydanticOutputParser(pydantic_object=City, strickt=True)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="strickt"):
        JsonOutputParser(strickt=True)  # type: ignore[call-arg]
