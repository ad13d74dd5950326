"""What is left of a reply that was refused, when the model is not asked again."""

from __future__ import annotations

import re
from typing import Any, Final

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import TextBlock, ThinkingBlock

from llama_index_loopmend.outputs import has_own_say, text_of
from llama_index_loopmend.steps import Step
from loopmend import Failure, FailurePattern, read_response

__all__ = ["BY_PARSER", "is_answered", "is_empty", "standing", "wording"]

BY_PARSER: Final = "The parser refused the reply: "
"""How a failure begins whose reply nobody but the parser has seen."""

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


def wording(output: AgentOutput, failure: Failure) -> tuple[str, list[Any]] | None:
    """Return what a reply says and calls, to tell it again, or `None` where that is not known."""
    if failure.message.startswith(BY_PARSER):
        return None
    return text_of(output), [(call.tool_name, call.tool_kwargs) for call in output.tool_calls]


def is_empty(output: AgentOutput) -> bool:
    """Tell whether a reply holds nothing that could be remembered."""
    blocks = output.response.blocks
    other = any(not isinstance(block, (TextBlock, ThinkingBlock)) for block in blocks)
    return not (output.tool_calls or other or text_of(output).strip())


def is_answered(output: AgentOutput, failure: Failure) -> bool:
    """Tell whether the framework will tell the model itself what is wrong with its calls."""
    return bool(output.tool_calls) and failure.pattern in _ANSWERED


def standing(step: Step, output: AgentOutput, failure: Failure) -> str:
    """Return what the model stands by, which is an answer if it is more than a broken call.

    It is empty where nothing is, or where a parser or an agent of somebody's own refuses it.
    """
    text = text_of(output)
    if output.tool_calls or (output.retry_messages and has_own_say(step.agent)):
        return ""
    if step.kind != "react":
        return "" if failure.pattern in _BROKEN else text
    stands = _is_prose(step, text, failure.pattern)
    if not stands:
        return ""
    label = _LABEL.match(text)
    return text[label.end() if label else 0 :].strip()


def _is_prose(step: Step, text: str, pattern: FailurePattern) -> bool:
    """Tell whether a text is no part of a ReAct form, also where it cannot be read as one."""
    if _ACTION.search(text):
        return False
    if pattern is FailurePattern.MALFORMED:
        return read_response(text, tools=step.toolbox).failure is None
    return pattern not in _BROKEN | _FORMAL
