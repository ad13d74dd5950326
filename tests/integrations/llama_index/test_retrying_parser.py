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
from pydantic import BaseModel, ValidationError

from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
from llama_index_loopmend.retry import RetryingOutputParser
from llama_index_loopmend.testing import ScriptedLLM
from loopmend import MAX_NORMALIZATION_RETRIES, Final, ReadingConfig, ToolCall

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
    *script: Any, parser: BaseOutputParser | None = None, **options: Any
) -> tuple[RetryingOutputParser, ScriptedLLM]:
    """Return a retrying parser and the model that it asks."""
    llm = ScriptedLLM(script=script)
    return RetryingOutputParser(parser or ActionOutputParser(), llm, **options), llm


def roles(messages: list[ChatMessage]) -> list[str]:
    """Return who says each message."""
    return [message.role.value for message in messages]


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
    """The model sees what it was asked, each of its attempts, and what is wrong with them."""
    strict = ActionOutputParser(config=ReadingConfig(plain_text="error"))
    parser, llm = retrying("Still nothing.", GOOD, parser=strict)
    assert parse(parser, NARRATED, ASKED) == FOUND
    assert roles(llm.asked[1]) == ["system", "user", "assistant", "user", "assistant", "user"]
    assert llm.asked[1][:4] == llm.asked[0]
    said = [str(message.content) for message in llm.asked[1]]
    assert (said[2], said[4]) == (NARRATED, "Still nothing.")
    assert "cannot be used" in said[3]
    assert "still cannot be used" in said[5]
    assert roles(ASKED) == ["system", "user"]


@both
def test_empty_replies_are_not_sent_back(parse: Way) -> None:
    """Providers refuse empty messages, so that only the correction is added."""
    parser, llm = retrying(" ", GOOD)
    parse(parser, "", "Where is Oslo?")
    assert roles(llm.asked[1]) == ["user", "user", "user"]
    silent = ChatMessage(role=MessageRole.ASSISTANT, blocks=[])
    parser, llm = retrying(silent, GOOD)
    assert parser.predict("Where is Oslo?") == FOUND


@pytest.mark.parametrize("retries", [0, 1, 2, 5])
@both
def test_never_more_than_allowed(parse: Way, retries: int) -> None:
    """The model is asked exactly as often as allowed, then the last error is raised."""
    parser, llm = retrying(*[NARRATED] * retries, max_retries=retries)
    with pytest.raises(ActionParseException) as caught:
        parse(parser, "", "Where is Oslo?")
    assert len(llm.asked) == caught.value.retries == retries
    assert caught.value.llm_output == (NARRATED if retries else "")


def test_the_bound() -> None:
    """By default it is the contract's; what is no bound is refused."""
    assert retrying()[0].max_retries == MAX_NORMALIZATION_RETRIES == 2
    with pytest.raises(ValueError, match="negative"):
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
    assert predict(parser, ASKED) == Final("Norway")
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
    """LlamaIndex's own parser is corrected with what pydantic says and the form."""
    parser, llm = retrying('{"x": "one"}', '{"x": 1}', parser=POINTS)
    assert parse(parser, "no", "A point?") == Point(x=1)
    told = str(llm.asked[0][-1].content)
    assert told.startswith("Your last reply cannot be used. ")
    assert "JSON schema to follow" in told
    assert "valid integer" in str(llm.asked[1][-1].content)
    parser, _ = retrying('{"x": "one"}', parser=POINTS, max_retries=1)
    with pytest.raises(ValidationError) as caught:
        parse(parser, "no", "A point?")
    assert getattr(caught.value, "retries", None) == 1


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
    assert str(llm.asked[0][-1].content).startswith("Your last reply cannot be used.")
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


def test_a_parser_that_words_its_own_corrections() -> None:
    """An error of ours from a parser without corrections brings its words along."""
    try:
        ActionOutputParser().parse("")
    except ActionParseException as raised:
        error = raised
    parser, llm = retrying("yes", parser=Picky(error))
    parser.parse_with_retry("no", "Yes?")
    assert llm.asked[0][-1].content == error.observation


@either
def test_react_parsers(predict: Way) -> None:
    """They have no form to tell, so that the prompt is asked as it is."""
    parser, llm = retrying("Answer: 4", "Thought: easy\nAnswer: 4", parser=ReActOutputParser())
    assert predict(parser, "2 + 2?").response == "4"
    assert llm.asked[0][0].content == "2 + 2?"
    assert str(llm.asked[1][-1].content).startswith("Your last reply cannot be used. Could not")
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
