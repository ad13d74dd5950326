"""The retrying parser, which LlamaIndex has none of: bounded, with roles, and really async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers import BaseOutputParser, PydanticOutputParser
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate
from pydantic import BaseModel

from llama_index_loopmend.errors import ActionParseException, ValueParseException
from llama_index_loopmend.mending import RetryingOutputParser
from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
from llama_index_loopmend.testing import ScriptedLLM
from loopmend import FinalAnswer, ReadingConfig, ToolCall
from loopmend.contracts import MAX_NORMALIZATION_RETRIES

GOOD = "Action: search\nAction Input: Oslo"
FOUND = ToolCall("search", "Oslo")
NARRATED = "I will search the web."
ASKED = [
    ChatMessage(role=MessageRole.SYSTEM, content="Be brief."),
    ChatMessage(role=MessageRole.USER, content="Where is Oslo?"),
]
Way = Callable[..., Any]


def wait(coroutine: Any) -> Any:
    """Wait for what an async method returns."""
    return asyncio.run(coroutine)


def parse_sync(parser: RetryingOutputParser, *given: Any, **more: Any) -> Any:
    """Parse with retries."""
    return parser.parse_with_retry(*given, **more)


def parse_async(parser: RetryingOutputParser, *given: Any, **more: Any) -> Any:
    """Parse with retries without blocking."""
    return wait(parser.aparse_with_retry(*given, **more))


def predict_sync(parser: RetryingOutputParser, *given: Any, **more: Any) -> Any:
    """Ask and parse with retries."""
    return parser.predict(*given, **more)


def predict_async(parser: RetryingOutputParser, *given: Any, **more: Any) -> Any:
    """Ask and parse with retries without blocking."""
    return wait(parser.apredict(*given, **more))


both = pytest.mark.parametrize("parse", [parse_sync, parse_async])
either = pytest.mark.parametrize("predict", [predict_sync, predict_async])


def retrying(
    *script: Any,
    parser: BaseOutputParser | None = None,
    llm: ScriptedLLM | None = None,
    **options: Any,
) -> tuple[RetryingOutputParser, ScriptedLLM]:
    """Return a retrying parser and the model that it asks."""
    llm = llm or ScriptedLLM(script=script)
    return RetryingOutputParser(parser or ActionOutputParser(), llm, **options), llm


def roles(messages: list[ChatMessage]) -> list[str]:
    """Return who says each message."""
    return [message.role.value for message in messages]


def search(query: str) -> str:
    """Search the web."""
    return query


class Point(BaseModel):
    """What a user's parser returns."""

    x: int


POINTS = PydanticOutputParser(Point)


class Picky(BaseOutputParser):
    """A parser that raises whatever it is told to, and has no form."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def parse(self, output: str) -> str:
        """Take only a yes."""
        if output != "yes":
            raise self.error
        return output


@both
def test_a_good_reply_costs_nothing(parse: Way) -> None:
    """No model is asked when the reply can be parsed."""
    parser, llm = retrying()
    assert parse(parser, GOOD, "Where is Oslo?") == FOUND
    assert llm.asked == []


@both
def test_the_conversation_goes_on_with_its_roles(parse: Way) -> None:
    """The model sees what it was asked and what is wrong with its latest attempt."""
    strict = ActionOutputParser(config=ReadingConfig(plain_text="error"))
    parser, llm = retrying("Still nothing.", GOOD, parser=strict)
    assert parse(parser, NARRATED, ASKED) == FOUND
    for messages in llm.asked:
        assert roles(messages) == ["system", "user", "user"]
        assert messages[:2] == ASKED
    told = [str(messages[-1].content) for messages in llm.asked]
    assert told[0].startswith("You described a tool call but did not make it.")
    assert told[1].startswith("Your reply contains neither a tool call nor an answer.")
    assert roles(ASKED) == ["system", "user"]


@both
def test_who_repeats_a_reply_is_not_asked_again(parse: Way) -> None:
    """The first correction did not help at all, so that a second one only costs."""
    parser, llm = retrying(NARRATED, GOOD)
    with pytest.raises(ActionParseException) as caught:
        parse(parser, NARRATED, "Where is Oslo?")
    assert len(llm.asked) == caught.value.retries == 1


def test_a_reply_may_be_nothing_at_all() -> None:
    """A message without content is an empty reply."""
    silent = ChatMessage(role=MessageRole.ASSISTANT, blocks=[])
    parser, _ = retrying(silent, GOOD)
    assert parser.predict("Where is Oslo?") == FOUND


@pytest.mark.parametrize("retries", [0, 1, 2, 5])
@both
def test_never_more_than_allowed(parse: Way, retries: int) -> None:
    """The model is asked exactly as often as allowed, then the last error is raised."""
    said = ["", *(NARRATED + "!" * n for n in range(retries))]
    parser, llm = retrying(*said[1:], max_retries=retries)
    with pytest.raises(ActionParseException) as caught:
        parse(parser, "", "Where is Oslo?")
    assert len(llm.asked) == caught.value.retries == retries
    assert caught.value.llm_output == said[-1]


def test_the_bound() -> None:
    """By default it is the contract's; what is no bound is refused."""
    parser, llm = retrying("", f"{NARRATED}!")
    with pytest.raises(ActionParseException):
        parser.parse_with_retry(NARRATED, "Where is Oslo?")
    assert len(llm.asked) == MAX_NORMALIZATION_RETRIES == 2
    with pytest.raises(ValueError, match="0 or more"):
        retrying(max_retries=-1)
    with pytest.raises(TypeError, match="must be an int"):
        retrying(max_retries=None)


@either
def test_asking_first(predict: Way) -> None:
    """A prediction tells the model the form, asks, and parses with retries."""
    parser, llm = retrying("", GOOD)
    assert predict(parser, "Where is Oslo?") == FOUND
    assert str(llm.asked[0][0].content).startswith("Where is Oslo?\n\nReply with exactly one")
    assert roles(llm.asked[1]) == ["user", "user"]


@either
def test_asking_with_messages(predict: Way) -> None:
    """The form is told in the system message, and the caller's messages stay as they were."""
    parser, llm = retrying("Answer: Norway")
    assert predict(parser, ASKED) == FinalAnswer("Norway")
    assert "exactly one JSON object" in str(llm.asked[0][0].content)
    assert [message.content for message in ASKED] == ["Be brief.", "Where is Oslo?"]


@either
def test_asking_with_templates(predict: Way) -> None:
    """A template is filled in; one with a parser of its own tells the form itself."""
    parser, llm = retrying(GOOD, GOOD, GOOD)
    chat = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "Where is {x}?")])
    own = PromptTemplate("Where is {x}?", output_parser=POINTS)
    for template in (PromptTemplate("Where is {x}?"), chat, own):
        assert predict(parser, template, x="Oslo") == FOUND
    said = [str(messages[-1].content) for messages in llm.asked]
    assert "exactly one JSON object" in said[0]
    assert (roles(llm.asked[1]), said[1]) == (["system", "user"], "Where is Oslo?")
    assert "JSON schema" in said[2]
    assert "exactly one" not in said[2]


@both
def test_what_was_asked_may_be_a_template(parse: Way) -> None:
    """What was asked is filled in as it was; variables without a template are an error."""
    parser, llm = retrying(GOOD)
    parse(parser, "", PromptTemplate("Where is {x}?"), x="Oslo")
    assert llm.asked[0][0].content == "Where is Oslo?"
    with pytest.raises(TypeError, match="`x`"):
        parse(parser, "", "Where is {x}?", x="Oslo")


def test_the_models_own_system_prompt() -> None:
    """It stands in front, as where LlamaIndex predicts, and only once."""
    llm = ScriptedLLM(script=[GOOD], repeat=True, system_prompt="Be brief.")
    parser = RetryingOutputParser(ActionOutputParser(), llm)
    parser.parse_with_retry("", ASKED)
    parser.parse_with_retry("", "Where is Oslo?")
    for messages in llm.asked:
        assert roles(messages) == ["system", "user", "user"]


@both
def test_pydantic_parsers(parse: Way) -> None:
    """In place of LlamaIndex's own parser ours reads, and asks for just what is wrong."""
    parser, llm = retrying('{"x": "one"}', '{"x": 1}', parser=POINTS)
    assert parse(parser, "no", "A point?") == Point(x=1)
    assert str(llm.asked[0][-1].content).startswith("Your reply contains no JSON.")
    assert str(llm.asked[1][-1].content).startswith("Fix only this: `x` must be an integer")
    parser, _ = retrying('{"x": "one"}', parser=POINTS, max_retries=1)
    with pytest.raises(ValueParseException) as caught:
        parse(parser, "no", "A point?")
    assert caught.value.retries == 1


@dataclass(frozen=True)
class Frozen(ValueError):
    """An error of a user's that cannot be changed."""

    why: str


@pytest.mark.parametrize("error", [OutputParserException("no"), ValueError("no"), Frozen("no")])
@both
def test_any_parser(parse: Way, error: Exception) -> None:
    """LlamaIndex's own exception, no `ValueError`, counts too; the last error says how often."""
    parser, llm = retrying("yes", parser=Picky(error))
    assert parse(parser, "no", "Yes?") == "yes"
    assert str(llm.asked[0][-1].content).startswith("Your last reply could not be used: no")
    parser, _ = retrying("no", parser=Picky(error), max_retries=1)
    with pytest.raises(type(error)) as caught:
        parse(parser, "no", "Yes?")
    assert caught.value is error
    assert getattr(error, "retries", None) == 1


@both
def test_bugs_are_not_corrected(parse: Way) -> None:
    """Any other error of a parser is raised at once."""
    parser, llm = retrying("yes", parser=Picky(KeyError("bug")))
    with pytest.raises(KeyError):
        parse(parser, "no", "Yes?")
    assert llm.asked == []


def test_long_complaints_are_cut() -> None:
    """A parser that repeats a huge reply does not fill the context with it."""
    parser, llm = retrying("yes", parser=Picky(ValueError("x" * 100_000)))
    parser.parse_with_retry("no", "Yes?")
    assert len(str(llm.asked[0][-1].content)) < 1_000


@pytest.mark.parametrize("inner", [ActionOutputParser, TolerantReActOutputParser])
def test_a_parser_that_words_its_own_corrections(inner: Any) -> None:
    """An error of ours from a parser without corrections brings its words along."""
    try:
        inner(tools=[search]).parse('<tool_call>{"name": "search", "arguments": {}}</tool_call>')
    except ActionParseException as raised:
        error = raised
    assert "search(query: string)" in error.observation
    parser, llm = retrying("yes", parser=Picky(error))
    parser.parse_with_retry("no", "Yes?")
    assert llm.asked[0][-1].content == error.observation


@either
def test_react_parsers(predict: Way) -> None:
    """They have no form to tell, so that the prompt is asked as it is."""
    parser, llm = retrying("Answer: 4", "Thought: easy\nAnswer: 4", parser=ReActOutputParser())
    assert predict(parser, "2 + 2?").response == "4"
    assert llm.asked[0][0].content == "2 + 2?"
    assert str(llm.asked[1][-1].content).startswith("Your last reply could not be used: Could not")
    parser, _ = retrying("Answer: 4", parser=TolerantReActOutputParser())
    assert predict(parser, "2 + 2?").response == "4"


def test_it_is_the_wrapped_parser_to_others() -> None:
    """Where nobody knows the prompt, it parses and formats as the wrapped parser does."""
    parser, llm = retrying()
    assert parser.parse(GOOD) == FOUND
    with pytest.raises(ActionParseException):
        parser.parse("")
    assert parser.format("Hi") == ActionOutputParser().format("Hi")
    (told,) = parser.format_messages([ChatMessage(content="Hi")])
    assert told.content == parser.format("Hi")
    assert llm.asked == []


CALL = '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}'
SEARCH = ToolCall("search", {"query": "Oslo"})
OWN = [ActionOutputParser(tools=[search]), TolerantReActOutputParser(tools=[search])]


def decoding(*script: Any, **options: Any) -> ScriptedLLM:
    """Return a model whose client takes a schema."""
    return ScriptedLLM(script=script, schema_argument="response_format", **options)


def found(parsed: Any) -> tuple[str, Any]:
    """Return the call that was parsed, whichever parser did."""
    if isinstance(parsed, ToolCall):
        return parsed.name, parsed.arguments
    return parsed.action, parsed.action_input


def test_corrections_know_what_was_asked() -> None:
    """An example is filled in from the user's question."""
    parser, llm = retrying(CALL, parser=OWN[0])
    assert parser.parse_with_retry(NARRATED, ASKED) == SEARCH
    assert '"query": "Where is Oslo?"' in str(llm.asked[0][-1].content)


@pytest.mark.parametrize("own", OWN)
@both
def test_the_first_retry_is_constrained(parse: Way, own: BaseOutputParser) -> None:
    """Where the client takes a schema and the tools are known, nothing else is said."""
    parser, llm = retrying(parser=own, llm=decoding(CALL))
    assert found(parse(parser, NARRATED, ASKED)) == ("search", {"query": "Oslo"})
    ((system, asked),) = llm.asked
    assert len(llm.schemas) == 1
    assert str(system.content).startswith("Be brief.\n\nYou can call these tools:\n- search(")
    assert asked == ASKED[1]


@pytest.mark.parametrize("own", OWN)
@either
def test_constrained_from_the_start(predict: Way, own: BaseOutputParser) -> None:
    """With `"always"` a prediction is asked for in that way at once, and its retries too."""
    wrong = CALL.replace("query", "q")
    parser, llm = retrying(parser=own, llm=decoding(wrong, CALL), constrain="always")
    assert found(predict(parser, ASKED)) == ("search", {"query": "Oslo"})
    assert len(llm.schemas) == 2
    assert str(llm.asked[1][-1].content).startswith("`search` needs `query`")


@either
def test_an_answer_by_the_contract(predict: Way) -> None:
    """What decodes by the schema may be an answer as well."""
    answer = '{"type": "final", "content": "In Norway."}'
    parser, _ = retrying(parser=OWN[0], llm=decoding(NARRATED, answer))
    assert predict(parser, "Where is Oslo?") == FinalAnswer("In Norway.")


@either
def test_a_provider_that_refuses_a_schema(predict: Way) -> None:
    """It is asked in words then, and not tried again."""
    tried: list[Any] = []

    class Refusing(ScriptedLLM):
        def _next(self, messages: Any, kwargs: dict[str, Any]) -> Any:
            tried.extend(kwargs)
            return super()._next(messages, kwargs)

    script = [NARRATED, CALL] * 2
    llm = Refusing(script=script, schema_argument="response_format", refuses=True)
    parser, _ = retrying(parser=OWN[0], llm=llm)
    for _ in range(2):
        assert predict(parser, "Where is Oslo?") == SEARCH
        assert tried == ["response_format"]
    assert str(llm.asked[1][-1].content).startswith("You described a tool call")
    assert len(llm.asked) == 4


@pytest.mark.parametrize(
    ("parser", "constrain"),
    [
        (ActionOutputParser(), "always"),
        (TolerantReActOutputParser(), "always"),
        (Picky(ValueError("no")), "always"),
        (OWN[0], False),
    ],
)
def test_who_is_asked_in_words(parser: BaseOutputParser, constrain: Any) -> None:
    """Without tools, with a parser of your own or if you want so nothing is constrained."""
    last = "yes" if isinstance(parser, Picky) else CALL
    retried, llm = retrying(parser=parser, llm=decoding(last), constrain=constrain)
    retried.parse_with_retry(NARRATED, "Where is Oslo?")
    assert llm.schemas == []


def test_there_are_few_ways_to_constrain() -> None:
    """Another one is refused when the parser is made."""
    with pytest.raises(ValueError, match="constrain must be 'retry', 'always' or False"):
        retrying(constrain="sometimes")


@either
def test_calls_that_the_provider_could_not_decode(predict: Way) -> None:
    """Some servers raise then; that is a reply which is corrected, and raised if nothing helps."""
    broken = ValueError("error parsing tool call: raw='{'")
    parser, llm = retrying(broken, GOOD)
    assert predict(parser, "Where is Oslo?") == FOUND
    assert str(llm.asked[1][-1].content).startswith("Your tool call could not be parsed.")
    parser, llm = retrying(broken, broken)
    with pytest.raises(ValueError, match="error parsing tool call") as caught:
        predict(parser, "Where is Oslo?")
    assert (len(llm.asked), getattr(caught.value, "retries", None)) == (2, 1)


@pytest.mark.parametrize("constrain", ["always", False])
@either
def test_other_errors_of_a_model_are_raised(predict: Way, constrain: Any) -> None:
    """A provider that is down is not asked again, however it was asked."""
    llm = decoding(ConnectionError("down"), GOOD)
    parser, _ = retrying(parser=OWN[0], llm=llm, constrain=constrain)
    with pytest.raises(ConnectionError, match="down"):
        predict(parser, "Where is Oslo?")
    assert len(llm.asked) == 1
