"""Values of a schema: from parsers, programs, structured LLMs and agents, with retries."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentStreamStructuredOutput, AgentWorkflow
from llama_index.core.base.llms.types import ChatMessage, LLMMetadata
from llama_index.core.llms import MockLLM
from llama_index.core.output_parsers import PydanticOutputParser as LlamaIndexParser
from llama_index.core.program import FunctionCallingProgram, LLMTextCompletionProgram
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.core.types import PydanticProgramMode
from pydantic import BaseModel
from typing_extensions import TypedDict

from llama_index_loopmend import (
    LoopGuardHook,
    NormalizationHook,
    PlannedAgentWorkflow,
    PydanticOutputParser,
    RetryingOutputParser,
    ValueParseException,
    with_hooks,
    with_parsing_retry,
)
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.mended import native, planned, run, scripted

ASKED = PromptTemplate("How big is {city}?")
WRONG = call("City", name="Oslo")
RIGHT = call("City", name="Oslo", people=717710)
WRITTEN = "{name: 'Oslo', people: '717710'}"


class City(BaseModel):
    """A city."""

    name: str
    people: int


@dataclass
class Town:
    """A town."""

    name: str


class Hamlet(TypedDict):
    """A hamlet."""

    name: str


OSLO = City(name="Oslo", people=717710)
BROKEN = {
    "fenced, single quotes": "```json\n{'name': 'Oslo', 'people': 717710}\n```",
    "thinking": '<think>{"name": "Bergen"}?</think>{"name": "Oslo", "people": 717710}',
    "bare keys": "Sure! {name: 'Oslo', people: 717710,}",
    "comments": '{"name": "Oslo", // the capital\n"people": 717710}',
}


class TextLLM(ScriptedLLM):
    """A model that cannot call functions."""

    @property
    def metadata(self) -> LLMMetadata:
        """Say so."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=False)


def program(parser: Any, *script: Any) -> Any:
    """Return LlamaIndex's own program with a parser."""
    llm = ScriptedLLM(script=script)
    return LLMTextCompletionProgram.from_defaults(
        output_parser=parser, prompt_template_str="How big is {city}?", llm=llm
    )


# -- the parser


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_programs_read_what_models_really_write(text: str) -> None:
    """A program with our parser takes replies that LlamaIndex's own refuses or misreads."""
    assert program(PydanticOutputParser(City), text)(city="Oslo") == OSLO
    assert asyncio.run(program(PydanticOutputParser(City), text).acall(city="Oslo")) == OSLO
    with pytest.raises(ValueError, match=r".+"):
        program(LlamaIndexParser(City), text)(city="Oslo")


@pytest.mark.parametrize("excluded", [None, ["title"]])
def test_the_model_is_told_the_same(excluded: list[str] | None) -> None:
    """The instructions are LlamaIndex's own, to the letter."""
    theirs, ours = LlamaIndexParser(City, excluded), PydanticOutputParser(City, excluded)
    assert ours.format("How big?") == theirs.format("How big?")
    assert ours.get_format_string(escape_json=False) == theirs.get_format_string(escape_json=False)
    assert ours.output_cls is City


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Town, Town("Oslo")),
        (Hamlet, {"name": "Oslo"}),
        ({"type": "object", "properties": {"name": {"type": "string"}}}, {"name": "Oslo"}),
        (dict[str, str], {"name": "Oslo"}),
    ],
    ids=["dataclass", "TypedDict", "JSON Schema", "type"],
)
def test_any_schema(schema: Any, value: Any) -> None:
    """Besides pydantic models the parser takes what `read_json` takes, and describes it."""
    parser = PydanticOutputParser(schema)
    assert parser.parse("Here: {'name': 'Oslo'}") == value
    assert program(parser, "Here: {'name': 'Oslo'}")(city="Oslo") == value
    assert '"type": "object"' in parser.get_format_string(escape_json=False)


def test_what_is_no_schema() -> None:
    """It is refused when the parser is made, not at the first reply."""
    with pytest.raises(TypeError):
        PydanticOutputParser(42)


def test_strict_parsers() -> None:
    """A reply that needs repair can be an error."""
    assert PydanticOutputParser(City, strict=True).parse(OSLO.model_dump_json()) == OSLO
    with pytest.raises(ValueParseException):
        PydanticOutputParser(City, strict=True).parse(WRITTEN)


def test_what_the_error_tells() -> None:
    """It says what is wrong, for people and for the model, and survives pools of processes."""
    with pytest.raises(ValueParseException) as caught:
        PydanticOutputParser(City).parse('{"name": "Oslo", "people": 7177')
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.failure.pattern.value, error.reading.whole) == ("truncated", False)
    assert error.llm_output == '{"name": "Oslo", "people": 7177'
    assert str(error) == error.observation == str(caught.value)
    assert error.observation.startswith("Your reply was cut off")


@pytest.mark.parametrize("parser", [PydanticOutputParser(City), LlamaIndexParser(City)])
def test_values_with_retries(parser: Any) -> None:
    """The retrying parser reads tolerantly, and asks for just what is wrong."""
    llm = scripted("{name: 'Oslo', people: 'many'}", WRITTEN)
    assert RetryingOutputParser(parser, llm).predict(ASKED, city="Oslo") == OSLO
    assert "JSON schema to follow" in str(llm.asked[0][0].content)
    assert str(llm.asked[1][-1].content).startswith("Fix only this: `people` must be an integer")


def test_a_parser_that_reads_in_its_own_way() -> None:
    """A subclass of LlamaIndex's parser that parses by itself keeps its say."""

    class Own(LlamaIndexParser[City]):
        def parse(self, text: str) -> str:
            return text.upper()

    assert RetryingOutputParser(Own(City), scripted("oslo")).predict("Where?") == "OSLO"


# -- structured LLMs

Way = Callable[[Any], list[Any]]


async def _collected(stream: Any) -> list[Any]:
    return [each async for each in await stream]


def _messages() -> list[ChatMessage]:
    return [ChatMessage(content="How big is Oslo?")]


WAYS: dict[str, Way] = {
    "predict": lambda llm: [llm.structured_predict(City, ASKED, city="Oslo")],
    "apredict": lambda llm: [asyncio.run(llm.astructured_predict(City, ASKED, city="Oslo"))],
    "stream": lambda llm: list(llm.stream_structured_predict(City, ASKED, city="Oslo")),
    "astream": lambda llm: asyncio.run(
        _collected(llm.astream_structured_predict(City, ASKED, city="Oslo"))
    ),
    "chat": lambda llm: [llm.as_structured_llm(City).chat(_messages()).raw],
    "achat": lambda llm: [asyncio.run(llm.as_structured_llm(City).achat(_messages())).raw],
    "stream_chat": lambda llm: [
        each.raw for each in llm.as_structured_llm(City).stream_chat(_messages())
    ],
    "astream_chat": lambda llm: [
        each.raw
        for each in asyncio.run(_collected(llm.as_structured_llm(City).astream_chat(_messages())))
    ],
    "complete": lambda llm: [llm.as_structured_llm(City).complete("How big is Oslo?").raw],
    "acomplete": lambda llm: [
        asyncio.run(llm.as_structured_llm(City).acomplete("How big is Oslo?")).raw
    ],
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@each_way
@pytest.mark.parametrize("kind", [ScriptedLLM, TextLLM])
def test_values_are_asked_for_again(way: Way, kind: Any) -> None:
    """Whatever is called, a value that does not fit is corrected; LlamaIndex raises at once."""
    script = ["It is big.", "{name: 'Oslo'}", WRITTEN]
    llm = kind(script=script)
    assert way(with_parsing_retry(llm))[-1] == OSLO
    assert len(llm.asked) == 3
    assert str(llm.asked[2][-1].content).startswith("Fix only this: `people` is missing")


@each_way
def test_a_refused_call_is_answered(way: Way) -> None:
    """A model that called for the value sees its call and what is wrong as the answer to it."""
    llm = scripted(WRONG, RIGHT)
    assert way(with_parsing_retry(llm))[-1] == OSLO
    asked = [message.role.value for message in llm.asked[1]]
    assert asked == ["user", "assistant", "tool"]
    assert "people" in str(llm.asked[1][-1].content)


@each_way
def test_a_value_that_fits_costs_one_call(way: Way) -> None:
    """What is fine, or can be read for sure, is not asked for again."""
    for script in (RIGHT, WRITTEN):
        llm = scripted(script)
        assert way(with_parsing_retry(llm))[-1] == OSLO
        assert len(llm.asked) == 1


@each_way
def test_giving_up(way: Way) -> None:
    """After the last retry the error says what is wrong and how often the model was asked again."""
    llm = scripted("It is big.", WRONG, "Very big.")
    with pytest.raises(ValueParseException) as caught:
        way(with_parsing_retry(llm))
    assert (caught.value.retries, len(llm.asked)) == (2, 3)
    with pytest.raises(ValueParseException):
        way(with_parsing_retry(scripted("It is big."), max_retries=0))


@each_way
def test_a_provider_that_fails(way: Way) -> None:
    """Its error is raised as it is; what it could not decode is the model's mistake."""
    llm = scripted(ConnectionError("down"))
    with pytest.raises(ConnectionError):
        way(with_parsing_retry(llm))
    llm = scripted(ValueError("error parsing tool call: raw='{'"), RIGHT)
    assert way(with_parsing_retry(llm))[-1] == OSLO


@each_way
def test_decoding_by_the_schema(way: Way) -> None:
    """A provider that can is asked to decode by the schema of the value, from the first retry."""
    llm = scripted("It is big.", WRITTEN, schema_argument="response_format")
    assert way(with_parsing_retry(llm))[-1] == OSLO
    (schema,) = llm.schemas
    assert "people" in str(schema)
    llm = scripted("It is big.", RIGHT, schema_argument="response_format", refuses=True)
    mended = with_parsing_retry(llm)
    assert way(mended)[-1] == OSLO
    assert llm.schemas == []


def test_a_client_that_decodes_by_itself() -> None:
    """What predicts by a schema without us is asked to decode by one from the start."""

    class Decoding(ScriptedLLM):
        def structured_predict(self, *given: Any, **named: Any) -> Any:
            raise NotImplementedError

    unknown = Decoding(script=[])
    assert with_parsing_retry(unknown) is unknown  # its own way, which we cannot follow
    llm = Decoding(script=[WRITTEN], schema_argument="format")
    assert with_parsing_retry(llm).structured_predict(City, ASKED, city="Oslo") == OSLO
    assert len(llm.schemas) == 1


def test_streams_grow() -> None:
    """Partial values come while the reply arrives; only the last is of your class."""
    text = '{"name": "Oslo and its fjord", "people": 717710}'
    parts = WAYS["stream"](with_parsing_retry(scripted(text)))
    assert [part.name for part in parts[:3]] == ["Oslo a", "Oslo and its f", "Oslo and its fjord"]
    assert [isinstance(part, City) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[0].people is None


def test_a_stream_of_nothing() -> None:
    """A provider that streams no chunk at all said nothing, and is asked again."""

    class Silent(ScriptedLLM):
        silent: bool = True

        def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
            if self.silent:
                self.silent = False
                return iter(())
            return super().stream_chat(messages, **kwargs)

    assert WAYS["stream"](with_parsing_retry(Silent(script=[RIGHT])))[-1] == OSLO


def test_the_mode_of_the_model() -> None:
    """A function-calling model that is set to text is asked by text, as by LlamaIndex."""
    llm = scripted(WRITTEN, pydantic_program_mode=PydanticProgramMode.LLM)
    assert WAYS["predict"](with_parsing_retry(llm)) == [OSLO]
    assert "JSON schema to follow" in str(llm.asked[0][0].content)


def test_your_model_stays_as_it_is() -> None:
    """The result is of its class with all its attributes, and can be set anew."""
    llm = scripted(WRONG, system_prompt="Be brief.")
    mended = with_parsing_retry(llm)
    assert isinstance(mended, ScriptedLLM)
    assert (mended.system_prompt, mended.class_name()) == ("Be brief.", "ScriptedLLM")
    assert type(llm) is ScriptedLLM
    with pytest.raises(ValueError, match="Structured output extraction failed"):
        llm.structured_predict(City, ASKED, city="Oslo")
    again = with_parsing_retry(mended, max_retries=0)
    assert type(again) is type(mended)


def test_programs_with_the_model() -> None:
    """LlamaIndex's function-calling programs work with it as before."""
    made = FunctionCallingProgram.from_defaults(
        output_cls=City, prompt=ASKED, llm=with_parsing_retry(scripted(RIGHT))
    )
    assert made(city="Oslo") == OSLO


@pytest.mark.parametrize(
    ("llm", "options", "error"),
    [
        ("gpt", {}, TypeError),
        (scripted(), {"max_retries": "2"}, TypeError),
        (scripted(), {"max_retries": -1}, ValueError),
        (scripted(), {"constrain": "never"}, ValueError),
    ],
)
def test_wrong_options(llm: Any, options: dict[str, Any], error: type[Exception]) -> None:
    """A wrong option is refused at once."""
    with pytest.raises(error):
        with_parsing_retry(llm, **options)


def asking(llm: ScriptedLLM, **options: Any) -> Any:
    """Return LlamaIndex's own program with our parser and a model that the parser corrects."""
    parser = PydanticOutputParser(City)
    return LLMTextCompletionProgram.from_defaults(
        output_parser=parser,
        prompt_template_str="How big is {city}?",
        llm=with_parsing_retry(llm, parser, **options),
    )


@pytest.mark.parametrize("kind", [ScriptedLLM, TextLLM])
@pytest.mark.parametrize("waits", [False, True])
def test_a_program_asks_again(kind: Any, waits: bool) -> None:  # noqa: FBT001 - a case
    """With the parser on its model a program corrects it, and says how often it tried."""
    llm = kind(script=["It is big.", WRITTEN])
    made = asking(llm)
    found = asyncio.run(made.acall(city="Oslo")) if waits else made(city="Oslo")
    assert found == OSLO
    assert "How big is Oslo?" in str(llm.asked[1][0].content)
    assert "people" in str(llm.asked[1][-1].content)
    with pytest.raises(ValueError, match=r".+") as error:
        asking(kind(script=["It is big."] * 2), max_retries=1)(city="Oslo")
    assert error.value.retries == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("waits", [False, True])
def test_a_model_with_a_parser_still_predicts_and_calls(waits: bool) -> None:  # noqa: FBT001
    """The parser judges what is said to a program, and neither calls nor values of another type."""
    llm = with_parsing_retry(scripted(WRONG, RIGHT), PydanticOutputParser(Town))
    if waits:
        assert asyncio.run(llm.astructured_predict(City, ASKED, city="Oslo")) == OSLO
    else:
        assert llm.structured_predict(City, ASKED, city="Oslo") == OSLO
    tools = [FunctionTool.from_defaults(len, name="City")]
    llm = with_parsing_retry(scripted(RIGHT), PydanticOutputParser(Town))
    how = {"tools": [tools[0].metadata.to_openai_tool(skip_length_check=True)]}
    asked = [ChatMessage(content="How big?")]
    said = asyncio.run(llm.achat(asked, **how)) if waits else llm.chat(asked, **how)
    assert said.message.additional_kwargs or said.message.blocks


def test_a_model_that_only_completes_text() -> None:
    """It cannot be corrected in a program, and that is said when it is made."""
    with pytest.raises(ValueError, match="chat model"):
        with_parsing_retry(MockLLM(), PydanticOutputParser(City))


# -- agents


def attached(way: str, llm: ScriptedLLM, *hooks: Any, **options: Any) -> Any:
    """Return an agent with an `output_cls` and hooks."""
    given = list(hooks) or [NormalizationHook()]
    if way == "class":
        return planned("function", llm, hook=given, output_cls=City, **options)
    if way == "wrapper":
        return with_hooks(native("function", llm, output_cls=City, **options), given)
    if way == "agent in a workflow":
        agent = native("function", llm, output_cls=City, **options)
        return PlannedAgentWorkflow([agent], hooks=given)
    agent = native("function", llm, **options)
    return PlannedAgentWorkflow([agent], hooks=given, output_cls=City)


agents = pytest.mark.parametrize("way", ["class", "wrapper", "agent in a workflow", "workflow"])


@agents
def test_an_agents_value_is_asked_for_again(way: str) -> None:
    """The answer becomes the value, although the model's first attempts do not fit."""
    llm = scripted("It has 717,710 people.", "It is big.", WRONG, RIGHT)
    done = run(attached(way, llm, system_prompt="Be brief."), llm)
    assert done.output is not None
    assert done.output.get_pydantic_model(City) == OSLO
    assert (done.answer, len(llm.asked)) == ("It has 717,710 people.", 4)
    told = [event for event in done.events if isinstance(event, AgentStreamStructuredOutput)]
    assert [event.output for event in told] == [OSLO.model_dump()]
    assert done.remembered[-1] == "It has 717,710 people."


def test_without_hooks_one_attempt_is_all() -> None:
    """LlamaIndex gives up at the first value that does not fit."""
    llm = scripted("It has 717,710 people.", "It is big.")
    with pytest.warns(UserWarning, match="There was a problem"):
        done = run(native("function", llm, output_cls=City), llm)
    assert done.output is not None
    assert done.output.structured_response is None


@agents
def test_an_agent_that_gets_no_value(way: str) -> None:
    """As with LlamaIndex, the run ends with a warning and the answer; or it raises, if you say."""
    llm = scripted("Big.", "It is big.", WRONG, "Very big.")
    with pytest.warns(UserWarning, match="There was a problem with the generation of the struct"):
        done = run(attached(way, llm), llm)
    assert done.output is not None
    assert (done.answer, done.output.structured_response) == ("Big.", None)
    llm = scripted("Big.", "It is big.", "It is big.")
    done = run(attached(way, llm, NormalizationHook(on_failure="raise")), llm)
    assert isinstance(done.error, ValueParseException)


@agents
def test_why_a_run_gave_up_is_not_structured(way: str) -> None:
    """Loopmend's own words are no answer, so that no provider is asked to make a value of them."""
    llm = scripted("", " ", "")
    done = run(attached(way, llm), llm)
    assert done.output is not None
    assert done.answer.startswith("Gave up")
    assert (done.output.structured_response, len(llm.asked)) == (None, 2)


@agents
def test_the_cap_comes_first(way: str) -> None:
    """An answer that LlamaIndex does not count is not structured; one that we count is."""
    llm = scripted("Big.")
    assert "Max iterations" in str(run(attached(way, llm), llm, max_iterations=1).error)
    llm = scripted("Big.", RIGHT)
    done = run(attached(way, llm, LoopGuardHook(), NormalizationHook()), llm, max_iterations=1)
    assert done.output is not None
    assert done.output.get_pydantic_model(City) == OSLO


@agents
def test_calls_come_before_the_value(way: str) -> None:
    """Only the answer is structured, with the calls of the run among its output."""
    llm = scripted(call("add", a=1, b=2), "It is big.", RIGHT)
    done = run(attached(way, llm), llm)
    assert [made[0] for made in done.made] == ["add"]
    assert done.output is not None
    assert done.output.get_pydantic_model(City) == OSLO


@pytest.mark.parametrize("kind", ["react", "code"])
def test_other_agents(kind: str) -> None:
    """ReAct and code agents get their values alike."""
    answer = "Thought: easy\nAnswer: Big." if kind == "react" else "Big."
    llm = scripted(answer, WRONG, RIGHT)
    plain = native(kind, llm)
    plain.output_cls = City
    done = run(with_hooks(plain, [NormalizationHook()]), llm)
    assert done.output is not None
    assert (done.answer, done.output.get_pydantic_model(City)) == ("Big.", OSLO)


def test_a_function_that_structures() -> None:
    """`structured_output_fn` works as ever, and our parser reads for it."""

    def shape(messages: list[ChatMessage]) -> dict[str, Any]:
        return dict(PydanticOutputParser(City).parse(messages[-1].content or ""))

    llm = scripted(f"Sure: {WRITTEN}")
    agent = with_hooks(native("function", llm, structured_output_fn=shape), [NormalizationHook()])
    done = run(agent, llm)
    assert done.output is not None
    assert done.output.structured_response == OSLO.model_dump()
    llm = scripted(f"Sure: {WRITTEN}")
    plain = native("function", llm, output_cls=City)
    flow = PlannedAgentWorkflow([plain], structured_output_fn=shape)
    assert run(flow, llm).error is None  # the workflow's function, not the agent's class
    assert len(llm.asked) == 1


def test_hooked_agents_in_a_workflow_of_llama_index() -> None:
    """There the workflow structures by itself; a model with retries gets it them."""
    llm = scripted("Big.", WRONG, RIGHT)
    agent = planned("function", with_parsing_retry(llm))
    done = run(AgentWorkflow(agents=[agent], output_cls=City), llm)
    assert done.output is not None
    assert done.output.get_pydantic_model(City) == OSLO


@pytest.mark.parametrize("schema", [City, Hamlet, City.model_json_schema()])
def test_a_schema_in_the_place_of_a_parser(schema: Any) -> None:
    """As with LangChain, the schema of the value is enough, and a chat asks again for it."""
    llm = ScriptedLLM(script=["It is big.", WRITTEN])
    assert (
        with_parsing_retry(llm, schema).chat([ChatMessage("How big?")]).message.content == WRITTEN
    )
    assert len(llm.asked) == 2
    with pytest.raises(TypeError):
        with_parsing_retry(llm, 5)


def test_a_model_that_asks_again_can_be_pickled() -> None:
    """Its class is made for yours, and is made again where it arrives."""
    llm = with_parsing_retry(ScriptedLLM(script=["No."], repeat=True), City, max_retries=1)
    copy: Any = pickle.loads(pickle.dumps(llm))
    assert (copy.repeat, copy.failed) == (True, None)
    assert type(copy) is type(llm)
    with pytest.raises(ValueParseException):
        copy.chat([ChatMessage("How big?")])


def test_a_refusal_gives_no_value() -> None:
    """What a filter took out is not asked about again, and is no value either."""
    raw = {"choices": [{"finish_reason": "content_filter"}]}

    class Filtered(ScriptedLLM):
        def chat(self, messages: Any, **kwargs: Any) -> Any:
            """Say that a filter was at work."""
            return super().chat(messages, **kwargs).model_copy(update={"raw": raw})

    llm = Filtered(script=[""], repeat=True)
    with pytest.raises(ValueError, match="empty"):
        with_parsing_retry(llm).structured_predict(City, ASKED, city="Oslo")
    assert len(llm.asked) == 1
