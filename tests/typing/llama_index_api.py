"""How the LlamaIndex adapters look to a type checker. Checked by mypy, never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import BaseTool
from typing_extensions import assert_type

from llama_index_loopmend import (
    ActionOutputParser,
    ActionParseException,
    Mends,
    PlanEvent,
    PlannedAgent,
    PlannedAgentWorkflow,
    PlannedCodeActAgent,
    PlannedFunctionAgent,
    PlannedReActAgent,
    PlannerStepHook,
    ProtocolIssueEvent,
    RecallProbe,
    RetryingOutputParser,
    StepView,
    TolerantReActOutputParser,
    empty_tiers,
    with_planner,
)
from loopmend import (
    AdvisedPlan,
    AgentAction,
    CircuitBreaker,
    FailurePattern,
    LoopPolicy,
    Planner,
    RetrievalMetrics,
)


def looking(view: StepView) -> str | None:
    """Callbacks get a view of the step."""
    return view.user_text or None


async def composing(view: StepView, plan: AdvisedPlan) -> str | None:
    """Callbacks may be async."""
    return plan.selected.value if view.tools else None


def hooks(probe: RecallProbe) -> PlannerStepHook:
    """A hook takes what the core and the user have."""
    hook = PlannerStepHook(
        mode="advise",
        planner=Planner(),
        observe=lambda view: {"authority": view.agent_name},
        breaker=CircuitBreaker(),
        recall=probe,
        inspect_memory=looking,
        compose=composing,
        loops=LoopPolicy(),
        mends=Mends(last_answer=False),
        on_exhausted="error",
    )
    assert_type(hook.acts, bool)
    assert_type(probe.metrics(), RetrievalMetrics | None)
    return hook


def agents(llm: LLM, tools: list[BaseTool | Callable[..., Any]], hook: PlannerStepHook) -> None:
    """Planned agents are agents of LlamaIndex's, and workflows take them without a cast."""
    react: ReActAgent = PlannedReActAgent(llm=llm, tools=tools, step_hook=hook)
    function: FunctionAgent = PlannedFunctionAgent(llm=llm, tools=tools, step_hook=hook)
    code = PlannedCodeActAgent(code_execute_fn=print, llm=llm, step_hook=hook)
    wrapped = with_planner(FunctionAgent(llm=llm), hook)
    assert_type(wrapped, PlannedAgent)
    assert_type(wrapped.inner, BaseWorkflowAgent)
    team: AgentWorkflow = PlannedAgentWorkflow(
        [react, function, code, wrapped], root_agent="a", step_hook=hook
    )
    AgentWorkflow(agents=[react, function, wrapped], root_agent=team.root_agent)


def events(event: object) -> None:
    """Events say what they hold."""
    if isinstance(event, PlanEvent):
        assert_type(event.selected, str)
        assert_type(event.outcome, str | None)
    elif isinstance(event, ProtocolIssueEvent):
        assert_type(event.attempt, int)


async def parsing(llm: LLM, tools: list[BaseTool], text: str, memory: BaseMemory) -> None:
    """Parsers say what they return, and take tools of any kind."""
    assert_type(ActionOutputParser(tools=tools).parse(text), AgentAction)
    ReActAgent(llm=llm, output_parser=TolerantReActOutputParser(tools=tools))
    RetryingOutputParser(ActionOutputParser(), llm)
    assert_type(await empty_tiers(memory), tuple[str, ...] | None)
    try:
        ActionOutputParser().parse(text)
    except ActionParseException as error:
        assert_type(error.failure.pattern, FailurePattern)
