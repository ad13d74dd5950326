"""`create_agent(response_format=…)` with `NormalizationMiddleware`: an answer, or `on_failure`."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, Union

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


class Named(BaseModel):
    """Anything that has a name."""

    name: str


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


# What else a reply holds whose answer LangChain took


def answers(*others: Any, **beside: Any) -> AIMessage:
    """Return a reply that gives the answer, and makes other calls."""
    first = {"name": "City", "args": {"name": "Oslo", "people": 717710}, "id": "1"}
    return AIMessage("", tool_calls=[{**first, **beside.pop("change", {})}, *others], **beside)


def looking_up(id: str | None, **args: Any) -> dict[str, Any]:
    """Return a call of the other tool."""
    return {"name": "search", "args": args or {"query": "Oslo"}, "id": id}


@pytest.mark.parametrize("id", [None, ""])
def test_an_answer_without_an_id_gets_one(id: str | None) -> None:
    """LangChain cannot answer a call without an id, which some small servers send."""
    model = ScriptedChatModel(script=[answers(change={"id": id})], repeat=True)
    middleware = [NormalizationMiddleware()]
    agent: Any = create_agent(
        model, [search], response_format=ToolStrategy(City), middleware=middleware
    )
    for result in (agent.invoke(ASKED), wait(agent.ainvoke(ASKED))):
        assert result["structured_response"] == OSLO
        said, told = result["messages"][-2:]
        assert said.tool_calls[0]["id"] == told.tool_call_id != ""
    assert len(model.asked) == 2


@pytest.mark.parametrize("id", [None, "", "1"])
def test_each_call_beside_an_answer_has_an_id_of_its_own(id: str | None) -> None:
    """Two calls with one id, or a call without any, leave a history that providers refuse."""
    result, _ = run([answers(looking_up(id))], ToolStrategy(City))
    assert result["structured_response"] == OSLO
    ids = [c["id"] for m in result["messages"] for c in getattr(m, "tool_calls", ())]
    told = [m.tool_call_id for m in result["messages"] if isinstance(m, ToolMessage)]
    assert sorted(ids) == sorted(told)
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    "reply",
    [
        answers(looking_up("2", q="Oslo")),
        answers({**looking_up("2"), "name": "nosuch"}),
        answers(invalid_tool_calls=[{**looking_up("2"), "args": "{q", "error": None}]),
        answers(response_metadata={"finish_reason": "length"}),
    ],
    ids=["arguments", "unknown", "broken", "length"],
)
def test_the_rest_of_a_reply_with_an_answer_counts_too(reply: AIMessage) -> None:
    """A bad call beside the answer never reaches the tools, and an answer that may be cut none."""
    result, model = run([reply, ANSWER], ToolStrategy(City))
    assert result["structured_response"] == OSLO
    assert len(model.asked) == 2
    assert "nosuch" not in str(result["messages"])


def test_what_langchain_takes_stands() -> None:
    """An answer that fits, with words or a good call beside it, is LangChain's own business."""
    extra = call("City", name="Oslo", people=717710, mayor="x")
    spoken = ANSWER.model_copy(update={"content": "Let me answer."})
    for reply in (extra, spoken, answers(looking_up("2"))):
        result, model = run([reply], ToolStrategy(City))
        assert result["structured_response"] == OSLO
        assert (len(model.asked), result.get("normalization")) == (1, None)


def test_an_error_of_others_is_raised() -> None:
    """What fails in the middleware behind ours is no answer without an id."""

    class Broken(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            handler(request)
            return City(name="Oslo", people=-1)

    agent: Any = create_agent(
        ScriptedChatModel(script=[ANSWER]),
        [search],
        response_format=ToolStrategy(City),
        middleware=[NormalizationMiddleware(), Broken()],
    )
    with pytest.raises(ValueError, match="people"):
        agent.invoke(ASKED)


# Refusals

REFUSED = AIMessage("", additional_kwargs={"refusal": "I cannot help with that."})
FILTERED = AIMessage("", response_metadata={"finish_reason": "content_filter"})


@pytest.mark.parametrize("reply", [REFUSED, FILTERED], ids=["refused", "filtered"])
@pytest.mark.parametrize("wanted", [ToolStrategy(City), ProviderStrategy(City)])
@pytest.mark.parametrize("tools", [[], [search]], ids=["no-tools", "tools"])
def test_a_refusal_stands(reply: AIMessage, wanted: Any, tools: list[Any]) -> None:
    """Nobody asks again, whatever was asked for, and the message says what it said."""
    model = ScriptedChatModel(script=[reply])
    middleware = [NormalizationMiddleware(on_failure="raise")]
    agent: Any = create_agent(model, tools, response_format=wanted, middleware=middleware)
    result = agent.invoke(ASKED)
    assert result.get("structured_response") is None
    said = result["messages"][-1]
    assert (said.content, said.additional_kwargs) == ("", reply.additional_kwargs)
    assert said.response_metadata == reply.response_metadata


def test_an_answer_written_as_text_goes_to_the_schema_that_keeps_it() -> None:
    """The first schema that tolerates it would drop what the model said."""
    several: Any = Union[Country, Named, City]
    result, _ = run([WRITTEN], ToolStrategy(several))
    assert result["structured_response"] == OSLO


def test_middleware_can_be_pickled() -> None:
    """Whoever ships agents to other processes can ship it, used or not."""
    middleware = NormalizationMiddleware(salvage=["search"], patterns=["empty"])
    copy = pickle.loads(pickle.dumps(middleware))
    model = ScriptedChatModel(script=["", "Done."])
    agent: Any = create_agent(model, [search], middleware=[copy])
    assert agent.invoke(ASKED)["messages"][-1].content == "Done."


SEARCH = '{"name": "search", "arguments": {"query": "Oslo"}}'


@pytest.mark.parametrize(
    "reply",
    [
        SEARCH,
        f"<tool_call>{SEARCH}</tool_call>",
        "Action: search\nAction Input: Oslo",
        f"Let me look: {SEARCH}",
        f"{WRITTEN}\nAction: search\nAction Input: Oslo",
    ],
)
@pytest.mark.parametrize("wanted", [City, Named], ids=["no-value", "fits-by-chance"])
@pytest.mark.parametrize("kind", [ToolStrategy, ProviderStrategy])
def test_a_call_that_comes_before_the_answer_is_made(reply: str, wanted: Any, kind: Any) -> None:
    """What calls a tool is no answer yet, although LangChain may take it for one."""
    result, model = run([reply, WRITTEN], kind(wanted))
    assert [m.content for m in result["messages"] if m.type == "tool"][:1] == ["about Oslo"]
    assert result["structured_response"].name == "Oslo"
    assert len(model.asked) == 2


def test_what_is_wrong_with_a_call_is_said_of_the_call() -> None:
    """Who is asked for the value in its place makes one up."""
    bad = [
        AIMessage("", tool_calls=[looking_up("1", q="Oslo")]),
        f"{WRITTEN}\n{SEARCH}",
        "Let me search for that.",
        AIMessage(WRITTEN, tool_calls=[{**looking_up("1"), "name": "find"}]),
    ]
    said = [
        "`search` needs `query` and does not accept `q`.",
        "Your tool call could not be parsed.",
        "You described a tool call but did not make it.",
        "Unknown tool. Did you mean `search`?",
    ]
    for reply, words in zip(bad, said, strict=True):
        result, model = run([reply, WRITTEN], ProviderStrategy(City))
        assert result["structured_response"] == OSLO
        assert words in str(model.asked[1][-1].content)


@pytest.mark.parametrize(
    "reply",
    [
        '{"name": "search", "people": 1}',
        '{"name": "Oslo", "people": 1, "by": "search"}',
        "search says: {'name': 'Oslo', 'people': 1}",
        call("City", name="Oslo", people=1),
        call("answer", name="Oslo", people=1),
    ],
)
def test_an_answer_that_names_a_tool_stands(reply: Any) -> None:
    """A value is no call for the tool's name in it, nor for its own name."""
    result, model = run([reply], ProviderStrategy(City))
    assert result["structured_response"].people == 1
    assert len(model.asked) == 1


def test_an_answer_that_is_shaped_like_a_call_stands() -> None:
    """A schema that keeps all of a call wants one."""

    class Planned(BaseModel):
        name: str
        arguments: dict[str, str]

    result, model = run([SEARCH], ProviderStrategy(Planned))
    assert result["structured_response"] == Planned(name="search", arguments={"query": "Oslo"})
    assert len(model.asked) == 1


def test_a_call_that_a_user_wrote_is_no_answer_either() -> None:
    """It is not made, and the value is asked for."""
    model = ScriptedChatModel(script=[SEARCH, WRITTEN])
    agent: Any = create_agent(
        model,
        [search],
        response_format=ProviderStrategy(City),
        middleware=[NormalizationMiddleware()],
    )
    result = agent.invoke({"messages": [("user", f"Do not run {SEARCH}. How big is Oslo?")]})
    assert [m.type for m in result["messages"]] == ["human", "ai"]
    assert result["structured_response"] == OSLO


def test_a_function_may_call_a_tool_before_the_answer() -> None:
    """A call that `on_failure` returns is made, and the model goes on from its result."""
    script = ["no", "no", call("City", name="Oslo", people=1)]
    made = call("search", query="Oslo")
    result, _ = run(script, ToolStrategy(City), max_retries=1, on_failure=lambda *_: made)
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai", "tool"]
    assert result["structured_response"].people == 1
