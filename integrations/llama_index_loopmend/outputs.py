"""Agents' outputs as the core reads them, and outputs made anew from what was read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.codeact_agent import EXECUTE_TOOL_NAME
from llama_index.core.base.llms.types import (
    ChatMessage,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.tools import ToolSelection

from llama_index_loopmend.parsers import TolerantReActOutputParser
from llama_index_loopmend.provider import finish_reason_of
from llama_index_loopmend.scratchpads import calling, selection
from loopmend import (
    Failure,
    FailurePattern,
    ReadingConfig,
    ToolCall,
    Turn,
    read_response,
)
from loopmend import (
    Final as FinalAction,
)
from loopmend.reading.quick import fits, is_plain
from loopmend.reading.response import is_unusual
from loopmend.reading.retry import AskedDialect
from loopmend.reading.tools import Toolbox

__all__ = [
    "DIALECTS",
    "AgentKind",
    "has_own_say",
    "is_clean",
    "kind_of",
    "read_output",
    "remade",
    "text_of",
    "without_calls",
]

AgentKind = Literal["react", "native", "code"]
"""How an agent asks for calls: in the text, through the provider, or as code."""

DIALECTS: Final[dict[AgentKind, AskedDialect]] = {
    "react": "react",
    "native": "native",
    "code": "native",
}
_TEXTUAL: Final = (TextBlock, ThinkingBlock, ToolCallBlock)
_QUIET: Final = ReadingConfig(detect_signals=False)
_QUIET_TEXT: Final = ReadingConfig(detect_signals=False, action_and_answer="action")
_OWN_PARSERS: Final = (ReActOutputParser, TolerantReActOutputParser)
_ACCEPTED: Final = Turn()
# What an agent that writes code can call; its framework knows the second by this name only.
_OF_CODE: Final = frozenset({EXECUTE_TOOL_NAME, "handoff"})


def kind_of(agent: object) -> AgentKind:
    """Return how an agent asks for calls.

    >>> kind_of(object())
    'native'
    """
    kind: Any = type(agent)
    return _kind_of_class(kind)


@lru_cache(maxsize=256)
def _kind_of_class(kind: Any) -> AgentKind:
    # Looked up in the class: asking an instance for what it does not have takes its time.
    known = getattr(kind, "model_fields", {})
    if "reasoning_key" in known:
        return "react"
    return "code" if "code_execute_fn" in known else "native"


def text_of(output: AgentOutput) -> str:
    """Return what an output says."""
    return output.response.content or ""


def read_output(  # noqa: PLR0913 - all but three by name
    output: AgentOutput,
    agent: object,
    tools: Toolbox,
    *,
    after_result: bool = False,
    salvage: bool = False,
    tolerant: bool = True,
) -> Turn:
    """Read what an agent's model said; a turn without a failure can be used.

    Args:
        output: What the agent made of it.
        agent: Who asked.
        tools: What is on offer.
        after_result: Whether saying nothing is a way to finish.
        salvage: Whether a call that was written as text counts, if the tools vouch for it.
        tolerant: Whether the text of a ReAct agent is read anew, or its parser believed.
    """
    kind = kind_of(agent)
    if kind == "code":
        return _read_code(output, tools)
    believed = not tolerant or has_own_say(agent)
    if kind == "react":
        if believed and not output.retry_messages:
            return _ACCEPTED
        turn = _read_text(output, tools)
    else:
        turn = _read_native(output, tools, salvage=salvage, after_result=after_result)
    if believed and output.retry_messages and turn.failure is None:
        message = "The reply is not in the form that was asked for."
        whole = (0, len(text_of(output)))
        return Turn(failure=Failure(FailurePattern.MALFORMED, message, whole))
    return turn


def has_own_say(agent: Any) -> bool:
    """Tell whether someone put in a parser, or an agent, of their own: what it refuses is refused.

    >>> has_own_say(object())
    True
    """
    return kind_of(agent) != "react" or type(agent.output_parser) not in _OWN_PARSERS


def is_clean(output: AgentOutput, agent: object, tools: Toolbox) -> bool:
    """Tell quickly whether an output is one that reading would leave as it is: most are."""
    message = output.response
    if output.retry_messages or is_unusual(finish_reason_of(output.raw)):
        return False
    text = message.content or ""
    kind = kind_of(agent)
    if kind == "react":
        return _is_parsed(text, output, agent, tools)
    if not output.tool_calls:
        return is_plain(text)
    if (
        text
        or kind == "code"
        or any(isinstance(b, ToolCallBlock) and _is_cut(b) for b in message.blocks)
    ):
        return False
    return all(c.tool_id and fits(c.tool_name, c.tool_kwargs, tools) for c in output.tool_calls)


def _is_parsed(text: str, output: AgentOutput, agent: object, tools: Toolbox) -> bool:
    """Tell whether our own parser has just read a reply that the tools would not change."""
    parser = getattr(agent, "output_parser", None)
    if type(parser) is not TolerantReActOutputParser:
        return False
    turn = parser.read(text)
    if turn.fidelity != "exact" or turn.dialect != "react" or len(turn.actions) != 1:
        return False
    return all(fits(c.tool_name, c.tool_kwargs, tools) for c in output.tool_calls)


def _read_text(output: AgentOutput, tools: Toolbox) -> Turn:
    text = text_of(output)
    turn = read_response(
        text,
        finish_reason=finish_reason_of(output.raw),
        tools=tools,
        protocol="text",
        config=_QUIET_TEXT,
    )
    if turn.failure is not None and turn.failure.pattern is FailurePattern.NARRATED:
        # Who has no tools cannot be telling what will be done with them.
        return turn if tools.tools else Turn((FinalAction(text.strip()),))
    return turn


def _read_native(output: AgentOutput, tools: Toolbox, *, salvage: bool, after_result: bool) -> Turn:
    if not output.tool_calls and not _can_fail(output, tools):
        return _ACCEPTED
    calls, broken = _calls(output)
    return read_response(
        text_of(output),
        calls=calls,
        broken_calls=broken,
        finish_reason=finish_reason_of(output.raw),
        tools=tools,
        config=replace(_QUIET, salvage=salvage, after_tool_result=after_result),
    )


def _read_code(output: AgentOutput, tools: Toolbox) -> Turn:
    """Read what should hold code; calls in the rest of the text prove nothing then."""
    text = text_of(output)
    wrong = next((c for c in output.tool_calls if c.tool_name not in _OF_CODE), None)
    if wrong is not None:  # natively that ends the run
        message = f"`{wrong.tool_name[:80]}` can only be called in code."
        whole = (0, len(text))
        return Turn(failure=Failure(FailurePattern.MALFORMED, message, whole, wrong.tool_name))
    if output.tool_calls or not _can_fail(output, tools):
        return _ACCEPTED
    if "<execute>" in text:
        message = "The code to execute is empty or cut off."
        return Turn(failure=Failure(FailurePattern.TRUNCATED, message, (0, len(text))))
    reason = finish_reason_of(output.raw)
    turn = read_response(text, finish_reason=reason, tools=tools, config=_QUIET)
    narrated = turn.failure is not None and turn.failure.pattern is FailurePattern.NARRATED
    return turn if narrated or not text.strip() else _ACCEPTED


def _can_fail(output: AgentOutput, tools: Toolbox) -> bool:
    """Tell whether a reply without calls should have had some: there are tools, and no images."""
    other = any(not isinstance(block, _TEXTUAL) for block in output.response.blocks)
    return bool(tools.tools) and not other


def _calls(output: AgentOutput) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the calls that are whole, and those that are not.

    Clients complete arguments that were cut off, or leave them out, so what really arrived is
    looked at where it is there.
    """
    arrived = {b.tool_call_id: b for b in output.response.blocks if isinstance(b, ToolCallBlock)}
    cut = {id for id, block in arrived.items() if _is_cut(block)}
    whole, broken = [], []
    for call in output.tool_calls:
        if call.tool_id in cut:
            block = arrived[call.tool_id]
            broken.append({"name": block.tool_name, "args": block.tool_kwargs, "id": call.tool_id})
        else:
            whole.append({"name": call.tool_name, "args": call.tool_kwargs, "id": call.tool_id})
    return whole, broken


def _is_cut(block: ToolCallBlock) -> bool:
    if not isinstance(block.tool_kwargs, str):
        return False
    try:
        return not isinstance(json.loads(block.tool_kwargs or "{}"), dict)
    except (ValueError, RecursionError):
        return True


def remade(output: AgentOutput, turn: Turn, kind: AgentKind) -> AgentOutput | None:
    """Return the output that a turn stands for, or `None` if it can be used as it is."""
    calls = [action for action in turn.actions if isinstance(action, ToolCall)]
    if not calls:
        return _answering(output, turn) if output.retry_messages else None
    if _same(calls, output.tool_calls):
        return None
    text = text_of(output)
    if kind != "react" and turn.fidelity == "salvaged" and turn.dialect != "native":
        text = "" if turn.dialect == "contract" else _around(text, turn.span)
    known = [call.tool_id for call in output.tool_calls]
    ids: Sequence[str | None] = known if len(known) == len(calls) else [None] * len(calls)
    made = [selection(c.name, c.arguments, i) for c, i in zip(calls, ids, strict=True)]
    said = output.response if kind == "react" else _calling(output.response, text, made)
    return _with(output, said, made)


def without_calls(output: AgentOutput, text: str) -> AgentOutput:
    """Return an output that only says something."""
    return _with(output, ChatMessage(role=MessageRole.ASSISTANT, content=text), [])


def _answering(output: AgentOutput, turn: Turn) -> AgentOutput:
    """Return the answer that a parser did not find."""
    said = turn.actions[0]
    text = said.content if isinstance(said, FinalAction) else getattr(said, "question", "")
    return without_calls(output, text)


def _calling(message: ChatMessage, text: str, calls: Sequence[ToolSelection]) -> ChatMessage:
    """Return a message with other calls; thoughts stay, as some providers want to see them."""
    kept = [b for b in message.blocks if not isinstance(b, (TextBlock, ToolCallBlock))]
    made = calling(text, calls)
    others = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    return ChatMessage(
        role=MessageRole.ASSISTANT, blocks=[*kept, *made.blocks], additional_kwargs=others
    )


def _with(output: AgentOutput, message: ChatMessage, calls: list[ToolSelection]) -> AgentOutput:
    return AgentOutput(
        response=message,
        tool_calls=calls,
        raw=output.raw,
        current_agent_name=output.current_agent_name,
    )


def _around(text: str, span: tuple[int, int]) -> str:
    return f"{text[: span[0]].rstrip()}\n{text[span[1] :].lstrip()}".strip()


def _same(calls: Sequence[ToolCall], made: Sequence[ToolSelection]) -> bool:
    return len(calls) == len(made) and all(
        one.tool_id and call.name == one.tool_name and call.arguments == one.tool_kwargs
        for call, one in zip(calls, made, strict=True)
    )
