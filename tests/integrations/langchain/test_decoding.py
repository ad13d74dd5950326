"""Providers that decode by a JSON schema: how they are told, when, and what if they refuse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableMap
from pydantic import PrivateAttr

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langgraph.prebuilt import create_react_agent  # type: ignore[deprecated]

from langchain_loopmend import (
    AgentActionOutputParser,
    NormalizationError,
    RetryingOutputParser,
    TraceRecorder,
    as_tool_caller,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.messages import ENDED
from langchain_loopmend.middleware import NormalizationMiddleware, ToolCallingMiddleware
from langchain_loopmend.schemas import decoding_arguments, takes_schema
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel, call
from loopmend import action_schema, classify_trace
from tests.integrations.langchain.events import WITH_CONTEXT, Events
from tests.integrations.langchain.test_agents import Place
from tests.integrations.langchain.tools import TOOLS, search, wait

NARRATED = "Let me search for that."
GOOD = call("search", query="Oslo")
CALL = '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}'
FINAL = '{"type": "final", "content": "It is in Norway."}'
DONE = "It is in Norway."
QUESTION: Any = {"messages": [("user", "Where is Oslo?")]}
SCHEMA = {"anyOf": [{"type": "object"}]}


class Told(DecodingChatModel):
    """Remembers what it was told beside the messages, each time."""

    _given: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def given(self) -> list[dict[str, Any]]:
        """What it was told, also when it refused."""
        return self._given

    def _next(self, messages: list[BaseMessage], way: str, kwargs: Mapping[str, Any]) -> AIMessage:
        self._given.append(dict(kwargs))
        return super()._next(messages, way, kwargs)


class Hollow(Told):
    """Says that it takes a schema, but never passes it on."""

    def with_structured_output(
        self, schema: Any = None, *, method: Literal["json_schema"] = "json_schema", **kwargs: Any
    ) -> Any:
        """Return the model bound to something else."""
        return self.bind(mode="json")


# Which models, and how


class Chained(DecodingChatModel):
    """Wraps the bound model as clients do that parse the reply."""

    def with_structured_output(
        self, schema: Any = None, *, method: Literal["json_schema"] = "json_schema", **kwargs: Any
    ) -> Any:
        """Return a chain with the bound model somewhere in it."""
        form = {
            "type": "json_schema",
            "json_schema": {"name": schema["title"], "schema": {**schema, "more": 1}},
        }
        bound = self.bind(response_format=form, ls_structured_output_format={"schema": schema})
        return RunnableLambda(str) | RunnableMap(raw=bound) | RunnableLambda(str)


class Parsing(DecodingChatModel):
    """Returns a chain without any bound model."""

    def with_structured_output(
        self, schema: Any = None, *, method: Literal["json_schema"] = "json_schema", **kwargs: Any
    ) -> Any:
        """Return something that nothing is bound to."""
        return RunnableLambda(str) | RunnableLambda(str)


def test_which_models_take_a_schema() -> None:
    """The class says so, whatever the model is bound to; language models and others do not."""
    model = DecodingChatModel(script=[])
    assert takes_schema(model)
    assert takes_schema(model.bind(stop=["x"]).bind(seed=1))
    for other in (ScriptedChatModel(script=[]), FakeListLLM(responses=[]), "a model by its name"):
        assert not takes_schema(other)
        with pytest.raises(NotImplementedError, match="takes no JSON schema"):
            decoding_arguments(other, SCHEMA)


def test_where_the_schema_goes() -> None:
    """The client's own way to pass a schema is used, without what is not for the provider."""
    given: dict[str, Any] = {"response_format": {"schema": SCHEMA}}
    assert decoding_arguments(DecodingChatModel(script=[]), SCHEMA) == given
    assert decoding_arguments(DecodingChatModel(script=[]).bind(seed=1), SCHEMA) == given
    form = {"type": "json_schema", "json_schema": {"name": "action", "schema": SCHEMA}}
    assert decoding_arguments(Chained(script=[]), SCHEMA) == {"response_format": form}
    for hollow in (Hollow(script=[]), Parsing(script=[])):
        with pytest.raises(NotImplementedError, match="takes no JSON schema"):
            decoding_arguments(hollow, SCHEMA)


# Chat models


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_the_first_retry_is_constrained(way: str) -> None:
    """A model that described a call can write nothing but an action then, and is told no more."""
    llm = DecodingChatModel(script=[NARRATED, CALL])
    model = with_tool_call_retry(llm, TOOLS)
    asked = [SystemMessage("Be brief."), HumanMessage("Where is Oslo?")]
    events = Events()
    config: Any = {"callbacks": [events]}

    async def collected() -> list[Any]:
        return [m async for m in model.astream(asked, config)]

    run: dict[str, Any] = {
        "invoke": lambda: [model.invoke(asked, config)],
        "ainvoke": lambda: [wait(model.ainvoke(asked, config))],
        "stream": lambda: list(model.stream(asked, config)),
        "astream": lambda: wait(collected()),
    }
    [reply] = run[way]()
    assert reply.content == ""
    assert [(c["name"], c["args"]) for c in reply.tool_calls] == [("search", {"query": "Oslo"})]
    assert llm.schemas[0] is None
    kinds = [action["properties"]["type"]["const"] for action in llm.schemas[1]["anyOf"]]
    assert kinds == ["tool_call", "tool_call", "tool_call", "final"]
    system, question = llm.asked[1]
    assert str(system.content).startswith("Be brief.\n\nYou can call these tools:\n- search(query")
    assert question == asked[1]
    assert events.custom == [
        (
            "loopmend_retry",
            {
                "attempt": 1,
                "pattern": "narrated",
                "message": "The model described a call to `search` without making it.",
                "correction": None,
            },
        )
    ]


def test_a_constrained_answer_is_unwrapped() -> None:
    """What comes as the contract's answer is returned as what it says."""
    llm = DecodingChatModel(script=[NARRATED, FINAL])
    reply = with_tool_call_retry(llm, TOOLS).invoke("Where is Oslo?")
    assert (reply.content, reply.tool_calls) == (DONE, [])


def test_earlier_calls_are_shown_as_actions() -> None:
    """A constrained model sees its calls in the form that it is to write, and their results."""
    llm = DecodingChatModel(script=[NARRATED, FINAL])
    asked = [
        HumanMessage("Where is Oslo?"),
        AIMessage("", tool_calls=GOOD.tool_calls),
        ToolMessage("Norway", tool_call_id="call_1"),
        AIMessage("In Norway."),
        HumanMessage("And Bergen?"),
    ]
    with_tool_call_retry(llm, TOOLS).invoke(asked)
    assert [(m.type, m.content) for m in llm.asked[1][1:]] == [
        ("human", "Where is Oslo?"),
        ("ai", CALL),
        ("human", "Result of search: Norway"),
        ("ai", "In Norway."),
        ("human", "And Bergen?"),
    ]


def test_a_provider_that_ignores_the_schema() -> None:
    """What the model replies is read as ever, and corrected in words the next time."""
    llm = DecodingChatModel(script=[NARRATED, "", GOOD])
    assert with_tool_call_retry(llm, TOOLS).invoke("go").tool_calls == GOOD.tool_calls
    assert [schema is None for schema in llm.schemas] == [True, False, False]
    assert str(llm.asked[2][-1].content).startswith("Your reply was empty.")


@pytest.mark.parametrize("kind", [Told, Hollow])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_provider_that_refuses_the_schema(kind: Any, *, asynchronous: bool) -> None:
    """It is asked in words, and that costs no retry."""
    llm = kind(script=[NARRATED, GOOD], refuses=True)
    model = with_tool_call_retry(llm, TOOLS, max_retries=1)
    reply = wait(model.ainvoke("go")) if asynchronous else model.invoke("go")
    assert reply.tool_calls == GOOD.tool_calls
    assert llm.schemas == [None, None]
    assert str(llm.asked[1][-1].content).startswith("You described a tool call")


def test_other_errors_go_through() -> None:
    """What the provider says that is not about the schema is raised."""
    llm = DecodingChatModel(script=[NARRATED, ConnectionError("down")])
    with pytest.raises(ConnectionError, match="down"):
        with_tool_call_retry(llm, TOOLS).invoke("go")


@pytest.mark.parametrize(
    ("options", "constrained"),
    [
        ({"constrain": False}, [False, False]),
        ({"constrain": "retry"}, [False, True]),
        ({"constrain": "always"}, [True, True]),
        ({"tools": None}, [False, False]),
        ({"tools": []}, [False]),
    ],
    ids=["never", "retry", "always", "unknown-tools", "no-tools"],
)
def test_when_it_is_constrained(options: dict[str, Any], constrained: list[bool]) -> None:
    """From the first retry on, always, or never; and only where the tools are known."""
    llm = DecodingChatModel(script=[NARRATED, DONE])
    model = with_tool_call_retry(llm, **{"tools": TOOLS, **options})
    model.invoke("Where is Oslo?")
    assert [schema is not None for schema in llm.schemas] == constrained


def test_what_the_model_is_bound_to() -> None:
    """A constrained model keeps what it is bound to, but for the tools and what goes with them."""
    llm = Told(script=[NARRATED, FINAL])
    bound = llm.bind(tools=[search], tool_choice="auto", parallel_tool_calls=False).bind(seed=1)
    with_tool_call_retry(bound, [search]).invoke("go", temperature=0)
    assert llm.given[0].keys() == {
        *("tools", "tool_choice", "parallel_tool_calls", "seed", "temperature")
    }
    assert llm.given[1] == {
        "seed": 1,
        "temperature": 0,
        "response_format": {"schema": action_schema([search_schema()], ask_user=False)},
    }


def test_the_configuration_of_a_model_is_kept() -> None:
    """Tags and the like of a model hold for its constrained runs, too."""
    tagged = DecodingChatModel(script=[NARRATED, FINAL]).with_config(tags=["loopmend:mine"])
    events = Events()
    with_tool_call_retry(tagged, TOOLS).invoke("go", {"callbacks": [events]})
    assert all("loopmend:mine" in tags for name, tags in events.runs if name == "model")


def search_schema() -> dict[str, Any]:
    """Describe the tool as the model is told of it."""
    model = with_tool_call_retry(ScriptedChatModel(script=[]), [search])
    assert model.tools is not None
    return model.tools[0]


# Models without tool calling


def test_any_model_as_a_tool_caller() -> None:
    """It takes the place of a tool-calling model in LangGraph, without being bound to tools."""
    llm = Told(script=[CALL, FINAL])
    graph = create_react_agent(as_tool_caller(llm), [search])
    messages = graph.invoke(QUESTION)["messages"]
    assert [m.content for m in messages[1:]] == ["", "about Oslo", DONE]
    assert all(given.keys() == {"response_format"} for given in llm.given)
    assert str(llm.asked[1][-1].content) == "Result of search: about Oslo"


def test_a_tool_caller_needs_a_schema() -> None:
    """A model whose class takes none is refused at once; one that refuses it is asked in words."""
    with pytest.raises(TypeError, match="ScriptedChatModel does not declare support for a JSON"):
        as_tool_caller(ScriptedChatModel(script=[]))
    llm = DecodingChatModel(script=[GOOD], refuses=True)
    assert as_tool_caller(llm, TOOLS).invoke("go").tool_calls == GOOD.tool_calls
    assert llm.asked == [[HumanMessage("go")]]


def test_a_tool_caller_that_is_given_up_on() -> None:
    """Bounds and verdicts are those of any other model."""
    wrong = ['{"type": "tool_call", "name": "nope", "arguments": {}}', "", NARRATED]
    reply = as_tool_caller(DecodingChatModel(script=wrong), TOOLS).invoke("go")
    assert reply.response_metadata[ENDED] == "parse_fail"
    with pytest.raises(NormalizationError):
        as_tool_caller(DecodingChatModel(script=wrong), TOOLS, on_failure="raise").invoke("go")


# Chains and parsers


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_chain_is_constrained(*, asynchronous: bool) -> None:
    """The model behind a chain writes the contract's JSON then, which the parser reads."""
    llm = DecodingChatModel(script=[NARRATED, CALL])
    chain = with_parsing_retry(llm, tools=TOOLS)
    found = wait(chain.ainvoke("go")) if asynchronous else chain.invoke("go")
    assert isinstance(found, AgentAction)
    assert (found.tool, found.tool_input) == ("search", {"query": "Oslo"})
    assert [schema is not None for schema in llm.schemas] == [False, True]


@pytest.mark.parametrize(
    ("options", "constrained"),
    [
        ({"tools": TOOLS, "constrain": "always"}, [True, True]),
        ({"tools": TOOLS, "constrain": False}, [False, False]),
        ({}, [False, False]),
        ({"parser": JsonOutputParser()}, [False, False]),
    ],
    ids=["always", "never", "unknown-tools", "foreign-parser"],
)
def test_when_a_chain_is_constrained(options: dict[str, Any], constrained: list[bool]) -> None:
    """Only a parser of ours that knows the tools can say what an action is."""
    llm = DecodingChatModel(script=[NARRATED, FINAL])
    found = with_parsing_retry(llm, **options).invoke("go")
    assert found == json.loads(FINAL) or isinstance(found, AgentFinish)
    assert [schema is not None for schema in llm.schemas] == constrained


def test_the_model_for_asking_again_is_constrained() -> None:
    """Where another model is asked again, it is that one which has to take a schema."""
    weak, strong = ScriptedChatModel(script=[NARRATED]), DecodingChatModel(script=[CALL])
    assert with_parsing_retry(weak, tools=TOOLS, retry_llm=strong).invoke("go").tool == "search"
    assert strong.schemas[0] is not None
    plain = ScriptedChatModel(script=[CALL])
    chain = with_parsing_retry(DecodingChatModel(script=[NARRATED]), tools=TOOLS, retry_llm=plain)
    assert chain.invoke("go").tool == "search"
    assert str(plain.asked[0][-1].content).startswith("You described a tool call")


@pytest.mark.parametrize("refuses", [False, True])
def test_a_retrying_parser_is_constrained(*, refuses: bool) -> None:
    """A template of one's own is for asking in words: only if the provider takes no schema."""
    template = PromptTemplate.from_template("P {prompt} C {completion} E {error}")
    llm = DecodingChatModel(script=[CALL], refuses=refuses)
    parser = RetryingOutputParser.from_llm(llm, AgentActionOutputParser(tools=TOOLS), template)
    asked = ChatPromptValue(messages=[HumanMessage("Where is Oslo?")])
    found = parser.parse_with_prompt(NARRATED, asked)
    assert isinstance(found, AgentAction)
    assert (llm.schemas[0] is None) is refuses
    assert str(llm.asked[0][-1].content).startswith("P Human: Where" if refuses else "Where is")


# Agents


@WITH_CONTEXT
def test_an_agent_is_constrained(*, asynchronous: bool) -> None:
    """The model of an agent is offered no tools then: the schema holds them."""
    llm = Told(script=[NARRATED, CALL, DONE])
    run = create_agent(
        llm, TOOLS, system_prompt="Be brief.", middleware=[NormalizationMiddleware()]
    )
    events = Events()
    config: Any = {"callbacks": [events]}
    result = wait(run.ainvoke(QUESTION, config)) if asynchronous else run.invoke(QUESTION, config)
    assert [m.content for m in result["messages"][1:]] == ["", "about Oslo", DONE]
    assert [given.keys() for given in llm.given] == [set(), {"response_format"}, set()]
    assert str(llm.asked[1][0].content).startswith("Be brief.\n\nYou can call these tools:")
    assert [data["correction"] for _, data in events.custom] == [None]
    [report] = result["normalization"]
    assert (report["outcome"], report["retries"]) == ("mended", 1)


class _StatusError(Exception):
    """A server's answer to a request that it does not like."""

    status_code = 400


class _Unwell(DecodingChatModel):
    """A server that refuses the first requests, whatever they hold."""

    _refusals: int = PrivateAttr(default=2)

    def _next(self, messages: Any, way: str, kwargs: Any) -> Any:
        if self._refusals:
            self._refusals -= 1
            raise _StatusError
        return super()._next(messages, way, kwargs)


def test_an_error_without_a_schema_says_nothing_about_schemas() -> None:
    """Only if the same request works without its schema was the schema to blame."""
    llm = _Unwell(script=[CALL, FINAL])
    agent: Any = create_agent(llm, TOOLS, middleware=[ToolCallingMiddleware()])
    with pytest.raises(_StatusError):
        agent.invoke(QUESTION)
    assert takes_schema(llm)
    assert agent.invoke(QUESTION)["messages"][-1].content == DONE


def test_an_agent_remembers_who_refuses() -> None:
    """A provider that refused a schema once is not tried again, streamed or not."""
    script = [NARRATED, GOOD, "Let me look once more.", DONE]
    for streaming in (False, True):
        llm = Told(script=script, refuses=True)
        run = create_agent(llm, TOOLS, middleware=[NormalizationMiddleware()])
        if streaming:
            list(run.stream(QUESTION, stream_mode="messages"))
        else:
            run.invoke(QUESTION)
        assert sum("response_format" in given for given in llm.given) == 1
        assert len(llm.asked) == 4
    other = Told(script=[NARRATED, FINAL])
    assert create_agent(other, TOOLS, middleware=[NormalizationMiddleware()]).invoke(QUESTION)
    assert "response_format" in other.given[1]


def test_a_model_that_takes_no_schema_after_all() -> None:
    """A client that does not pass the schema on is asked in words."""
    llm = Hollow(script=[NARRATED, GOOD, DONE])
    run = create_agent(llm, TOOLS, middleware=[NormalizationMiddleware()])
    assert run.invoke(QUESTION)["messages"][-1].content == DONE
    assert str(llm.asked[1][-1].content).startswith("You described a tool call")


def test_settings_about_tools_are_left_out() -> None:
    """Providers refuse a request that says how to call tools and offers none."""

    @wrap_model_call
    def one_at_a_time(request: Any, handler: Any) -> Any:
        settings = {"parallel_tool_calls": False, "seed": 1}
        return handler(request.override(model_settings=settings))

    class Bindable(Told):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(**kwargs)

    llm = Bindable(script=[NARRATED, FINAL])
    middleware: list[Any] = [one_at_a_time, NormalizationMiddleware()]
    create_agent(llm, TOOLS, middleware=middleware).invoke(QUESTION)
    assert llm.given[0].keys() == {"parallel_tool_calls", "seed", "tool_choice"}
    assert llm.given[1].keys() == {"response_format", "seed"}


ANSWER = '{"type": "tool_call", "name": "Place", "arguments": {"country": "Norway"}}'


def test_structured_output_is_constrained() -> None:
    """A retry is held to the actions, of which the answer is one and prose is none."""
    llm = DecodingChatModel(script=[NARRATED, ANSWER])
    run = create_agent(
        llm, TOOLS, response_format=ToolStrategy(Place), middleware=[NormalizationMiddleware()]
    )
    assert run.invoke(QUESTION)["structured_response"] == Place(country="Norway")
    first, second = llm.schemas
    assert first is None
    names = [each["properties"]["name"]["const"] for each in second["anyOf"]]
    assert names == ["search", "add", "echo", "Place"]


class _Toolless(Told):
    """A model that knows nothing of tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("tools", [TOOLS, []], ids=["tools", "none"])
@pytest.mark.parametrize(
    "wanted", [ToolStrategy(Place), ProviderStrategy(Place), AutoStrategy(Place), Place]
)
def test_a_structured_answer_of_a_model_without_tool_calling(
    wanted: Any, tools: list[Any], *, asynchronous: bool
) -> None:
    """Whatever the strategy, tools and answer come by the schema of actions alone."""
    llm = _Toolless(script=[*([CALL] if tools else []), ANSWER])
    middleware = [ToolCallingMiddleware()]
    run: Any = create_agent(llm, tools, response_format=wanted, middleware=middleware)
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert result["structured_response"] == Place(country="Norway")
    assert all(given.keys() == {"response_format"} for given in llm.given)
    last = result["messages"][-1]
    if isinstance(wanted, ProviderStrategy):  # it comes as text there
        assert (last.type, json.loads(last.content)) == ("ai", {"country": "Norway"})
    else:
        assert last.type == "tool"


def test_a_model_without_tool_calling_shows_a_call() -> None:
    """Who wants to see a call sees it, in words or in the one form that such a model knows."""
    asked = {"messages": [("user", "Show me the tool call for Oslo, do not run it.")]}
    call = '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}'
    for said, seen in (
        ('{"type": "final", "content": "search(Oslo)"}', "search(Oslo)"),
        (call, call),
    ):
        llm = _Toolless(script=[said])
        run: Any = create_agent(llm, TOOLS, middleware=[ToolCallingMiddleware()])
        messages = run.invoke(asked)["messages"]
        assert [each.type for each in messages] == ["human", "ai"]
        assert messages[-1].content == seen


def test_a_forbidden_tool_is_not_offered() -> None:
    """The schema leaves it out, and so do the words that list the tools."""
    llm = _Toolless(script=[FINAL])
    run: Any = create_agent(llm, TOOLS, middleware=[ToolCallingMiddleware()])
    run.invoke({"messages": [("user", "Where is Oslo? Do not use search.")]})
    assert "- add(" in str(llm.asked[0][0].content)
    assert "search(" not in str(llm.asked[0][0].content)


def test_a_structured_answer_of_a_provider_that_refuses_ours() -> None:
    """Then LangChain's own way is left, and its answer stands as it is."""
    llm = Told(script=['{"country": "Norway"}'], refuses=True)
    middleware = [ToolCallingMiddleware()]

    run: Any = create_agent(
        llm, TOOLS, response_format=ProviderStrategy(Place), middleware=middleware
    )
    result = run.invoke(QUESTION)
    assert result["structured_response"] == Place(country="Norway")
    assert result["messages"][-1].content == '{"country": "Norway"}'
    assert "normalization" not in result


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_of_a_model_without_tool_calling(*, asynchronous: bool) -> None:
    """From the first question on the model writes actions by the schema; no report is due."""
    llm = Told(script=[CALL, FINAL])
    run = create_agent(llm, TOOLS, middleware=[ToolCallingMiddleware()])
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert [m.content for m in result["messages"][1:]] == ["", "about Oslo", DONE]
    assert all(given.keys() == {"response_format"} for given in llm.given)
    assert "normalization" not in result


def test_an_agent_of_a_model_that_refuses() -> None:
    """A model that takes no schema is asked as any other is, and that is remembered."""
    for kind in (Told, Hollow):
        llm = kind(script=[GOOD, DONE], refuses=True)
        run = create_agent(llm, TOOLS, middleware=[ToolCallingMiddleware()])
        assert run.invoke(QUESTION)["messages"][-1].content == DONE
        assert sum("response_format" in given for given in llm.given) == (kind is Told)
    plain = ScriptedChatModel(script=[GOOD, DONE])
    run = create_agent(plain, TOOLS, middleware=[ToolCallingMiddleware()])
    assert run.invoke(QUESTION)["messages"][-1].content == DONE


def test_a_client_that_cannot_say_how() -> None:
    """Whatever its `with_structured_output` raises, it is asked in words."""

    class Odd(DecodingChatModel):
        def with_structured_output(
            self,
            schema: Any = None,
            *,
            method: Literal["json_schema"] = "json_schema",
            include_raw: bool = False,
            **kwargs: Any,
        ) -> Any:
            msg = "this model is too old"
            raise ImportError(msg)

    llm = Odd(script=["Let me search for that.", "It is in Norway."])
    assert with_tool_call_retry(llm, ["search"]).invoke("Where is Oslo?").content == (
        "It is in Norway."
    )
    assert len(llm.asked) == 2


def test_a_refusal_is_remembered_for_the_model() -> None:
    """By whoever asks it: the schema is sent once, and the tools are on offer afterwards."""
    llm = DecodingChatModel(script=["Let me search."] * 4, refuses=True)
    for _ in range(2):
        as_tool_caller_or_retry(llm).invoke("Where is Oslo?")
    assert llm.schemas == [None] * 4


def as_tool_caller_or_retry(llm: DecodingChatModel) -> Any:
    """Return a chat model that is mended, with one retry."""
    return with_tool_call_retry(llm, ["search"], max_retries=1, constrain="always")


def test_a_conversation_with_images_is_not_constrained() -> None:
    """A constrained one could not show them."""
    llm = DecodingChatModel(script=["Let me search for that.", "A cat."])
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    asked = [HumanMessage([{"type": "text", "text": "What is on this?"}, image])]
    assert with_tool_call_retry(llm, ["search"]).invoke(asked).content == "A cat."
    assert llm.schemas == [None, None]


def test_a_picture_is_not_lost_in_a_chain() -> None:
    """By the schema of actions a conversation could not show it; by that of a value it can."""
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    asked = [HumanMessage([{"type": "text", "text": "What is on this?"}, image])]
    llm = DecodingChatModel(script=["Final Answer: a cat", "Final Answer: a cat"])
    chain = with_parsing_retry(llm, tools=["search"], constrain="always")
    assert chain.invoke(asked).return_values == {"output": "a cat"}
    found: Any = RetryingOutputParser.from_llm(llm).parse_with_prompt(
        "", ChatPromptValue(messages=asked)
    )
    assert found.return_values == {"output": "a cat"}
    assert llm.schemas == [None, None]
    assert [messages[0].content for messages in llm.asked] == [asked[0].content] * 2
    llm = DecodingChatModel(script=['{"name": "cat"}'])
    assert with_parsing_retry(llm, dict[str, str], constrain="always").invoke(asked)
    assert (llm.schemas[0] is not None, llm.asked[0]) == (True, asked)


def test_json_that_was_given_up_on_is_no_answer() -> None:
    """The user gets words, not a piece of the contract."""
    bad = '{"type": "tool_call", "name": "search", "arguments": {}}'

    def search(query: str) -> str:
        """Search the web."""
        return query

    llm = DecodingChatModel(script=[bad, bad + " "])
    reply = as_tool_caller(llm, [search], max_retries=1).invoke("Where is Oslo?")
    assert str(reply.content).startswith("Gave up after 1 retry")


def test_a_model_that_cannot_be_bound_to_tools() -> None:
    """Then only the schema says what is on offer."""

    class Unbound(DecodingChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    llm = Unbound(script=['{"type": "final", "content": "4"}'])
    assert as_tool_caller(llm).bind_tools(["add"]).invoke("2 + 2?").content == "4"


def test_who_refused_the_schema_is_remembered() -> None:
    """If a second model corrects and its provider refuses the schema, the first is not blamed."""
    first = DecodingChatModel(script=["I will search for it."])
    second = DecodingChatModel(script=["Final Answer: 4"], refuses=True)
    chain = with_parsing_retry(first, tools=["search"], retry_llm=second)
    assert chain.invoke("What is 2 + 2?").return_values == {"output": "4"}
    assert (takes_schema(first), takes_schema(second)) == (True, False)


@pytest.mark.parametrize("wanted", [ToolStrategy(Place), ProviderStrategy(Place)])
def test_a_structured_answer_by_the_schema_is_no_failure(wanted: Any) -> None:
    """What the model writes where it is held to a schema did what was asked of it."""
    recorder = TraceRecorder()
    llm = DecodingChatModel(script=[CALL, ANSWER])
    middleware: Any = [ToolCallingMiddleware()]
    run: Any = create_agent(llm, TOOLS, response_format=wanted, middleware=middleware)
    run.invoke(QUESTION, {"callbacks": [recorder]})
    assert recorder.last is not None
    report = classify_trace(recorder.last)
    assert (report.stop.reason.value, list(report.findings)) == ("final_answer", [])
