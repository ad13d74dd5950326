"""`create_agent(response_format=…)` with `NormalizationMiddleware`: an answer, or `on_failure`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelResponse
from langchain.agents.structured_output import (
    AutoStrategy,
    ProviderStrategy,
    StructuredOutputError,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from langchain_loopmend import NormalizationError
from langchain_loopmend.messages import ENDED
from langchain_loopmend.middleware import NormalizationMiddleware
from langchain_loopmend.testing import ScriptedChatModel, call
from tests.integrations.langchain.tools import search, wait

ASKED: Any = {"messages": [("user", "How big is Oslo?")]}


class City(BaseModel):
    """A city."""

    name: str
    people: int = Field(ge=0)


class Country(BaseModel):
    """A country."""

    capital: str


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
ANSWER = call("City", name="Oslo", people=717710)
WRITTEN = '{"name": "Oslo", "people": 717710}'


def run(script: list[Any], response_format: Any, **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Run an agent with a tool to its end."""
    model = ScriptedChatModel(script=script)
    middleware = [NormalizationMiddleware(**options)]
    agent: Any = create_agent(
        model, [search], response_format=response_format, middleware=middleware
    )
    return agent.invoke(ASKED), model


@pytest.mark.parametrize(
    "reply",
    [
        ANSWER,
        WRITTEN,
        f"Here you are:\n```json\n{WRITTEN}\n```",
        "<think>Easy.</think>{'name': 'Oslo', 'people': 717710,}",
        f'{{"name": "City", "arguments": {WRITTEN}}}',
        call("City", name="Oslo", people="717710"),
        AIMessage(
            "",
            invalid_tool_calls=[
                {
                    "name": "City",
                    "args": "{'name': 'Oslo', 'people': 717710}",
                    "id": "1",
                    "error": None,
                    "type": "invalid_tool_call",
                }
            ],
        ),
    ],
    ids=["call", "json", "fenced", "python", "written-call", "text-number", "broken-call"],
)
@pytest.mark.parametrize("wanted", [ToolStrategy(City), AutoStrategy(City), City])
def test_an_answer_in_any_form_is_the_structured_response(reply: Any, wanted: Any) -> None:
    """What is certain needs no retry: the call is made, whatever it looked like."""
    result, model = run([reply], wanted)
    assert result["structured_response"] == OSLO
    assert len(model.asked) == 1
    answer, told = result["messages"][-2:]
    assert answer.tool_calls[0]["name"] == "City"
    assert isinstance(told, ToolMessage)
    assert told.tool_call_id == answer.tool_calls[0]["id"]
    assert (told.name, told.content) == ("City", f"Returning structured response: {OSLO!s}")


def test_written_answers_are_reported_and_can_be_refused() -> None:
    """An answer that was written as text is a made call, and `salvage` decides about it."""
    result, _ = run([WRITTEN], ToolStrategy(City))
    assert result["normalization"][0]["outcome"] == "made"
    assert result["normalization"][0]["patterns"] == ["textual_call"]
    result, model = run([WRITTEN, ANSWER], ToolStrategy(City), salvage=False)
    assert result["structured_response"] == OSLO
    assert "wrote the tool call as text" in str(model.asked[1][-1].content)


@pytest.mark.parametrize("prose", ["It is big.", "Let me search for that.", ""])
def test_prose_is_corrected_towards_the_strategys_tool(prose: str) -> None:
    """Without loopmend such a run ends without a structured response, and without an error."""
    result, model = run([prose, ANSWER], ToolStrategy(City))
    assert result["structured_response"] == OSLO
    assert len(model.asked) == 2
    model = ScriptedChatModel(script=[prose])
    plain: Any = create_agent(model, [search], response_format=ToolStrategy(City))
    assert plain.invoke(ASKED).get("structured_response") is None


def test_the_correction_names_the_tool() -> None:
    """The model is told which tool takes its answer, and what that takes."""
    _, model = run(["It is big.", ANSWER], ToolStrategy(City))
    assert model.asked[1][-1].content == (
        "Give your answer by calling `City`. Signature: City(name: string, people: integer).\n"
        "Call the tool through the tool interface, not in the text."
    )


def test_tools_come_before_the_answer() -> None:
    """Calls of ordinary tools run as ever, and a bad one is corrected as ever."""
    script = [call("search", query="Oslo"), call("serch", q=1), call("search", query="x"), ANSWER]
    result, model = run(script, ToolStrategy(City))
    assert result["structured_response"] == OSLO
    assert len(model.asked) == 4
    assert [m.type for m in result["messages"]] == [
        *("human", "ai", "tool", "ai", "tool", "ai", "tool"),
    ]


@pytest.mark.parametrize("handle_errors", [True, False])
def test_a_structured_output_error_is_a_refused_reply(*, handle_errors: bool) -> None:
    """An answer that does not fit is corrected inside of the step, whatever LangChain would do."""
    bad = call("City", name="Oslo", people=-1)
    strategy = ToolStrategy(City, handle_errors=handle_errors)
    result, model = run([bad, ANSWER], strategy)
    assert result["structured_response"] == OSLO
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool"]
    assert "`people`" in str(model.asked[1][-1].content)
    assert result["normalization"][0]["patterns"] == ["bad_value"]


@pytest.mark.parametrize("handle_errors", ["Say it again.", lambda _: "Say it again."])
def test_own_words_for_a_bad_answer_are_kept(handle_errors: Any) -> None:
    """Whoever words `handle_errors` has the say about what the model is told."""
    bad = call("City", name="Oslo", people=-1)
    _, model = run([bad, ANSWER], ToolStrategy(City, handle_errors=handle_errors))
    assert model.asked[1][-1].content == "Say it again."


def test_two_answers_are_one_too_many() -> None:
    """LangChain's error about several answers is a refused reply, too."""
    both = AIMessage(
        "", tool_calls=[*ANSWER.tool_calls, *call("City", "2", name="a", people=1).tool_calls]
    )
    result, model = run([both, ANSWER], ToolStrategy(City))
    assert result["structured_response"] == OSLO
    assert str(model.asked[1][-1].content).startswith("You gave several answers. Give only one.")


def test_any_of_several_schemas() -> None:
    """A union offers one tool for each of its schemas."""
    result, _ = run(['{"capital": "Oslo"}'], ToolStrategy(City | Country))
    assert result["structured_response"] == Country(capital="Oslo")
    result, model = run(["Oslo.", call("Country", capital="Oslo")], ToolStrategy(City | Country))
    assert result["structured_response"] == Country(capital="Oslo")
    assert "`City`, `Country`" in str(model.asked[1][-1].content)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Town, Town("Oslo", 717710)),
        (Place, {"name": "Oslo", "people": 717710}),
        ({**City.model_json_schema(), "title": "Spot"}, {"name": "Oslo", "people": 717710}),
    ],
    ids=["dataclass", "typed-dict", "json-schema"],
)
def test_every_kind_of_schema(schema: Any, expected: Any) -> None:
    """The structured response is what LangChain returns for that kind of schema."""
    result, _ = run([f"Sure: {WRITTEN}"], ToolStrategy(schema))
    assert result["structured_response"] == expected


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "reply", ["Sure! {'name': 'Oslo', 'people': 717710}", f"```json\n{WRITTEN}\n```"]
)
def test_a_provider_that_decodes_only_almost(reply: str, *, asynchronous: bool) -> None:
    """What LangChain cannot parse of a provider's structured output is read if it is certain."""
    model = ScriptedChatModel(script=[reply])
    agent: Any = create_agent(
        model, response_format=ProviderStrategy(City), middleware=[NormalizationMiddleware()]
    )
    result = wait(agent.ainvoke(ASKED)) if asynchronous else agent.invoke(ASKED)
    assert result["structured_response"] == OSLO
    with pytest.raises(StructuredOutputError):
        create_agent(
            ScriptedChatModel(script=[reply]), response_format=ProviderStrategy(City)
        ).invoke(ASKED)


def test_a_provider_that_does_not_decode_is_asked_again() -> None:
    """Prose or a torn value is a refused reply; calls of tools still run."""
    script = [call("search", query="Oslo"), '{"name": "Os', "No.", WRITTEN]
    result, model = run(script, ProviderStrategy(City))
    assert result["structured_response"] == OSLO
    assert str(model.asked[2][-1].content).startswith("Your reply was cut off")
    assert '{"name": string, "people": integer}' in str(model.asked[3][-1].content)
    assert result["normalization"][-1]["patterns"] == ["truncated", "no_action"]


def test_a_model_whose_profile_says_that_it_decodes() -> None:
    """Under `AutoStrategy` LangChain chooses by the model; either way a bad reply is corrected."""

    class Decoding(ScriptedChatModel):
        model_name: str = "gpt-4o"
        profile: Any = None

    model = Decoding(script=["It is big.", WRITTEN], profile={"structured_output": True})
    agent: Any = create_agent(model, response_format=City, middleware=[NormalizationMiddleware()])
    assert agent.invoke(ASKED)["structured_response"] == OSLO
    assert "JSON object" in str(model.asked[1][-1].content)


@pytest.mark.parametrize("strategy", [ToolStrategy(City), ProviderStrategy(City)])
def test_a_run_that_is_given_up_on(strategy: Any) -> None:
    """After the last retry the run ends as `on_failure` says, never in LangChain's error."""
    script = ["No.", "Never.", "Not now."]
    result, _ = run(script, strategy)
    assert result.get("structured_response") is None
    assert result["messages"][-1].response_metadata[ENDED] == "parse_fail"
    assert result["normalization"][-1]["outcome"] == "gave_up"
    with pytest.raises(NormalizationError, match="Gave up after 2 retries"):
        run(script, strategy, on_failure="raise")
    bad = [call("City", name=name, people=-1) for name in "abc"]
    with pytest.raises(NormalizationError) as caught:
        run(bad, ToolStrategy(City, handle_errors=False), on_failure="raise")
    assert isinstance(caught.value.__cause__, StructuredOutputValidationError)
    result, _ = run(script, strategy, on_failure=lambda verdict, reply: AIMessage("Sorry."))
    assert result["messages"][-1].content == "Sorry."


def test_who_wants_langchains_error_gets_it() -> None:
    """`handle_errors=False` says so: after the last retry LangChain's own error is raised."""
    bad = [call("City", name=name, people=-1) for name in "abc"]
    with pytest.raises(StructuredOutputValidationError):
        run(bad, ToolStrategy(City, handle_errors=False))


def test_an_agent_without_tools_ends_after_giving_up() -> None:
    """Without loopmend such an agent asks for the structured answer again up to its limit."""
    model = ScriptedChatModel(script=["No.", "Never.", "Not now."])
    agent: Any = create_agent(
        model, response_format=ToolStrategy(City), middleware=[NormalizationMiddleware()]
    )
    assert agent.invoke(ASKED)["messages"][-1].response_metadata[ENDED] == "parse_fail"
    assert len(model.asked) == 3


def test_patterns_that_are_left_alone() -> None:
    """Who acts on some failures only gets LangChain's own behaviour for the others."""
    result, _ = run(["It is big."], ToolStrategy(City), patterns=["empty"])
    assert result["messages"][-1].content == "It is big."
    bad = call("City", name="Oslo", people=-1)
    strategy = ToolStrategy(City, handle_errors=False)
    with pytest.raises(StructuredOutputValidationError):
        run([bad], strategy, patterns=["empty"])
    with pytest.raises(StructuredOutputValidationError):
        run(["It is big."], ProviderStrategy(City), patterns=["empty"])
    result, _ = run([bad, ANSWER], ToolStrategy(City), patterns=["empty"])
    assert result["structured_response"] == OSLO
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai", "tool"]


def test_a_streamed_answer_that_was_cut_off_is_refused() -> None:
    """LangChain completes arguments that stop in the middle; an answer of those is none."""
    torn = AIMessage(
        "",
        invalid_tool_calls=[
            {
                "name": "City",
                "args": '{"people": 717710, "name": "Os',
                "id": "1",
                "error": None,
                "type": "invalid_tool_call",
            }
        ],
    )
    model = ScriptedChatModel(script=[torn, ANSWER])
    agent: Any = create_agent(
        model, response_format=ToolStrategy(City), middleware=[NormalizationMiddleware()]
    )
    *_, last = agent.stream(ASKED, stream_mode=["messages", "values"])
    assert last[1]["structured_response"] == OSLO
    plain: Any = create_agent(ScriptedChatModel(script=[torn]), response_format=ToolStrategy(City))
    *_, last = plain.stream(ASKED, stream_mode=["messages", "values"])
    assert last[1]["structured_response"].name == "Os"


def test_errors_that_are_not_about_replies_go_through() -> None:
    """A structured output error of somebody else's, without a reply, is raised."""
    error = StructuredOutputError("no reply")
    with pytest.raises(StructuredOutputError, match="no reply"):
        run([error], ToolStrategy(City))


def test_a_reply_beside_other_messages_is_not_ours() -> None:
    """What other middleware returns beside the reply is left as it is."""

    class Talkative(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            response = handler(request)
            return ModelResponse(result=[*response.result, AIMessage("Anything else?")])

    agent: Any = create_agent(
        ScriptedChatModel(script=["Let me search for that."]),
        [search],
        middleware=[NormalizationMiddleware(), Talkative()],
    )
    assert [m.content for m in agent.invoke(ASKED)["messages"][1:]] == [
        "Let me search for that.",
        "Anything else?",
    ]
