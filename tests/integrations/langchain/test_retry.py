"""The retrying parser: LangChain's interface, but pipeable, with roles, and really async."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.exceptions import OutputParserException
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import (
    BaseOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    PydanticOutputParser,
    StrOutputParser,
)
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from pydantic import BaseModel, ValidationError

from langchain_loopmend import ActionParseException, AgentActionOutputParser, RetryingOutputParser
from langchain_loopmend.testing import ScriptedChatModel
from tests.integrations.langchain.events import Events
from tests.integrations.langchain.tools import wait

GOOD = "Action: search\nAction Input: Oslo"
ASKED = ChatPromptValue(messages=[SystemMessage("Be brief."), HumanMessage("Where is Oslo?")])


def retrying(*script: Any, **options: Any) -> tuple[RetryingOutputParser[Any], ScriptedChatModel]:
    """Return a retrying parser and the model that it asks."""
    llm = ScriptedChatModel(script=script)
    return RetryingOutputParser.from_llm(llm, **options), llm


class Point(BaseModel):
    """What a parser of a user returns."""

    x: int


class PointParser(BaseOutputParser[Point]):
    """A user's parser without instructions, which raises pydantic's error."""

    def parse(self, text: str) -> Point:
        """Read a point."""
        return Point.model_validate_json(text)


class PickyListParser(CommaSeparatedListOutputParser):
    """A user's parser that raises LangChain's error, link and all."""

    def parse(self, text: str) -> list[str]:
        """Read a list."""
        if "," not in text:
            msg = "too short"
            raise OutputParserException(msg)
        return super().parse(text)


@pytest.mark.parametrize("way", ["invoke", "parse", "parse_result", "parse_with_prompt"])
def test_every_way_asks_again(way: str) -> None:
    """A bad reply is corrected whichever method is called, sync and async."""
    given: dict[str, tuple[Any, ...]] = {
        "invoke": ("I will search.",),
        "parse": ("I will search.",),
        "parse_result": ([Generation(text="I will search.")],),
        "parse_with_prompt": ("I will search.", ASKED),
    }
    parser, llm = retrying(GOOD)
    assert getattr(parser, way)(*given[way]).tool == "search"
    assert llm.ways == ["sync"]
    parser, llm = retrying(GOOD)
    name = f"a{way}"
    assert wait(getattr(parser, name)(*given[way])).tool == "search"
    assert llm.ways == ["async"]


def test_piped_behind_a_model() -> None:
    """It can be piped, which LangChain's `RetryWithErrorOutputParser` cannot."""
    parser, llm = retrying(GOOD)
    chain = ChatPromptTemplate.from_template("{q}") | ScriptedChatModel(script=[""]) | parser
    assert chain.invoke({"q": "Where is Oslo?"}).tool == "search"
    assert len(llm.asked) == 1


def test_a_good_reply_costs_nothing() -> None:
    """No model is asked when the reply can be parsed."""
    parser, llm = retrying()
    assert isinstance(parser.invoke(GOOD), AgentAction)
    assert llm.asked == []


def test_the_conversation_goes_on_with_its_roles() -> None:
    """The model sees what it was asked and what is wrong with its latest reply, not the reply."""
    parser, llm = retrying(
        "Still nothing.", GOOD, parser=AgentActionOutputParser(plain_text="error")
    )
    parser.parse_with_prompt(AIMessage("I will search."), prompt_value=ASKED)
    for asked, words in zip(
        llm.asked, ("You described a tool call", "Your reply contains neither"), strict=True
    ):
        assert asked[:-1] == ASKED.to_messages()
        assert asked[-1].type == "human"
        assert str(asked[-1].content).startswith(words)


def test_without_a_prompt_the_instructions_stand_in() -> None:
    """Behind a pipe the prompt is not known, so the model is told the form."""
    parser, llm = retrying(GOOD, parser=AgentActionOutputParser(tools=["search"]))
    parser.invoke("")
    first, last = llm.asked[0]
    assert "exactly one of [search]" in str(first.content)
    assert "empty" in str(last.content)
    parser, llm = retrying('{"x": 1}', parser=PointParser())
    assert parser.invoke("?") == Point(x=1)
    assert llm.asked[0][0].content == "Reply in the requested form."


def test_prompt_by_either_name() -> None:
    """LangChain's base class and its retry parsers name the argument differently."""
    for name in ("prompt", "prompt_value"):
        parser, llm = retrying(GOOD)
        given: Any = {name: ASKED}
        parser.parse_with_prompt("", **given)
        assert llm.asked[0][:2] == ASKED.to_messages()


def test_a_template_of_your_own() -> None:
    """Templates written for LangChain's retry parsers work."""
    template = PromptTemplate.from_template("P {prompt} C {completion} E {error} I {instructions}")
    parser, llm = retrying("x", '{"x": 2}', parser=PointParser(), prompt=template)
    assert parser.parse_with_prompt("?", ASKED) == Point(x=2)
    said = str(llm.asked[0][0].content)
    assert said.startswith("P System: Be brief.\nHuman: Where is Oslo? C ? E Your last reply")
    assert "C x E" in str(llm.asked[1][0].content)
    parser, llm = retrying('{"x": 2}', parser=PointParser(), prompt=template)
    parser.invoke("?")
    assert str(llm.asked[0][0].content).startswith("P  C ? E")


@pytest.mark.parametrize("retries", [0, 1, 2, 5])
def test_never_more_than_allowed(retries: int) -> None:
    """The model is asked again exactly as often as allowed, then the last error is raised."""
    parser, llm = retrying(*(f"I will search {n}." for n in range(retries)), max_retries=retries)
    with pytest.raises(ActionParseException):
        parser.invoke("")
    assert len(llm.asked) == retries
    parser, llm = retrying("", max_retries=9)
    with pytest.raises(ActionParseException):
        parser.invoke("")  # word for word the same: asking on would not help
    assert len(llm.asked) == 1
    with pytest.raises(ValidationError):
        retrying(max_retries=-1)


def test_foreign_parsers() -> None:
    """Any ValueError of any parser is a reason to ask again; what agents see is LangChain's."""
    parser, llm = retrying("nope", "no", parser=PointParser())
    with pytest.raises(OutputParserException) as caught:
        parser.invoke("no")
    assert isinstance(caught.value.__cause__, ValidationError)
    assert (caught.value.send_to_llm, caught.value.llm_output) == (True, "no")
    assert "validation error" in str(caught.value.observation)
    parser, llm = retrying('{"a": 1}', parser=JsonOutputParser())
    assert parser.invoke("not json") == {"a": 1}
    told = str(llm.asked[0][-1].content)
    assert told.startswith("Your reply contains no JSON.")
    assert "troubleshooting" not in told
    parser, llm = retrying("a, b", parser=PickyListParser())
    assert parser.invoke("a") == ["a", "b"]
    told = str(llm.asked[0][-1].content)
    assert told.startswith("Your last reply could not be used: too short")
    assert "troubleshooting" not in told


def test_long_complaints_are_cut() -> None:
    """A parser that repeats a huge reply does not fill the context with it."""

    class Wordy(StrOutputParser):
        def parse(self, text: str) -> str:
            if len(text) > 10:
                raise ValueError(text)
            return text

    parser, llm = retrying("short", parser=Wordy())
    parser.invoke("x" * 100_000)
    assert len(str(llm.asked[0][-1].content)) < 2_000


def test_feedback_of_foreign_parsers_is_passed_on() -> None:
    """A parser that words its own feedback has the say."""

    class Picky(StrOutputParser):
        def parse(self, text: str) -> str:
            if text != "yes":
                raise OutputParserException("no", "Say yes.", text, send_to_llm=True)
            return text

    parser, llm = retrying("yes", parser=Picky())
    assert parser.invoke("no") == "yes"
    assert llm.asked[0][-1].content == "Say yes."


def test_callbacks_tags_and_events() -> None:
    """Runs nest under the parser's own, are tagged by attempt, and each retry is announced."""
    for asynchronous in (False, True):
        events = Events()
        parser, llm = retrying("I will search.", GOOD)
        config: Any = {"callbacks": [events]}
        if asynchronous:
            wait(parser.ainvoke("", config))
        else:
            parser.invoke("", config)
        assert events.roots == 1
        assert [tags for name, tags in events.runs if name == "model"] == [
            ("loopmend:attempt:2",),
            ("loopmend:attempt:3",),
        ]
        assert [(name, data["attempt"], data["pattern"]) for name, data in events.custom] == [
            ("loopmend_retry", 1, "empty"),
            ("loopmend_retry", 2, "narrated"),
        ]
        assert [data["message"] for _, data in events.custom] == [
            "The reply is empty.",
            "The model described a tool call without making it.",
        ]
        corrections = [data["correction"] for _, data in events.custom]
        assert corrections == [asked[-1].content for asked in llm.asked]


def test_a_provider_that_could_not_decode_the_reply() -> None:
    """Some raise in place of a reply; that is corrected, and the parser's error raised at last."""
    error = ValueError("error parsing tool call: raw='{'")
    parser, _ = retrying(error, GOOD)
    assert parser.invoke("").tool == "search"
    parser, _ = retrying(error, error)
    with pytest.raises(ActionParseException):
        parser.invoke("")


def test_messages_and_generations() -> None:
    """A reply may be text, a message, or a generation of either."""
    parser, _ = retrying()
    generation = ChatGeneration(message=AIMessage("Final Answer: 4"))
    assert isinstance(parser.parse_result([generation]), AgentFinish)
    assert isinstance(parser.invoke(AIMessage("Final Answer: 4")), AgentFinish)


def test_batches_and_streams() -> None:
    """Each reply of a batch is corrected on its own; a stream yields one object."""
    llm = ScriptedChatModel(script=[GOOD], repeat=True)
    parser: RetryingOutputParser[Any] = RetryingOutputParser.from_llm(llm)
    assert [a.tool for a in parser.batch(["", ""])] == ["search", "search"]
    assert [a.tool for a in parser.stream("")] == ["search"]


def test_it_is_the_wrapped_parser_to_others() -> None:
    """Types and instructions are the wrapped parser's; it can be dumped if its parts can."""
    parser, _ = retrying(parser=AgentActionOutputParser(tools=["search"]))
    assert parser.OutputType == AgentActionOutputParser().OutputType
    assert "search" in parser.get_format_instructions()
    assert parser._type == "loopmend-retrying"
    assert dumpd(parser)["kwargs"]["parser"]["type"] == "constructor"


def test_instructions_without_placeholders() -> None:
    """Where no agent fills in the tools' names, no placeholder reaches the model."""
    parser, llm = retrying(GOOD)
    parser.invoke("")
    assert "{" not in str(llm.asked[0][0].content)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_chain_of_your_own(*, asynchronous: bool) -> None:
    """A `retry_chain` gets what LangChain's retry parsers give theirs, and the correction."""
    seen: list[dict[str, Any]] = []

    def fix(given: dict[str, Any]) -> str:
        seen.append(given)
        return '{"x": 3}'

    chain = RunnableLambda(fix)
    parser: Any = RetryingOutputParser(parser=PointParser(), retry_chain=chain, legacy=False)
    found = (
        wait(parser.aparse_with_prompt("?", ASKED))
        if asynchronous
        else parser.parse_with_prompt("?", ASKED)
    )
    assert found == Point(x=3)
    [given] = seen
    assert given["prompt"] == "System: Be brief.\nHuman: Where is Oslo?"
    assert given["completion"] == "?"
    assert given["error"].startswith("Your last reply could not be used: 1 validation error")
    assert given["instructions"] == ""


def test_a_chain_that_returns_no_text() -> None:
    """Whatever a chain of one's own returns goes to the parser, as in LangChain's."""

    class Counting(BaseOutputParser[str]):
        seen: list[Any] = []  # noqa: RUF012 - pydantic copies it

        def parse(self, text: Any) -> str:
            self.seen.append(text)
            if isinstance(text, str):
                raise OutputParserException("no")
            return "parsed"

    for asynchronous in (False, True):
        inner = Counting(seen=[])
        parser: Any = RetryingOutputParser(parser=inner, retry_chain=RunnablePassthrough())
        found = wait(parser.aparse("a")) if asynchronous else parser.parse("a")
        assert found == "parsed"
        assert inner.seen[1]["completion"] == "a"


def test_somebody_has_to_be_asked() -> None:
    """A model or a chain, not both and not neither."""
    with pytest.raises(ValidationError, match="pass either `llm` or `retry_chain`"):
        RetryingOutputParser(parser=PointParser())
    llm = ScriptedChatModel(script=[])
    with pytest.raises(ValidationError, match="pass either `llm` or `retry_chain`"):
        RetryingOutputParser(parser=PointParser(), llm=llm, retry_chain=llm)


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{'x': 1}\n```",
        '<think>{"x": 2}?</think>{"x": 1}',
        "{x: 1}",
        '{"x": 1 /* one */}',
    ],
)
def test_langchains_parsers_need_no_model_call_for_what_is_certain(text: str) -> None:
    """Each of these costs LangChain's retry parsers a call of the model."""
    inner: Any = PydanticOutputParser(pydantic_object=Point)
    parser, llm = retrying(parser=inner)
    assert parser.invoke(text) == Point(x=1)
    parser, llm = retrying(parser=JsonOutputParser())
    assert parser.invoke(text) == {"x": 1}
    assert llm.asked == []


def test_a_parser_that_reads_in_its_own_way_is_left_alone() -> None:
    """A user's subclass of LangChain's parser decides by itself."""

    class Upper(JsonOutputParser):
        def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
            return result[0].text.upper()

    parser, _ = retrying(parser=Upper())
    assert parser.invoke("no json") == "NO JSON"
