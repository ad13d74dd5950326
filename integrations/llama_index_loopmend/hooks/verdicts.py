"""What to do about a reply of a step, and the output that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Union

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.codeact_agent import EXECUTE_TOOL_NAME

from llama_index_loopmend.messages import (
    core_messages,
    has_media,
    output_like,
    reply_of,
    selection,
    text_of,
    with_calls,
    without_calls,
)
from llama_index_loopmend.parsers import REACT_READING, TolerantReActOutputParser
from llama_index_loopmend.schemas import takes_schema
from llama_index_loopmend.steps import HANDOFF, AgentStep
from loopmend import (
    Ask,
    AskUser,
    Done,
    Failure,
    FailurePattern,
    FinalAnswer,
    GaveUp,
    Mending,
    ReadingConfig,
    Reply,
    RetryPolicy,
    ToolCall,
    Turn,
)
from loopmend.adapting import fits, is_unusual, read_react
from loopmend.mending import Message, is_clean

__all__ = ["in_error", "is_fine", "issue_of", "judged", "made_of", "mending_of"]

Verdict = Union[Done, Ask, GaveUp, None]
"""What to do about a reply; nothing if it is fine as it is."""

_MALFORMED: Final = FailurePattern.MALFORMED
_QUIET: Final = ReadingConfig(detect_signals=False)
# Whoever only looks on asks nothing again.
_LOOK: Final = RetryPolicy(0, salvage=False, constrain=False)
_OWN_PARSERS: Final = (ReActOutputParser, TolerantReActOutputParser)
# What `CodeActAgent` can call; it knows the second by this name only.
_OF_CODE: Final = frozenset({EXECUTE_TOOL_NAME, HANDOFF})


def issue_of(step: AgentStep, output: AgentOutput) -> str | None:
    """Return what is wrong with a reply, where no hook mends it."""
    made = output.tool_calls
    if made and all(fits(call.tool_name, call.tool_kwargs, step.toolbox) for call in made):
        return None  # as in most steps
    reply, read = reply_of(output), None
    if step.form == "react" and not _has_own_say(step.agent):
        read = read_react(reply.text, step.toolbox, REACT_READING)
    if is_fine(step, output, reply, read):
        return None
    verdict = judged(step, mending_of(step, _LOOK)[0], output, reply, read)
    return verdict.failure.pattern.value if isinstance(verdict, GaveUp) else None


def mending_of(step: AgentStep, policy: RetryPolicy) -> tuple[Mending, Ask]:
    """Return what decides about the replies of a step, and what to ask at first."""
    # What a parser or an agent of somebody's own makes of a reply, nobody else can tell.
    native = step.form == "native" and step.pad.key is not None
    can = bool(policy.constrain) and (native or not _has_own_say(step.agent))
    can = can and takes_schema(step.agent.llm)
    config = REACT_READING if step.form == "react" else _QUIET
    after_result = step.pad.after_result(step.held)
    how: dict[str, Any] = {"policy": policy, "config": config, "can_constrain": can}
    mending = Mending(step.toolbox, step.form, answer_label="Answer", **how)
    return mending, mending.start(
        step.user_text,
        after_tool_result=after_result,
        holds_more=can and has_media([*step.messages, *step.held]),
        conversation=_said_before(step),
    )


def _said_before(step: AgentStep) -> Iterator[Message]:
    """Yield the conversation; it is only looked at where a call was written as text."""
    yield from core_messages(step.messages)
    yield from step.pad.core(step.held)


def _has_own_say(agent: Any) -> bool:
    """Tell whether an agent has a parser of somebody's own: what it refuses is refused."""
    return type(getattr(agent, "output_parser", None)) not in _OWN_PARSERS


def is_fine(step: AgentStep, output: AgentOutput, reply: Reply, read: Turn | None) -> bool:
    """Tell quickly whether a reply is one that is used as it is: most are."""
    if output.retry_messages or step.decoded:
        return False
    if step.form == "native":
        return is_clean(reply, step.toolbox)
    if read is None or read.failure is not None or (read.calls and read.dialect != "react"):
        return False  # a call in another form may be copied from a result, or only to be seen
    unusual = reply.finish_reason and is_unusual(reply.finish_reason)
    return not unusual and made_of(step, Done(read), output) is None


def judged(
    step: AgentStep, mending: Mending, output: AgentOutput, reply: Reply, read: Turn | None
) -> Verdict:
    """Return what to do about a reply; `read` is what the agent's parser read, if it is ours."""
    own = _has_own_say(step.agent)
    if output.retry_messages and own:
        message = "The reply is not in the requested form."
        failure = Reply(reply.text).read(step.toolbox, "text", _QUIET).failure
        failure = failure or Failure(_MALFORMED, message, (0, len(reply.text)))
        return mending.refuse(reply, failure, output.retry_messages[-1].content)
    if step.form == "code" and reply.calls:
        wrong = tuple(call for call in reply.calls if call.name not in _OF_CODE)
        return mending.reply(replace(reply, calls=wrong)) if wrong else None
    if (step.form == "react" and own) or (reply.holds_more and not reply.calls):
        return None  # a picture or the like, which nobody here can judge
    return mending.reply(reply, read)


def made_of(step: AgentStep, done: Done, output: AgentOutput) -> AgentOutput | None:
    """Return the output that a reply stands for, or `None` if it can be used as it is."""
    turn, said = done.turn, output.response.content or ""
    if step.form != "react":
        if done.calls is None:
            return None if done.content is None else without_calls(output, done.content)
        text = said if done.content is None else done.content
        return with_calls(output, [selection(c.name, c.arguments, c.id) for c in done.calls], text)
    calls = [action for action in turn.actions if isinstance(action, ToolCall)]
    if calls:
        made = [(call.tool_name, call.tool_kwargs) for call in output.tool_calls]
        if made == [(call.name, call.arguments) for call in calls]:
            return None
        chosen = [selection(call.name, call.arguments) for call in calls]
        return output_like(output, output.response, chosen)
    again = output.retry_messages or output.tool_calls or step.decoded
    if not again and turn.dialect != "contract":
        return None
    action = turn.actions[0] if turn.actions else None
    if isinstance(action, AskUser):
        return without_calls(output, action.question)
    text = action.content if isinstance(action, FinalAnswer) else said.strip()
    return without_calls(output, text)


def in_error(verdict: GaveUp, output: AgentOutput) -> AgentOutput | None:
    """Return an output whose calls LlamaIndex answers with what is wrong with them."""
    failure = verdict.failure
    if not verdict.runs_into_error:
        return None
    given = failure.call and failure.call.arguments
    if calls := output.tool_calls:  # nothing else of a refused reply runs
        bad = min(calls, key=lambda c: (c.tool_name != failure.tool, c.tool_kwargs != given))
        return output if len(calls) == 1 else with_calls(output, [bad], text_of(output))
    if not output.retry_messages or failure.tool is None:
        return None
    return output_like(output, output.response, [selection(failure.tool, given or {})])
