"""Step hooks: what they may say, in which order they are asked, and how agents get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from pydantic import Field

from llama_index_loopmend import (
    Accept,
    AgentStep,
    Answer,
    AskAgain,
    LoopGuardHook,
    MetaSignalHook,
    NormalizationHook,
    PlannerStepHook,
    Proceed,
    StepHook,
    TolerantReActOutputParser,
    with_hooks,
)
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend import StopReason
from loopmend.mending import Message
from tests.integrations.llama_index.agents import ACT, FINISH, add
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    KINDS,
    NARRATED,
    QUESTION,
    native,
    planned,
    run,
    scripted,
)


class Noting(StepHook):
    """Tells the model something, and notes when it was asked."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    async def before(self, step: AgentStep) -> Proceed:
        """Tell its name."""
        self.log.append(f"before {self.name} {step.iteration}")
        return Proceed((f"I am {self.name}.",))

    async def after(self, step: AgentStep, output: AgentOutput) -> None:
        """Only look."""
        self.log.append(f"after {self.name}")


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_hooks(kind: str) -> None:
    """Before a step they are asked in their order, after it in the reverse one."""
    log: list[str] = []
    llm = scripted(CALLS[kind], ANSWERS[kind])
    ran = run(planned(kind, llm, hook=[Noting("a", log), Noting("b", log)]), llm)
    steps = [[f"before a {n}", f"before b {n}", "after b", "after a"] for n in range(2)]
    assert log == [*steps[0], *steps[1]]
    for prompt in ran.asked:
        assert any("I am a.\n\nI am b." in (said.content or "") for said in prompt)
    assert not any("I am a." in text for text in ran.remembered)


class Telling(StepHook):
    """Tells the model something last."""

    def __init__(self, words: str) -> None:
        self.words = words

    async def before(self, step: AgentStep) -> Proceed:
        """Tell it after a tool's result."""
        return Proceed(words=self.words if step.results else "")


@pytest.mark.parametrize("constrain", ["retry", "always"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_last(kind: str, constrain: Any) -> None:
    """It stands after a tool's result, stays before a correction, and is not kept."""
    made = '{"type": "tool_call", "name": "add", "arguments": {"a": 1, "b": 2}}'
    always = constrain == "always" and kind != "code"
    acts = (made, "", '{"type": "final", "content": "3"}') if always else (CALLS[kind], "")
    llm = scripted(*acts, ANSWERS[kind], schema_argument="format" if always else None)
    hook = [Telling("Be brief."), Telling("Be kind."), NormalizationHook(constrain=constrain)]
    ran = run(planned(kind, llm, hook=hook), llm)
    assert ran.answer.startswith(("3", "It is 3."))
    assert "Be brief." not in ran.prompts[0]
    assert ran.prompts[1][-2:] == ["Be brief.", "Be kind."]
    at = ran.prompts[2].index("Be kind.")
    assert ran.prompts[2][at - 1] == "Be brief."
    assert ran.prompts[2][-1].startswith("Your reply was empty")
    assert not any("Be kind." in text for text in ran.remembered)


class Answering(StepHook):
    """Answers in the model's place."""

    def __init__(self, *, late: bool) -> None:
        self.late = late

    async def before(self, step: AgentStep) -> Answer | None:
        """Answer without a model call."""
        return None if self.late else Answer("Not today.")

    async def after(self, step: AgentStep, output: AgentOutput) -> Answer | None:
        """Answer whatever the model says."""
        return Answer("Not today.", StopReason.STUCK) if self.late else None


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_may_answer(kind: str, *, late: bool) -> None:
    """Its answer ends the run, says why, and is what memory keeps."""
    llm = scripted(CALLS[kind])
    ran = run(planned(kind, llm, hook=[Answering(late=late)]), llm, max_iterations=1)
    assert (ran.answer, len(llm.asked)) == ("Not today.", int(late))
    assert ran.output is not None
    assert ran.output["loopmend_ended"] == ("stuck" if late else "blocked")
    assert [said.removeprefix("Thought: \nAnswer: ") for said in ran.remembered] == [
        *(QUESTION, "Not today.")
    ]


class Wanting(StepHook):
    """Asks again until the model says please."""

    async def after(self, step: AgentStep, output: AgentOutput) -> AskAgain | Accept:
        """Look for the word."""
        said = output.response.content or ""
        return Accept() if "please" in said else AskAgain("Say please.")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_may_ask_again(kind: str) -> None:
    """The model sees the words, and nothing of it stays."""
    llm = scripted(ANSWERS[kind], f"{ANSWERS[kind]} please")
    ran = run(planned(kind, llm, hook=[Wanting()]), llm)
    assert ran.answer.endswith("please")
    assert ran.prompts[1][-1] == "Say please."
    assert len(ran.remembered) == 2
    llm = scripted(ANSWERS[kind], repeat=True)
    endless = run(planned(kind, llm, hook=[Wanting()]), llm)
    assert isinstance(endless.error, RuntimeError)
    assert len(llm.asked) == 10


class Showing(StepHook):
    """Asks again until the model says please, and shows the model what it said."""

    async def after(self, step: AgentStep, output: AgentOutput) -> AskAgain | None:
        """Look for the word."""
        said = output.response.content or ""
        shown = (Message("assistant", said),)
        return None if "please" in said else AskAgain("Say please.", shown=shown)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_may_show_the_refused_reply(kind: str) -> None:
    """The words come last in each kind of agent; steps of reasoning leave the reply out."""
    llm = scripted(ANSWERS[kind], f"{ANSWERS[kind]} please")
    ran = run(planned(kind, llm, hook=[Showing()]), llm)
    assert ran.answer.endswith("please")
    assert ran.prompts[1][-1] == "Say please."
    assert (ANSWERS[kind] in ran.prompts[1]) is (kind != "react")
    assert len(ran.remembered) == 2


class Shouting(StepHook):
    """Makes the answer louder."""

    async def after(self, step: AgentStep, output: AgentOutput) -> Accept | None:
        """Return another output in place of an answer."""
        if output.tool_calls:
            return None
        said = ChatMessage(role=MessageRole.ASSISTANT, content="THREE!")
        made = AgentOutput(response=said, current_agent_name=output.current_agent_name)
        return Accept(made, "louder")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_may_replace_the_output(kind: str) -> None:
    """What the run answers and memory keeps is the other output."""
    llm = scripted(CALLS[kind], ANSWERS[kind])
    ran = run(planned(kind, llm, hook=[Shouting()]), llm)
    assert ran.answer == "THREE!"
    assert ran.remembered[-1].endswith("THREE!")


ALONE = {
    "planner": PlannerStepHook,
    "loops": LoopGuardHook,
    "signals": MetaSignalHook,
    "normalization": NormalizationHook,
}


@pytest.mark.parametrize("way", ["class", "wrapped"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALONE)
def test_each_hook_works_alone(name: str, kind: str, way: str) -> None:
    """A clean run with any one hook is what it is without: answer, calls and memory."""
    ends = []
    for hooked in (False, True):
        llm = scripted(CALLS[kind], ANSWERS[kind])
        agent = native(kind, llm)
        if hooked:
            hook: list[Any] = [ALONE[name]()]
            agent = with_hooks(agent, hook) if way == "wrapped" else planned(kind, llm, hook=hook)
        ran = run(agent, llm)
        ends.append((ran.answer, ran.made, [len(prompt) for prompt in ran.prompts]))
    assert ends[0] == ends[1]


def test_only_what_mends_gets_another_parser() -> None:
    """An agent with hooks that do not mend reads as LlamaIndex does; your own parser stays."""
    llm = scripted()
    for hook, tolerant in ((NormalizationHook(), True), (LoopGuardHook(), False)):
        wrapped = with_hooks(native("react", llm), [hook])
        assert (type(wrapped.output_parser) is TolerantReActOutputParser) is tolerant
        made = planned("react", llm, hook=[hook])
        assert (type(made.output_parser) is TolerantReActOutputParser) is tolerant
    agent = native("react", llm)
    with_hooks(agent)
    assert type(agent.output_parser) is not TolerantReActOutputParser


class Mine(FunctionAgent):
    """An agent class of somebody's own, with an attribute and a method."""

    motto: str = Field(default="Be brief.")

    def shout(self) -> str:
        """Return the motto, louder."""
        return self.motto.upper()


def test_what_is_wrapped_is_all_there() -> None:
    """Attributes, methods, class and dump are those of the agent, which stays as it is."""
    agent = Mine(
        llm=ScriptedLLM(script=[call("add", a=1, b=2), "3"]), tools=[add], motto="Be kind."
    )
    wrapped = with_hooks(agent, [NormalizationHook()])
    assert isinstance(wrapped, Mine)
    assert (wrapped.motto, wrapped.shout()) == ("Be kind.", "BE KIND.")
    skipped = {"llm", "tools"}
    assert wrapped.model_dump(exclude=skipped) == agent.model_dump(exclude=skipped)
    wrapped.motto = "Be quick."
    assert agent.motto == "Be kind."
    assert type(agent) is Mine
    assert wrapped.__doc__ == agent.__doc__
    assert with_hooks(agent).__class__ is wrapped.__class__


@pytest.mark.parametrize("wrong", [[None], ["hook"], [PlannerStepHook]])
def test_only_hooks_are_hooks(wrong: Any) -> None:
    """Something else is refused by name."""
    with pytest.raises(TypeError, match="`hooks` must hold step hooks, not "):
        with_hooks(native("react", scripted()), wrong)
    single: Any = PlannerStepHook()
    with pytest.raises(TypeError, match=r"with_hooks\(agent, \[hook\]\)"):
        with_hooks(native("react", scripted()), single)


def test_a_reply_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser that the agent has anyway reads for the hook, and one correction is made."""
    parsers: Any = import_module("llama_index_loopmend.parsers")
    loop: Any = import_module("loopmend.mending.loop")
    reads: list[str] = []
    corrections: list[str] = []
    loose: Any = import_module("loopmend.reading.loose_react")
    response: Any = import_module("loopmend.reading.response")
    word = loop.correction

    def counted(read: Any) -> Any:
        def noted(text: str, *given: Any, **options: Any) -> Any:
            reads.append(text)
            return read(text, *given, **options)

        return noted

    def worded(failure: Any, *given: Any, **options: Any) -> Any:
        corrections.append(failure.pattern.value)
        return word(failure, *given, **options)

    monkeypatch.setattr(loose, "read_turn", counted(loose.read_turn))
    monkeypatch.setattr(response, "read", counted(response.read))
    monkeypatch.setattr(loop, "correction", worded)
    monkeypatch.setattr(parsers, "correction", worded)
    llm = scripted(NARRATED, ACT, FINISH)
    agent = ReActAgent(llm=llm, tools=[add])
    assert run(with_hooks(agent), llm).answer == "3"
    assert reads == [NARRATED, ACT, FINISH]
    assert corrections == ["narrated"]


class Wrong(StepHook):
    """Says what no hook may say."""

    def __init__(self, method: str, said: Any) -> None:
        self.method, self.said = method, said

    async def before(self, step: AgentStep) -> Any:
        """Say it before a step."""
        return self.said if self.method == "before" else None

    async def after(self, step: AgentStep, output: AgentOutput) -> Any:
        """Say it after a step."""
        return self.said if self.method == "after" else None

    async def at_cap(self, step: AgentStep, output: AgentOutput) -> Any:
        """Say it in the last step."""
        return self.said if self.method == "at_cap" else None

    def failed(self, step: AgentStep, error: BaseException) -> Any:
        """Say it about an error."""
        return self.said if self.method == "failed" else None


@pytest.mark.parametrize(
    ("method", "said", "kinds"),
    [
        ("before", "Be brief.", "Proceed, Answer, HandOver or None, not str"),
        ("before", Accept(), "Proceed, Answer, HandOver or None, not Accept"),
        ("after", True, "Accept, AskAgain, Answer or None, not bool"),
        ("after", Proceed(), "Accept, AskAgain, Answer or None, not Proceed"),
        ("at_cap", Accept(), "Answer or None, not Accept"),
        ("failed", "again", "AskAgain, Answer or None, not str"),
    ],
)
def test_what_a_hook_may_say(method: str, said: Any, kinds: str) -> None:
    """A hook that returns something else is named in the error, with what it may return."""
    llm = scripted(ConnectionError("down") if method == "failed" else "3")
    ran = run(with_hooks(native("function", llm), [Wrong(method, said)]), llm, max_iterations=1)
    assert isinstance(ran.error, TypeError)
    assert str(ran.error) == f"`Wrong.{method}` must return {kinds}"


class Failing(StepHook):
    """Makes something of an error."""

    def __init__(self, said: AskAgain | Answer) -> None:
        self.said = said

    def failed(self, step: AgentStep, error: BaseException) -> AskAgain | Answer:
        """Go on in spite of it."""
        return self.said


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_may_go_on_after_an_error(kind: str) -> None:
    """What asking the model raised can be an answer, or a reason to ask again."""
    llm = scripted(ConnectionError("down"))
    agent = with_hooks(native(kind, llm), [Failing(Answer("Try later."))])
    assert run(agent, llm).answer == "Try later."
    llm = scripted(ConnectionError("down"), ANSWERS[kind])
    agent = with_hooks(native(kind, llm), [Failing(AskAgain())])
    assert run(agent, llm).error is None
    assert len(llm.asked) == 2
