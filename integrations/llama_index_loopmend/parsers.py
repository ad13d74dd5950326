"""Output parsers that read what models really write, and otherwise say what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Union, cast

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ActionReasoningStep, ResponseReasoningStep
from llama_index.core.output_parsers import BaseOutputParser
from typing_extensions import override

from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.schemas import toolbox
from loopmend import (
    Failure,
    FailurePattern,
    ReadingConfig,
    ToolCall,
    Turn,
    read_turn,
)
from loopmend import FinalAnswer as Answer
from loopmend.adapting import read_react, written
from loopmend.contracts import ActionParseError, AgentAction, parse_action
from loopmend.mending import correction
from loopmend.reading import Toolbox

__all__ = [
    "REACT_READING",
    "ActionOutputParser",
    "JsonActionStep",
    "Reading",
    "ReasoningStep",
    "TolerantReActOutputParser",
    "reading",
]

ReasoningStep = Union[ActionReasoningStep, ResponseReasoningStep]
"""What one reply of a ReAct agent is: a call, or the answer."""

_ANSWERS: Final = "(Implicit) I can answer without any more tools!"
_CALLS: Final = "(Implicit) I need to use a tool to help me answer the question."
_NO_INPUT: Final = ("", "None", "null")
# Where the words before a call end and its wrapping begins.
_WRAPPING: Final = re.compile(r"```|<[\w|/]")
_LABEL: Final = re.compile(r"(?<!\s)\s*Thought\s*:\s*")
# Phrases say nothing about actions. An action counts before an answer, as in LlamaIndex's own
# parser, because the answer was given without the tool's result.
REACT_READING: Final = ReadingConfig(detect_signals="tags", action_and_answer="action")
_ACTION: Final = ReadingConfig(detect_signals="tags")
_FORM: Final = """\
Reply with exactly one JSON object and nothing else, in one of these forms:
{"type": "tool_call", "name": "<name of the tool>", "arguments": {"<parameter>": "<value>"}}
{"type": "final", "content": "<answer>"}
{"type": "ask_user", "question": "<question>"}"""


@dataclass(slots=True)
class Reading:
    """What an agent's parser reads in a step that a hook looks after: once, and with its tools.

    >>> Reading(toolbox(["search"])).turn is None
    True
    """

    tools: Toolbox
    text: str = ""
    turn: Turn | None = None


reading: Final[ContextVar[Reading | None]] = ContextVar("loopmend_reading", default=None)
"""The reading of the step that is being taken."""


class JsonActionStep(ActionReasoningStep):
    """An action that shows its input as the JSON that the prompt asks for, not as Python."""

    @override
    def get_content(self) -> str:
        """Return it as the model is shown it."""
        given = written(self.action_input)
        return f"Thought: {self.thought}\nAction: {self.action}\nAction Input: {given}"


class TolerantReActOutputParser(ReActOutputParser):
    r"""Reads what a ReAct model really writes; a drop-in replacement for `ReActOutputParser`.

    It reads calls in any dialect, needs no thought before an answer, and keeps the types of
    arguments. It refuses a reply that is empty or truncated, or that describes a call without
    making it; the error makes LlamaIndex's agent ask the model again. Other text is the answer.

    A reasoning step has one action: of several calls in a reply the first counts. The step does
    not keep the others, so the model does not think that they ran.

    >>> parser = TolerantReActOutputParser(tools=["search"])
    >>> parser.parse('<tool_call>{"name": "search", "arguments": {"limit": 5}}</tool_call>')
    ... # doctest: +ELLIPSIS
    JsonActionStep(thought='(Implicit) ...', action='search', action_input={'limit': 5})
    >>> parser.parse("Answer: 42").response
    '42'
    """

    def __init__(
        self, *, tools: Iterable[Any] | None = None, config: ReadingConfig | None = None
    ) -> None:
        """Make a parser.

        Args:
            tools: The available tools: LlamaIndex's tools, functions, schemas, `ToolSpec`s or
                names. With them the parser repairs names and arguments and refuses unknown tools.
            config: How to read; by default an action takes precedence over an answer next to it.

        Raises:
            TypeError: `tools` is one string.
        """
        self.toolbox = None if tools is None else toolbox(tools)
        """The available tools, in the core's form."""
        self._config = REACT_READING if config is None else config

    def read(self, output: str) -> Turn:
        """Return the turn of a reply, with its repairs or why it failed.

        >>> TolerantReActOutputParser().read("Answer: 42").actions
        (FinalAnswer(content='42', type='final'),)
        """
        here = reading.get()
        tools = self.toolbox if here is None else here.tools
        turn = read_react(output, tools, self._config)
        if here is not None:
            here.text, here.turn = output, turn
        return turn

    def step_of(self, turn: Turn, output: str) -> ReasoningStep:
        """Return the reasoning step for a turn.

        Args:
            turn: What the reader found.
            output: The text of the reply.

        Raises:
            ActionParseException: The turn failed, and no action was salvaged.

        >>> parser = TolerantReActOutputParser()
        >>> parser.step_of(parser.read("It is 4."), "It is 4.").response
        'It is 4.'
        """
        if not turn.actions and turn.failure is not None:
            # A hook that looks after the step has words of its own.
            words = turn.failure.message
            if reading.get() is None:
                words = correction(turn.failure, "react", self.toolbox, answer_label="Answer")
            raise ActionParseException(output, turn, turn.failure, words)
        action = turn.actions[0] if turn.actions else Answer(output.strip())
        if isinstance(action, ToolCall):
            return JsonActionStep(
                thought=turn.thought or _words_before(turn, output) or _CALLS,
                action=action.name,
                action_input=_as_object(action.arguments),
            )
        said = action.content if isinstance(action, Answer) else action.question
        return ResponseReasoningStep(thought=turn.thought or _ANSWERS, response=said)

    @override
    def parse(self, output: str, is_streaming: bool = False) -> ReasoningStep:
        """Read a reply into a reasoning step.

        While a reply streams, the parser reads it as LlamaIndex does, because its beginning alone
        is not certain.

        Raises:
            ActionParseException: The reply cannot be read with certainty; a `ValueError`, as
                agents need it.
        """
        if is_streaming:
            return cast("ReasoningStep", super().parse(output, is_streaming=True))
        return self.step_of(self.read(output), output)


class ActionOutputParser(BaseOutputParser):
    """Reads a reply into the one action it asks for: an answer, a call or a question.

    `LLM.predict` turns whatever a parser returns into text; to get the action itself, use
    `RetryingOutputParser.predict` or an `LLMTextCompletionProgram`.

    >>> ActionOutputParser().parse('{"type": "ask_user", "question": "Which Oslo?"}')
    AskUser(question='Which Oslo?', type='ask_user')
    """

    def __init__(
        self,
        *,
        tools: Iterable[Any] | None = None,
        reading: Literal["contract", "tolerant"] = "tolerant",
        config: ReadingConfig | None = None,
    ) -> None:
        """Make a parser.

        Args:
            tools: The available tools, as for `TolerantReActOutputParser`.
            reading: Whether to read any dialect (of several calls, the first), or only exactly
                the requested JSON object; then the parser repairs nothing and only tells the
                model about the tools.
            config: How to read any dialect.

        Raises:
            TypeError: `tools` is one string.
            ValueError: `reading` is unknown.
        """
        if reading not in ("contract", "tolerant"):
            msg = f"`reading` must be 'contract' or 'tolerant', not {reading!r}"
            raise ValueError(msg)
        self.toolbox = None if tools is None else toolbox(tools)
        """The available tools, in the core's form."""
        self._reading = reading
        self._config = _ACTION if config is None else config

    @override
    def parse(self, output: str) -> AgentAction:
        """Read a reply into an action.

        Raises:
            ActionParseException: The reply cannot be read with certainty.
        """
        return self._exactly(output) if self._reading == "contract" else self._tolerantly(output)

    @override
    def format(self, query: str) -> str:
        """Append to a query what to tell the model about the form of its reply."""
        names = "" if self.toolbox is None else ", ".join(self.toolbox.tools)
        told = f"{_FORM}\nAvailable tools: {names}." if names else _FORM
        return f"{query}\n\n{told}" if query else told

    def _words(self, failure: Failure) -> str:
        return correction(failure, "json", self.toolbox)

    def _tolerantly(self, output: str) -> AgentAction:
        turn = read_turn(output, tools=self.toolbox, config=self._config)
        if turn.actions:
            return turn.actions[0]
        if turn.failure is None:  # a signal, which is all it says
            return Answer(output.strip())
        raise ActionParseException(output, turn, turn.failure, self._words(turn.failure))

    def _exactly(self, output: str) -> AgentAction:
        try:
            return parse_action(output)
        except ActionParseError as error:
            failure = _failure(output, error)
            turn = Turn(failure=failure)
            raise ActionParseException(output, turn, failure, self._words(failure)) from error


def _failure(output: str, error: ActionParseError) -> Failure:
    """Say why a reply is not exactly one action, as helpful as reading it any way allows."""
    turn = read_turn(output, config=replace(_ACTION, plain_text="error"))
    if turn.failure is not None:
        return turn.failure
    calls = any(isinstance(action, ToolCall) for action in turn.actions)
    pattern = FailurePattern.MALFORMED if calls else FailurePattern.NO_ACTION
    return Failure(pattern, str(error), (0, len(output)))


def _words_before(turn: Turn, output: str) -> str:
    """Return what was said before a call that is wrapped in a fence or a tag."""
    before = _WRAPPING.split(output[: turn.span[0]], maxsplit=1)[0]
    return _LABEL.sub("", before, count=1).strip()


def _as_object(arguments: Any) -> dict[str, Any]:
    """Return arguments as the object that LlamaIndex's tools take; `input` is their default."""
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments in _NO_INPUT else {"input": arguments}
