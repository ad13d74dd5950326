"""Agents whose model is asked again with its decoding constrained, where its client can do that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentInput
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.workflow import Context
from pydantic import BaseModel
from typing_extensions import override

from llama_index_loopmend import (
    ActionOutputParser,
    ProtocolIssueEvent,
    with_hooks,
    with_parsing_retry,
)
from llama_index_loopmend.schemas import decoding_arguments, takes_schema
from llama_index_loopmend.testing import ScriptedLLM
from loopmend.breaker import CircuitBreaker
from loopmend.mending import action_schema
from tests.integrations.llama_index import planned as planning
from tests.integrations.llama_index.agents import FINISH, add, recorded
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    NARRATED,
    QUESTION,
    WRITTEN,
    Ran,
    native,
    planned,
    run,
    scripted,
    texts,
)
from tests.integrations.llama_index.test_mended_agents import Foreign
from tests.integrations.llama_index.test_planned_traces import reason, said

CALL = '{"type": "tool_call", "name": "add", "arguments": {"a": 1, "b": 2}}'
ANSWER = '{"type": "final", "content": "It is 3."}'
WRONG = '{"type": "tool_call", "name": "add", "arguments": {"a": 1}}'
UNKNOWN = '{"type": "tool_call", "name": "sum_up", "arguments": {"a": 1}}'
TOLD = "You can call these tools:\n- add(a: integer, b: integer): "

both = pytest.mark.parametrize("kind", ["react", "function"])


def decoding(*script: Any, **options: Any) -> ScriptedLLM:
    """Return a model whose client takes a schema."""
    return scripted(*script, **{"schema_argument": "response_format", **options})


def ask(kind: str, *script: Any, llm: ScriptedLLM | None = None, **hook: Any) -> Ran:
    """Run a planned agent whose model decodes by a schema."""
    llm = llm or decoding(*script)
    return run(planned(kind, llm, hook=hooks(**hook)), llm)


def roles(messages: list[Any]) -> list[str]:
    """Return who says each message."""
    return [message.role.value for message in messages]


def answered(kind: str, text: str) -> list[str]:
    """Return what is remembered of an answer without a call."""
    return [QUESTION, f"Thought: \nAnswer: {text}" if kind == "react" else text]


@both
def test_a_call_is_made(kind: str) -> None:
    """The first retry decodes by the schema of the actions, and says nothing else."""
    ran = ask(kind, NARRATED, CALL, ANSWERS[kind])
    assert (ran.issues, ran.made) == ([("narrated", "retry")], [("add", {"a": 1, "b": 2}, "3")])
    (schema,) = ran.llm.schemas
    asked = schema["json_schema"]["schema"]["anyOf"]
    assert [action["properties"]["type"]["const"] for action in asked] == ["tool_call", "final"]
    assert roles(ran.asked[1]) == ["system", "user"]
    assert ran.prompts[1] == [QUESTION]
    system = ran.asked[1][0].content
    assert system.startswith(TOLD)
    assert "Add two numbers." in system
    (issue,) = (event for event in ran.events if isinstance(event, ProtocolIssueEvent))
    assert (issue.attempt, issue.text, issue.correction) == (1, NARRATED, None)
    assert ran.state["num_iterations"] == 2


def test_a_react_agent_sees_its_call_in_its_own_form() -> None:
    """After the call all is as if the model had written it as it was asked to."""
    ran = ask("react", NARRATED, CALL, FINISH)
    assert ran.answer == "3"
    assert ran.prompts[2] == [
        QUESTION,
        'Thought: \nAction: add\nAction Input: {"a": 1, "b": 2}',
        "Observation: 3",
    ]
    assert len(ran.remembered) == 2
    assert "tool_call" not in ran.remembered[1]


def test_a_function_agent_sees_its_call_in_its_own_form() -> None:
    """After the call all is as if the model had made it through the interface."""
    ran = ask("function", NARRATED, CALL, "It is 3.")
    assert ran.answer == "It is 3."
    assert roles(ran.asked[2]) == ["user", "assistant", "tool"]
    *_, called, result = ran.asked[2]
    (made,) = called.blocks
    assert (made.tool_name, made.tool_kwargs) == ("add", {"a": 1, "b": 2})
    assert made.tool_call_id == result.additional_kwargs["tool_call_id"]
    assert not any("tool_call" in text for text in ran.remembered)


@both
def test_an_answer_is_given(kind: str) -> None:
    """An answer by the contract is what it says, also in memory."""
    ran = ask(kind, NARRATED, ANSWER)
    assert (ran.answer, ran.issues) == ("It is 3.", [("narrated", "retry")])
    assert ran.remembered == answered(kind, "It is 3.")


@both
def test_after_a_tool_result(kind: str) -> None:
    """The model sees its calls as the contract's JSON, and their results in words."""
    ran = ask(kind, CALLS[kind], NARRATED, ANSWER)
    assert ran.answer == "It is 3."
    assert ran.prompts[2] == [QUESTION, CALL, "Result of add: 3"]
    assert roles(ran.asked[2]) == ["system", "user", "assistant", "user"]
    assert any("It is 3." in text for text in ran.remembered)


@both
def test_a_system_prompt_stays(kind: str) -> None:
    """What the agent was told and what was planned come before the tools."""
    llm = decoding(NARRATED, CALL, ANSWERS[kind])
    ran = run(planned(kind, llm, system_prompt="Be brief."), llm)
    assert ran.asked[1][0].content.startswith(f"Be brief.\n\n{TOLD}")


def constrained_questions(ran: Ran) -> int:
    """Return how often a model was to be asked with its decoding constrained."""
    inputs = (event for event in ran.events if isinstance(event, AgentInput))
    return sum((event.input[0].content or "").startswith(TOLD) for event in inputs)


@both
def test_a_provider_that_refuses_a_schema(kind: str) -> None:
    """It is asked in words at once, and not tried again; what was refused is told once."""
    llm = decoding(*[NARRATED, CALLS[kind], ANSWERS[kind]] * 2, refuses=True)
    agent = planned(kind, llm)
    ran = run(agent, llm)
    assert (ran.issues, len(ran.made)) == ([("narrated", "retry")], 1)
    assert (llm.schemas, constrained_questions(ran)) == ([], 1)
    assert ran.prompts[1][0] == QUESTION
    assert ran.prompts[1][1].startswith("You described a tool call but did not make it.")
    again = run(agent, llm)
    assert (again.issues, len(again.made)) == ([("narrated", "retry")], 1)
    assert constrained_questions(again) == 0


@both
def test_constrained_from_the_start(kind: str) -> None:
    """With `"always"` nothing has to be corrected that a schema can prevent."""
    ran = ask(kind, CALL, ANSWER, constrain="always")
    assert (ran.answer, ran.issues, len(ran.made)) == ("It is 3.", [], 1)
    assert len(ran.llm.schemas) == len(ran.asked) == 2
    assert ran.prompts[1] == [QUESTION, CALL, "Result of add: 3"]


@both
def test_a_provider_that_refuses_a_schema_at_once(kind: str) -> None:
    """With `"always"` too the model is asked in words then, as if nothing had been."""
    llm = decoding(CALLS[kind], ANSWERS[kind], refuses=True)
    ran = ask(kind, llm=llm, constrain="always")
    assert (ran.issues, len(ran.made), constrained_questions(ran)) == ([], 1, 1)
    assert ran.prompts[0] == [QUESTION]


@both
@pytest.mark.parametrize("client", [False, True])
def test_in_words_if_you_want(kind: str, *, client: bool) -> None:
    """With `False`, or where the client takes no schema, models are corrected in words."""
    llm = decoding(NARRATED, ANSWERS[kind]) if client else scripted(NARRATED, ANSWERS[kind])
    ran = ask(kind, llm=llm, constrain=False if client else "always")
    assert llm.schemas == []
    assert ran.prompts[1][1].startswith("You described a tool call but did not make it.")


@pytest.mark.parametrize("argument", ["format", "response_format"])
def test_each_client_in_its_own_way(argument: Any) -> None:
    """The schema goes where the client takes it."""
    llm = decoding(NARRATED, ANSWER, schema_argument=argument)
    assert ask("function", llm=llm).answer == "It is 3."
    (given,) = llm.schemas
    found = given if argument == "format" else given["json_schema"]["schema"]
    assert found == action_schema([add], ask_user=False)


def client(name: str, module: str, *bases: type) -> Any:
    """Return a model of a class that is named so."""
    return type(name, bases, {"__module__": module})()


def test_which_clients_take_a_schema() -> None:
    """Those of Ollama and OpenAI do, and all that are made from them; of others nobody knows."""
    ollama = client("Ollama", "llama_index.llms.ollama.base")
    like = client("OpenAILike", "llama_index.llms.openai_like.base")
    groq = client("Groq", "llama_index.llms.groq.base", type(like))
    mine = client("Mine", "mine", type(client("OpenAI", "llama_index.llms.openai.base")))
    schema = {"type": "object"}
    named = {"type": "json_schema", "json_schema": {"name": "action", "schema": schema}}
    assert decoding_arguments(ollama, schema) == {"format": schema}
    for llm in (like, groq, mine):
        assert decoding_arguments(llm, schema) == {"response_format": named}
    for other in (client("Other", "llama_index.llms.other"), client("OpenAI", "mine"), scripted()):
        assert not takes_schema(other)


@both
def test_a_provider_that_ignores_the_schema(kind: str) -> None:
    """What is written in the agent's own form is read as that, and remembered."""
    ran = ask(kind, NARRATED, ANSWERS[kind])
    assert ran.answer == ANSWERS[kind].removeprefix("Thought: done\nAnswer: ")
    assert ran.remembered == [QUESTION, ANSWERS[kind]]
    ran = ask(kind, NARRATED, WRITTEN, ANSWERS[kind])
    assert ran.made == [("add", {"a": 1, "b": 2}, "3")]
    salvaged = [] if kind == "react" else [("textual_call", "salvaged")]
    assert ran.issues == [("narrated", "retry"), *salvaged]


@both
def test_a_second_retry_tells_what_is_wrong(kind: str) -> None:
    """It decodes by the schema too, with the correction behind the conversation."""
    ran = ask(kind, NARRATED, WRONG, CALL, ANSWERS[kind])
    assert ran.issues == [("narrated", "retry"), ("bad_arguments", "retry")]
    assert len(ran.llm.schemas) == 2
    assert ran.prompts[2][0] == QUESTION
    assert ran.prompts[2][1].startswith("`add` needs `b`.")
    assert (len(ran.prompts[2]), len(ran.made)) == (2, 1)
    ran = ask(kind, NARRATED, WRONG, ANSWERS[kind])
    assert ran.remembered == [QUESTION, ANSWERS[kind]]


@both
def test_a_call_by_the_contract_is_no_answer(kind: str) -> None:
    """A model that does not get a call right has not answered with it."""
    ran = ask(kind, NARRATED, WRONG, UNKNOWN)
    assert ran.answer.startswith("Gave up after 2 retries: ")
    assert ran.remembered == answered(kind, ran.answer)


@both
@pytest.mark.parametrize("always", [False, True])
def test_what_a_model_stands_by_is_remembered(kind: str, *, always: bool) -> None:
    """Words that are given up on are the answer, though the agent never saw them."""
    script = [] if always else [NARRATED]
    last = f"{NARRATED} !"
    constrain = "always" if always else "retry"
    ran = ask(kind, *script, last, max_retries=0 if always else 1, constrain=constrain)
    assert (ran.answer, ran.issues[-1][1]) == (last, "gave_up")
    assert ran.remembered == answered(kind, last)


@both
def test_saying_nothing_after_a_result(kind: str) -> None:
    """The model is asked for the answer."""
    ran = ask(kind, CALL, "", ANSWER, constrain="always")
    assert (ran.answer, ran.issues) == ("It is 3.", [("empty", "retry")])


@both
def test_a_provider_that_fails(kind: str) -> None:
    """What it raises reaches you, the breaker counts it, and no correction stays."""
    breaker = CircuitBreaker(threshold=1)
    down = ConnectionError("down")
    ran = ask(kind, NARRATED, WRONG, down, breaker=breaker)
    assert isinstance(ran.error, ConnectionError)
    assert breaker.state == "open"
    assert ran.state["current_reasoning" if kind == "react" else "scratchpad"] == []
    breaker = CircuitBreaker(threshold=2)
    breaker.record_failure(ConnectionError())
    assert ask(kind, ANSWER, constrain="always", breaker=breaker).error is None
    breaker.record_failure(ConnectionError())
    assert breaker.state == "closed"


@both
def test_a_run_that_is_cancelled(kind: str) -> None:
    """No correction stays in the scratchpad, also where nobody clears it."""
    llm = decoding(NARRATED, WRONG, ANSWER, pause=0.05)
    agent = planned(kind, llm, streaming=False)
    ctx: Context[Any] = Context(agent)

    async def cancelled() -> Any:
        start: Any = agent.run
        handler = start(user_msg=QUESTION, ctx=ctx)
        async for event in handler.stream_events():
            if isinstance(event, ProtocolIssueEvent) and event.attempt == 2:
                await handler.cancel_run()
        await asyncio.gather(handler, return_exceptions=True)
        return await ctx.store.get("current_reasoning" if kind == "react" else "scratchpad")

    assert asyncio.run(cancelled()) == []


class Usage(BaseModel):
    """What a provider counts."""

    prompt_tokens: int = 60
    completion_tokens: int = 40


class Raw(BaseModel):
    """What a provider sends along, as a model."""

    usage: Usage = Usage()


def test_tokens_are_counted() -> None:
    """A constrained question costs as any other, and what came along is plain data."""
    hook = hooks(token_budget=1000)
    ran = run(
        agent := planned("function", decoding(NARRATED, ANSWER, raw=Raw()), hook=hook), agent.llm
    )
    assert ran.state["loopmend"]["turn"]["tokens"] == 200
    assert ran.output is not None
    assert ran.output.raw == {"usage": {"prompt_tokens": 60, "completion_tokens": 40}}


class Exact(ReActOutputParser):
    """A parser of somebody's own, who wants a number."""

    @override
    def parse(self, output: str, is_streaming: bool = False) -> Any:
        if "3" not in output:
            raise ValueError("numberless")
        return super().parse(output, is_streaming)


def test_who_has_a_say_is_asked() -> None:
    """A parser or an agent of somebody's own is not passed over, and code is no action."""
    llm = decoding("Thought: t\nAnswer: three", FINISH)
    hook = hooks(constrain="always")
    ran = run(planned("react", llm, output_parser=Exact(), hook=hook), llm)
    assert (ran.answer, ran.issues, llm.schemas) == ("3", [("malformed", "retry")], [])
    llm = decoding("No.", "3, please.")
    ran = run(with_hooks(Foreign(llm=llm, tools=[add]), hook), llm)
    assert (ran.answer, ran.issues, llm.schemas) == ("3, please.", [("malformed", "retry")], [])
    ran = ask("code", NARRATED, CALLS["code"], "It is 3.", constrain="always")
    assert (ran.answer, ran.llm.schemas) == ("It is 3.", [])


@both
def test_without_tools_there_is_nothing_to_constrain(kind: str) -> None:
    """Who can only answer is asked in the agent's own way."""
    llm = decoding(ANSWERS[kind])
    hook = hooks(constrain="always")
    ran = run(planned(kind, llm, hook=hook, tools=[]), llm)
    assert (len(ran.asked), llm.schemas) == (1, [])


@both
def test_wrapped_agents(kind: str) -> None:
    """An agent that is only wrapped is asked in the same way."""
    llm = decoding(NARRATED, CALL, NARRATED, ANSWER)
    ran = run(with_hooks(native(kind, llm)), llm)
    assert (ran.answer, len(ran.made), len(llm.schemas)) == ("It is 3.", 1, 2)
    assert texts(ran.asked[3]) == [QUESTION, CALL, "Result of add: 3"]


@both
def test_traces(kind: str) -> None:
    """Each reply is a step, however the model was asked for it."""
    llm = decoding(NARRATED, CALL, NARRATED, ANSWER)
    trace = recorded(planning.planned(kind, llm=llm))
    texts_of = [text for text, _, _ in said(trace)]
    assert texts_of[::2] == [NARRATED, NARRATED]
    assert [error for _, error, _ in said(trace)] == ["Retry", None, "Retry", None]
    assert [call.name for call in trace.steps[1].calls] == ["add"]
    assert (trace.answer, reason(trace), trace.question) == ("It is 3.", "final_answer", QUESTION)


@both
def test_traces_of_failures(kind: str) -> None:
    """What was refused is told once, and is not what the provider failed with."""
    llm = decoding(NARRATED, ConnectionError("down"))
    trace = recorded(planning.planned(kind, llm=llm, name="adder"))
    assert said(trace) == [(NARRATED, "Retry", "adder"), ("", "ConnectionError", None)]
    assert reason(trace) == "provider_error"


@both
def test_traces_of_runs_that_are_constrained_at_once(kind: str) -> None:
    """The question is known though the agent was never asked."""
    hook = hooks(constrain="always")
    trace = recorded(planning.planned(kind, llm=decoding(ANSWER), hook=hook))
    assert (trace.answer, reason(trace), trace.question) == ("It is 3.", "final_answer", QUESTION)


@both
def test_a_picture_is_not_lost(kind: str) -> None:
    """A conversation for a model that decodes by a schema could not show it."""
    llm = decoding(ANSWERS[kind])
    asked: Any = ChatMessage(blocks=[TextBlock(text=QUESTION), ImageBlock(url="data:,")])
    ran = run(planned(kind, llm, hook=hooks(constrain="always")), llm, asked)
    assert ran.answer in ("3", "It is 3.")
    assert any(isinstance(block, ImageBlock) for said in llm.asked[0] for block in said.blocks)


def test_a_picture_is_not_lost_in_a_chain() -> None:
    """The same for a parser that asks again."""
    llm = decoding("Answer: a cat")
    asked = ChatMessage(blocks=[TextBlock(text="What is it?"), ImageBlock(url="data:,")])
    model = with_parsing_retry(llm, ActionOutputParser(tools=["search"]), constrain="always")
    model.chat([asked])
    assert llm.asked[0][-1].blocks == asked.blocks
