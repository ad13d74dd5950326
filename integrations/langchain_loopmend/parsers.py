"""Output parsers for agents: one action, all actions of a turn, or the turn as it arrives."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, Union

from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.output_parsers import BaseOutputParser, BaseTransformOutputParser
from langchain_core.outputs import Generation
from pydantic import BeforeValidator, ConfigDict
from typing_extensions import Self, override

from langchain_loopmend.errors import ActionParseException
from langchain_loopmend.messages import reply_of_generation
from langchain_loopmend.schemas import is_text_tool, tool_schemas, toolbox
from langchain_loopmend.streaming import Immediate, StreamingParser, Tell
from loopmend import (
    AskUser,
    Failure,
    FailurePattern,
    FinalAnswer,
    ReadingConfig,
    ToolCall,
    Turn,
    TurnReader,
    read_turn,
)
from loopmend.mending import correction, form_instructions
from loopmend.reading import Toolbox, clean_parts, fit_text

__all__ = [
    "AgentActionOutputParser",
    "AgentActionsOutputParser",
    "ReadingOutputParser",
    "TurnOutputParser",
]

T = TypeVar("T")

TextForm = Literal["react", "json"]
"""How a model is asked to write: ReAct text, or one JSON object."""

_CLOSING: Final = re.compile(r"\s*(`+|~{3,}|</([\w-]{1,40})>)")


def _described(tools: Any) -> Any:
    return tools if tools is None else tool_schemas(tools)


class ReadingOutputParser(Immediate, BaseOutputParser[T]):
    """The base of all parsers in this package: how they read, and what they raise.

    >>> from langchain_loopmend import AgentActionOutputParser
    >>> isinstance(AgentActionOutputParser(), ReadingOutputParser)
    True
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt option is an error, not a default

    tools: Annotated[Sequence[Any] | None, BeforeValidator(_described)] = None
    """The available tools: LangChain tools, schemas, pydantic models, callables or names.

    The parser keeps them as plain data, so you can dump and load it.
    """
    plain_text: Literal["answer", "error"] = "answer"
    """Whether prose without keywords is the answer, or an error as in LangChain's parsers."""
    action_and_answer: Literal["error", "action", "answer"] = "error"
    """Which one counts if a reply contains both."""
    strict: bool = False
    """Whether a reply that needs repair is an error."""
    form: TextForm = "react"
    """The form that the model should write; affects corrections, not reading."""

    _signals: ClassVar[bool | Literal["tags"]] = True

    @cached_property
    def _config(self) -> ReadingConfig:
        return ReadingConfig(
            plain_text=self.plain_text,
            action_and_answer=self.action_and_answer,
            strict=self.strict,
            detect_signals=self._signals,
        )

    @override
    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, rebuilt so that changed tools and options take effect."""
        known = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**known, **(update or {})})

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return True

    @override
    def get_format_instructions(self) -> str:
        """Return what to tell the model; without tools the agent fills in the names."""
        known = None if self.tools is None else [tool["name"] for tool in self.tools]
        return form_instructions(self.form, known)

    @cached_property
    def toolbox(self) -> Toolbox | None:
        """The available tools, in the core's form."""
        return None if self.tools is None else toolbox(self.tools)

    @override
    def parse(self, text: str) -> T:
        """Read a text.

        Raises:
            ActionParseException: The reply cannot be read with certainty.
        """
        return self._concluded(text, read_turn(text, tools=self.toolbox, config=self._config))

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        first = result[0]
        if type(first) is Generation and not first.generation_info:
            return self.parse(first.text)
        reply = reply_of_generation(first)
        if reply.is_text:
            return self.parse(reply.text)
        return self._concluded(reply.text, reply.read(self.toolbox, "text", self._config))

    def _concluded(self, text: str, turn: Turn) -> T:
        if turn.failure is not None:
            raise self._refused(text, turn, turn.failure)
        return self._result(text, turn)

    def _refused(self, text: str, turn: Turn, failure: Failure) -> ActionParseException:
        words = correction(failure, self.form, self.toolbox)
        return ActionParseException(text, turn, failure, words)

    def _result(self, text: str, turn: Turn) -> T:
        raise NotImplementedError


class _AgentParser(ReadingOutputParser[T]):
    _signals: ClassVar[bool | Literal["tags"]] = "tags"  # phrases say nothing about actions

    ask_user: Literal["finish", "error"] = "finish"
    """Whether a question to the user ends the run, or is an error because nobody would answer."""
    tool_input: Literal["auto", "text"] = "auto"
    """Whether an input that is an object is passed as one, or as text as LangChain's parser does.

    A LangChain `Tool`, which takes one text, is given text either way if it is in `tools`.
    """

    @cached_property
    def _text_tools(self) -> frozenset[str]:
        return frozenset(t["name"] for t in self.tools or () if is_text_tool(t))

    def _finish(self, text: str, turn: Turn) -> AgentFinish:
        action = turn.actions[0] if turn.actions else None
        log = _log(text, turn) or text
        if isinstance(action, FinalAnswer):
            return AgentFinish({"output": action.content}, log)
        if isinstance(action, AskUser):
            if self.ask_user == "error":
                failure = Failure(
                    FailurePattern.NO_ACTION, "The reply asks the user a question.", turn.span
                )
                raise self._refused(text, Turn(failure=failure), failure)
            return AgentFinish({"output": action.question, "ask_user": action.question}, log)
        return AgentFinish({"output": text.strip()}, log)

    def _action(self, call: ToolCall, log: str) -> AgentAction:
        given = call.arguments
        as_text = self.tool_input == "text" or not isinstance(given, dict)
        if not isinstance(given, str) and (as_text or self._takes_no_part_of(call)):
            given = _json(given)
        return AgentAction(call.name, given, log)

    def _takes_no_part_of(self, call: ToolCall) -> bool:
        """Tell whether a tool of one text cannot take the only value out of an object."""
        values = list(call.arguments.values())
        is_text = len(values) == 1 and isinstance(values[0], str)
        return call.name in self._text_tools and not is_text


class AgentActionOutputParser(_AgentParser[Union[AgentAction, AgentFinish]]):
    """Reads one action or the answer; a drop-in replacement for LangChain's agent parsers.

    It replaces the ReAct, ReAct-JSON, JSON, structured-chat and conversational parsers, reads
    what models really write, and otherwise says precisely what is wrong. Of several calls the
    first counts. A made-up observation reaches neither the tool nor the scratchpad.

    >>> parser = AgentActionOutputParser(tools=["search"])
    >>> text = '''Thought: look it up
    ... Action: search
    ... Action Input: population of Oslo
    ... Observation: 717,710
    ... Final Answer: 717,710'''
    >>> action = parser.parse(text)
    >>> action.tool, action.tool_input, action.log.splitlines()[-1]
    ('search', 'population of Oslo', 'Action Input: population of Oslo')
    """

    @override
    def parse(self, text: str) -> AgentAction | AgentFinish:
        # A text in plain lines, as most are, needs no turn.
        parts = clean_parts(text) if isinstance(text, str) else None  # type: ignore[redundant-expr] # callers pass anything
        if parts is not None:
            _, name, given, _ = parts
            if name is None:
                return _made(AgentFinish, {"return_values": {"output": given}, "log": text})
            tools = self.toolbox
            fitted = given if tools is None else fit_text(name, given, tools)
            if isinstance(fitted, str):
                return _made(AgentAction, {"tool": name, "tool_input": fitted, "log": text})
        return super().parse(text)

    @override
    def _result(self, text: str, turn: Turn) -> AgentAction | AgentFinish:
        call = turn.actions[0] if turn.actions else None
        if not isinstance(call, ToolCall):
            return self._finish(text, turn)
        # Several calls share one place in the text, and native ones have none: then the log
        # is written from what is executed.
        exact = len(turn.actions) == 1 and turn.dialect != "native"
        log = _log(text, turn) if exact else _written(turn, call)
        return self._action(call, log)

    @property
    def _type(self) -> str:
        return "loopmend-agent-action"


class AgentActionsOutputParser(_AgentParser[Union[list[AgentAction], AgentFinish]]):
    """Reads all actions of a turn, for agents that make several calls at once.

    >>> parser = AgentActionsOutputParser()
    >>> [a.tool_input for a in parser.parse('[weather(city="Oslo"), weather(city="Bergen")]')]
    [{'city': 'Oslo'}, {'city': 'Bergen'}]
    """

    @override
    def _result(self, text: str, turn: Turn) -> list[AgentAction] | AgentFinish:
        calls = turn.calls
        if not calls:
            return self._finish(text, turn)
        if len(calls) == 1 and turn.dialect != "native":
            return [self._action(calls[0], _log(text, turn))]
        first, *others = calls
        return [
            self._action(first, _written(turn, first)),
            *(self._action(call, _line(call)) for call in others),
        ]

    @property
    def _type(self) -> str:
        return "loopmend-agent-actions"


class TurnOutputParser(StreamingParser, ReadingOutputParser[Turn], BaseTransformOutputParser[Turn]):
    r"""Reads a reply into a `Turn` and streams what it knows so far.

    The last turn of a stream is that of the whole reply, with its repairs and places. An
    unreadable reply raises there, where LangChain's own cumulative parsers say nothing. Streaming
    takes linear time even if the chunks are small.

    >>> chunks = iter(["Thought: I have to look it up\nAct", "ion: search\nAction Input: Oslo"])
    >>> for turn in TurnOutputParser().transform(chunks):
    ...     print(turn.actions)
    ()
    (ToolCall(name='search', arguments='Oslo', type='tool_call'),)
    (ToolCall(name='search', arguments='Oslo', type='tool_call'),)
    """

    model_config = ConfigDict(extra="forbid")  # which the other base class would ignore

    @override
    def _result(self, text: str, turn: Turn) -> Turn:
        return turn

    @override
    def _listener(self) -> tuple[Tell, Tell]:
        reader = TurnReader(tools=self.toolbox, config=self._config)
        return reader.feed, lambda turn: [turn]

    @property
    def _type(self) -> str:
        return "loopmend-turn"


def _made(kind: type[T], values: dict[str, Any]) -> T:
    """Make an action as its class does, past two `__init__` that only pass the values on.

    They took as long as reading the text did.
    """
    made = object.__new__(kind)
    kind.__pydantic_validator__.validate_python(values, self_instance=made)  # type: ignore[attr-defined] # of pydantic's models
    return made


def _log(text: str, turn: Turn) -> str:
    """Return the text up to the end of what was read, and of the fence or tag around it."""
    end = turn.span[1]
    closing = _CLOSING.match(text, end)
    if closing is not None:
        mark, name = closing.groups()
        is_open = text.count(f"<{name}>", 0, end) if name else text.count(mark, 0, end) % 2
        end = closing.end() if is_open else end
    # Where nothing follows, the log is the reply to the letter, as LangChain's is.
    return text[:end].rstrip() if text[end:].strip() else text


def _written(turn: Turn, call: ToolCall) -> str:
    """Write a call as ReAct text, with the thought that led to it."""
    return "\n".join(part for part in (turn.thought, _line(call)) if part)


def _line(call: ToolCall) -> str:
    given = call.arguments
    return f"Action: {call.name}\nAction Input: {given if isinstance(given, str) else _json(given)}"


def _json(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False)
