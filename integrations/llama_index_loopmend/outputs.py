"""Agents' outputs as the core reads them, and outputs made anew from what was read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
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
from llama_index_loopmend.scratchpads import selection
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
from loopmend.reading.fitting import fits
from loopmend.reading.intent import is_plain
from loopmend.reading.response import is_unusual
from loopmend.reading.retry import AskedDialect
from loopmend.reading.tools import Toolbox

__all__ = ["DIALECTS", "AgentKind", "kind_of", "read_output", "remade", "text_of", "without_calls"]

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
# Code is what such an agent writes, so that calls in the text prove nothing.
_CODE_FAULTS: Final = frozenset(
    {FailurePattern.EMPTY, FailurePattern.NARRATED, FailurePattern.TRUNCATED}
)


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
    if kind == "react":
        return _read_text(output, agent, tools, tolerant=tolerant)
    if not output.tool_calls and (not tools.tools or _has_other_content(output)):
        return _ACCEPTED
    config = replace(_QUIET, salvage=salvage and kind == "native", after_tool_result=after_result)
    calls, broken = _calls(output)
    turn = read_response(
        text_of(output),
        calls=calls,
        broken_calls=broken,
        finish_reason=finish_reason_of(output.raw),
        tools=tools,
        config=config,
    )
    harmless = kind == "code" and turn.failure and turn.failure.pattern not in _CODE_FAULTS
    return _ACCEPTED if harmless else turn


def is_clean(output: AgentOutput, agent: object, tools: Toolbox) -> bool:
    """Tell quickly whether an output is one that reading would leave as it is: most are."""
    message = output.response
    if output.retry_messages or is_unusual(finish_reason_of(output.raw)):
        return False
    text = message.content or ""
    if kind_of(agent) == "react":
        return _is_parsed(text, output, agent, tools)
    if not output.tool_calls:
        return is_plain(text)
    if text or any(isinstance(b, ToolCallBlock) and _is_cut(b) for b in message.blocks):
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


def _read_text(output: AgentOutput, agent: object, tools: Toolbox, *, tolerant: bool) -> Turn:
    believed = not tolerant or type(getattr(agent, "output_parser", None)) not in _OWN_PARSERS
    if believed and not output.retry_messages:
        return _ACCEPTED
    text = text_of(output)
    turn = read_response(
        text,
        finish_reason=finish_reason_of(output.raw),
        tools=tools,
        protocol="text",
        config=_QUIET_TEXT,
    )
    if believed and turn.failure is None:
        # Whoever put in a parser of their own has the say: what it refuses is refused.
        message = "The reply is not in the form that was asked for."
        return Turn(failure=Failure(FailurePattern.MALFORMED, message, (0, len(text))))
    return turn


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


def _has_other_content(output: AgentOutput) -> bool:
    return any(not isinstance(block, _TEXTUAL) for block in output.response.blocks)


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
    return _with(output, output.response if kind == "react" else _said(text), made)


def without_calls(output: AgentOutput, text: str) -> AgentOutput:
    """Return an output that only says something."""
    return _with(output, _said(text), [])


def _answering(output: AgentOutput, turn: Turn) -> AgentOutput:
    """Return the answer that a parser did not find."""
    said = next((a for a in turn.actions), None)
    text = said.content if isinstance(said, FinalAction) else getattr(said, "question", "")
    return without_calls(output, text)


def _with(output: AgentOutput, message: ChatMessage, calls: list[ToolSelection]) -> AgentOutput:
    return AgentOutput(
        response=message,
        tool_calls=calls,
        raw=output.raw,
        current_agent_name=output.current_agent_name,
    )


def _said(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def _around(text: str, span: tuple[int, int]) -> str:
    return f"{text[: span[0]].rstrip()}\n{text[span[1] :].lstrip()}".strip()


def _same(calls: Sequence[ToolCall], made: Sequence[ToolSelection]) -> bool:
    return len(calls) == len(made) and all(
        one.tool_id and call.name == one.tool_name and call.arguments == one.tool_kwargs
        for call, one in zip(calls, made, strict=True)
    )
