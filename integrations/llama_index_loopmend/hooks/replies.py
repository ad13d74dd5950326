"""An agent's reply in the hands of the core's mending, and the output that is made of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final, Union

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.codeact_agent import EXECUTE_TOOL_NAME

from llama_index_loopmend.decoding import takes_schema
from llama_index_loopmend.messages import (
    output_like,
    reply_of,
    selection,
    text_of,
    with_calls,
    without_calls,
)
from llama_index_loopmend.parsers import REACT_READING, TolerantReActOutputParser
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
    read_response,
)
from loopmend.contracts import ActionParseError, parse_action
from loopmend.mending import is_clean
from loopmend.reading.quick import fits
from loopmend.reading.response import is_unusual

__all__ = ["is_fine", "issue_of", "judged", "made_of", "mending_of"]

Verdict = Union[Done, Ask, GaveUp, None]
"""What to do about a reply; nothing if it is fine as it is."""

_QUIET: Final = ReadingConfig(detect_signals=False)
_NO_RETRIES: Final = RetryPolicy(0, salvage=False, constrain=False)
_OWN_PARSERS: Final = (ReActOutputParser, TolerantReActOutputParser)
# What an agent that writes code can call; its framework knows the second by this name only.
_OF_CODE: Final = frozenset({EXECUTE_TOOL_NAME, HANDOFF})
# The framework itself answers such calls, with an error that the model gets to see.
_ANSWERED: Final = frozenset({FailurePattern.UNKNOWN_TOOL, FailurePattern.BAD_ARGUMENTS})
# What holds a call that is broken or not finished.
_BROKEN: Final = frozenset(
    {
        FailurePattern.EMPTY,
        FailurePattern.MALFORMED,
        FailurePattern.MISSING_INPUT,
        FailurePattern.TRUNCATED,
    }
)
# Where calls are asked for as text, these are what is left of one.
_FORMAL: Final = _ANSWERED | {FailurePattern.ACTION_AND_ANSWER, FailurePattern.TEMPLATE_ECHO}
_ACTION: Final = re.compile(r"^[^\w\n]*Action(?: Input)? *:", re.MULTILINE | re.IGNORECASE)
_LABEL: Final = re.compile(r"\s*(?:Thought|(?:Final )?Answer):", re.IGNORECASE)


def issue_of(step: AgentStep, output: AgentOutput) -> str | None:
    """Return what is wrong with a reply, where no hook mends it."""
    made = [] if output.retry_messages else output.tool_calls
    if made and all(fits(call.tool_name, call.tool_kwargs, step.toolbox) for call in made):
        return None  # as in most steps
    reply = reply_of(output)
    if is_fine(step, output, reply, None):
        return None
    mending, _ = mending_of(step, _NO_RETRIES)
    judged(step, mending, output, reply, None)
    return mending.refused[-1].pattern.value if mending.refused else None


def mending_of(step: AgentStep, policy: RetryPolicy) -> tuple[Mending, Ask]:
    """Return what decides about the replies of a step, and what to ask at first."""
    form, key = step.pad.form, step.pad.key
    if form == "react" and not step.toolbox.tools:
        # Who has no tools cannot be telling what will be done with them.
        policy = replace(policy, patterns={*policy.patterns} - {FailurePattern.NARRATED})
    # What a parser or an agent of somebody's own makes of a reply, nobody else can tell.
    known = (form == "native" and key is not None) or not _has_own_say(step.agent)
    mending = Mending(
        step.toolbox,
        form,
        policy=policy,
        config=REACT_READING if form == "react" else _QUIET,
        can_constrain=bool(policy.constrain) and known and takes_schema(step.agent.llm),
        answer_label="Answer",
    )
    after_result = step.pad.after_result(step.held)
    return mending, mending.start(step.user_text, after_tool_result=after_result)


def _has_own_say(agent: Any) -> bool:
    """Tell whether someone put in a parser, or an agent, of their own: what it refuses is refused.

    >>> _has_own_say(object())
    True
    """
    return type(getattr(agent, "output_parser", None)) not in _OWN_PARSERS


def is_fine(step: AgentStep, output: AgentOutput, reply: Reply, read: Turn | None) -> bool:
    """Tell quickly whether a reply is one that is used as it is: most are."""
    if output.retry_messages or step.decoded:
        return False
    if step.pad.form == "native":
        return is_clean(reply, step.toolbox)
    if read is None or read.failure is not None or is_unusual(reply.finish_reason):
        return False
    return made_of(step, Done(read), output) is None


def judged(
    step: AgentStep, mending: Mending, output: AgentOutput, reply: Reply, read: Turn | None
) -> Verdict:
    """Return what to do about a reply; `read` is what the agent's parser read, if it is ours."""
    form = step.pad.form
    own = _has_own_say(step.agent)
    if output.retry_messages and own:
        turn = read_response(reply.text, tools=step.toolbox, protocol="text", config=_QUIET)
        message = "The reply is not in the requested form."
        failure = turn.failure or Failure(FailurePattern.MALFORMED, message, (0, len(reply.text)))
        return mending.refuse(reply, failure, output.retry_messages[-1].content)
    if form == "code":
        wrong = _code_failure(step, output, reply)
        return None if wrong is None else mending.refuse(reply, wrong)
    if (form == "react" and own) or (reply.holds_more and not reply.calls):
        return None  # a picture or the like, which nobody here can judge
    return mending.reply(reply, read)


def _code_failure(step: AgentStep, output: AgentOutput, reply: Reply) -> Failure | None:
    """Say what is wrong where there should be code; calls in the rest of the text prove nothing."""
    text, whole = reply.text, (0, len(reply.text))
    wrong = next((c for c in output.tool_calls if c.tool_name not in _OF_CODE), None)
    if wrong is not None:  # without loopmend that ends the run
        message = f"`{wrong.tool_name[:80]}` can only be called in code."
        return Failure(FailurePattern.MALFORMED, message, whole, wrong.tool_name)
    if output.tool_calls or reply.holds_more or not step.toolbox.tools:
        return None
    if "<execute>" in text:
        message = "The code to execute is empty or cut off."
        return Failure(FailurePattern.TRUNCATED, message, whole)
    tools, reason = step.toolbox, reply.finish_reason
    failure = read_response(text, finish_reason=reason, tools=tools, config=_QUIET).failure
    if failure is None or (failure.pattern is not FailurePattern.NARRATED and text.strip()):
        return None
    return failure


def made_of(step: AgentStep, done: Done, output: AgentOutput) -> AgentOutput | None:
    """Return the output that a reply stands for, or `None` if it can be used as it is."""
    turn = done.turn
    if step.pad.form != "react":
        if done.calls is None:
            return None if done.content is None else without_calls(output, done.content)
        text = text_of(output) if done.content is None else done.content
        return with_calls(output, [selection(c.name, c.arguments, c.id) for c in done.calls], text)
    calls = [action for action in turn.actions if isinstance(action, ToolCall)]
    if calls:
        made = [(call.tool_name, call.tool_kwargs) for call in output.tool_calls]
        if made == [(call.name, call.arguments) for call in calls]:
            return None
        chosen = [selection(call.name, call.arguments) for call in calls]
        return output_like(output, output.response, chosen)
    if not (output.retry_messages or step.decoded) and turn.dialect != "contract":
        return None
    said = turn.actions[0] if turn.actions else None
    if isinstance(said, AskUser):
        return without_calls(output, said.question)
    text = said.content if isinstance(said, FinalAnswer) else text_of(output).strip()
    return without_calls(output, text)


def answered_by_framework(output: AgentOutput, failure: Failure) -> AgentOutput | None:
    """Return an output whose calls the framework itself answers with what is wrong with them."""
    if failure.pattern not in _ANSWERED:
        return None
    if output.tool_calls or not output.retry_messages or failure.tool is None:
        return output if output.tool_calls else None
    given = {} if failure.call is None else failure.call.arguments
    return output_like(output, output.response, [selection(failure.tool, given)])


def standing(step: AgentStep, output: AgentOutput, failure: Failure) -> str:
    """Return what the model stands by, which is an answer if it is more than a broken call.

    It is empty where nothing is, or where a parser or an agent of somebody's own refuses it.
    """
    text, pattern = text_of(output), failure.pattern
    if output.tool_calls or (output.retry_messages and _has_own_say(step.agent)):
        return ""
    if step.pad.form != "react":
        return "" if pattern in _BROKEN or _is_call(text, pattern) else text
    if _ACTION.search(text) or pattern in _FORMAL | _BROKEN:
        return ""
    label = _LABEL.match(text)
    return text[label.end() if label else 0 :].strip()


def _is_call(text: str, pattern: FailurePattern) -> bool:
    """Tell whether a text is nothing but the contract's JSON of a call that does not fit."""
    try:
        return pattern in _ANSWERED and isinstance(parse_action(text), ToolCall)
    except ActionParseError:
        return False
