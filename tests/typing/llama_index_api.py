"""How the LlamaIndex adapters look to a type checker. Checked by mypy, never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import (
    AgentOutput,
    AgentWorkflow,
    FunctionAgent,
    ReActAgent,
)
from llama_index.core.llms import LLM
from llama_index.core.tools import BaseTool
from typing_extensions import assert_type

from llama_index_loopmend import (
    Accept,
    ActionOutputParser,
    ActionParseException,
    AgentStep,
    Answer,
    AskAgain,
    LoopGuardHook,
    NormalizationHook,
    PlanEvent,
    PlannedAgentWorkflow,
    PlannedCodeActAgent,
    PlannedFunctionAgent,
    PlannedReActAgent,
    PlannerStepHook,
    Proceed,
    ProtocolIssueEvent,
    RetryingOutputParser,
    StepHook,
    TolerantReActOutputParser,
    with_hooks,
)
from loopmend import AdvisedPlan, FailurePattern, Planner
from loopmend.breaker import CircuitBreaker
from loopmend.contracts import AgentAction


def looking(step: AgentStep) -> str | None:
    """Callbacks get the step."""
    return step.user_text or None


async def composing(step: AgentStep, plan: AdvisedPlan) -> str | None:
    """Callbacks may be async."""
    return plan.selected.value if step.tools else None


class Own(StepHook):
    """A hook of one's own says less than it could."""

    async def before(self, step: AgentStep) -> Proceed | Answer | None:
        """Stop whoever shouts."""
        return Answer("No shouting.") if step.user_text.isupper() else Proceed(("Be brief.",))

    async def after(self, step: AgentStep, output: AgentOutput) -> Accept | AskAgain:
        """Want something to be said."""
        said = output.response.content or step.is_last
        return Accept() if said else AskAgain("Say something.")


def hooks() -> list[StepHook]:
    """Hooks take what the core and the user have."""
    hook = PlannerStepHook(
        mode="advise",
        planner=Planner(),
        observe=lambda step: {"authority": step.agent_name},
        breaker=CircuitBreaker(),
        inspect_memory=looking,
        compose=composing,
    )
    assert_type(hook.acts, bool)
    loops = LoopGuardHook(warn_after=2, stop_after=3, on_cap="raise")
    return [hook, loops, NormalizationHook(on_failure="raise"), Own()]


def agents(llm: LLM, tools: list[BaseTool | Callable[..., Any]]) -> None:
    """Planned agents are agents of LlamaIndex's, and workflows take them without a cast."""
    react: ReActAgent = PlannedReActAgent(llm=llm, tools=tools, hooks=hooks())
    function: FunctionAgent = PlannedFunctionAgent(llm=llm, tools=tools, hooks=hooks())
    code = PlannedCodeActAgent(code_execute_fn=print, llm=llm, hooks=hooks())
    wrapped = with_hooks(FunctionAgent(llm=llm), hooks())
    assert_type(wrapped, FunctionAgent)
    team: AgentWorkflow = PlannedAgentWorkflow(
        [react, function, code, wrapped], root_agent="a", hooks=hooks()
    )
    AgentWorkflow(agents=[react, function, wrapped], root_agent=team.root_agent)


def events(event: object) -> None:
    """Events say what they hold."""
    if isinstance(event, PlanEvent):
        assert_type(event.selected, str)
        assert_type(event.done, str | None)
    elif isinstance(event, ProtocolIssueEvent):
        assert_type(event.attempt, int)


def parsing(llm: LLM, tools: list[BaseTool], text: str) -> None:
    """Parsers say what they return, and take tools of any kind."""
    assert_type(ActionOutputParser(tools=tools).parse(text), AgentAction)
    ReActAgent(llm=llm, output_parser=TolerantReActOutputParser(tools=tools))
    RetryingOutputParser(ActionOutputParser(), llm)
    try:
        ActionOutputParser().parse(text)
    except ActionParseException as error:
        assert_type(error.failure.pattern, FailurePattern)
