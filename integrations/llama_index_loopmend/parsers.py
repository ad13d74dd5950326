"""Output parsers that read what models really write, and say precisely what is wrong otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any, Final, Literal, Union, cast

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ActionReasoningStep, ResponseReasoningStep
from llama_index.core.output_parsers import BaseOutputParser
from typing_extensions import Self, override

from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.schemas import toolbox
from llama_index_loopmend.scratchpads import JsonActionStep
from loopmend import (
    ActionParseError,
    AgentAction,
    Failure,
    FailurePattern,
    ReadingConfig,
    Retry,
    RetryPolicy,
    ToolCall,
    Turn,
    parse_action,
    read_turn,
)
from loopmend import Final as Answer
from loopmend.reading.tools import Toolbox

__all__ = ["ActionOutputParser", "ReasoningStep", "TolerantReActOutputParser"]

ReasoningStep = Union[ActionReasoningStep, ResponseReasoningStep]
"""What one reply of a ReAct agent is: a call, or the answer."""

_ANSWERS: Final = "(Implicit) I can answer without any more tools!"
_CALLS: Final = "(Implicit) I need to use a tool to help me answer the question."
_NO_INPUT: Final = ("", "None", "null")
# Where the words before a call end and its wrapping begins.
_WRAPPING: Final = re.compile(r"```|<[\w|/]")
_LABEL: Final = re.compile(r"\s*Thought\s*:\s*")
# Phrases say nothing about actions. An action counts before an answer, as in LlamaIndex's own
# parser, because the answer was given without the tool's result.
_REACT: Final = ReadingConfig(detect_signals="tags", action_and_answer="action")
_ACTION: Final = ReadingConfig(detect_signals="tags")
_FORM: Final = """\
Reply with exactly one JSON object and nothing else, in one of these forms:
{"type": "tool_call", "name": "<name of the tool>", "arguments": {"<parameter>": "<value>"}}
{"type": "final", "content": "<answer>"}
{"type": "ask_user", "question": "<question>"}"""


class TolerantReActOutputParser(ReActOutputParser):
    r"""Reads what a ReAct agent's model really writes; a drop-in for `ReActOutputParser`.

    Calls in any dialect are read, an answer needs no thought, and arguments keep their types.
    What tells of tools without calling one, is cut off or says nothing is refused with an
    error that LlamaIndex's agent has the model correct; other text is the answer.

    A reasoning step has one action: of several calls in a reply the first counts. The others
    are not kept in the step, so that the model does not take them for done.

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
            tools: What is on offer: LlamaIndex's tools, functions, schemas, `ToolSpec`s or
                names. With them names and arguments are put right and unknown tools refused.
            config: How to read; by default an action counts before an answer beside it.

        Raises:
            TypeError: `tools` is one text.
        """
        self._toolbox = None if tools is None else toolbox(tools)
        self._config = _REACT if config is None else config
        self._latest: tuple[str, Turn] = ("", Turn())

    def with_tools(self, tools: Iterable[Any]) -> Self:
        """Return a copy that knows these tools, such as those that are offered in one step.

        >>> TolerantReActOutputParser().with_tools(["search"]).read("Action: seek[x]").failure.tool
        'seek'
        """
        made = copy(self)
        made._toolbox = toolbox(tools)  # noqa: SLF001 - of its own kind
        made._latest = ("", Turn())  # noqa: SLF001
        return made

    def read(self, output: str) -> Turn:
        """Return the turn that a reply is, with what had to be put right or why it failed.

        >>> TolerantReActOutputParser().read("Answer: 42").actions
        (Final(content='42', type='final'),)
        """
        # Whoever asks a parser usually asks about the reply that it has just parsed.
        text, turn = self._latest
        if text != output or not text:
            turn = read_turn(output, tools=self._toolbox, config=self._config)
            self._latest = output, turn
        return turn

    def step_of(self, turn: Turn, output: str) -> ReasoningStep:
        """Return the step that a turn is.

        Args:
            turn: What was read.
            output: The text that it was read from.

        Raises:
            ActionParseException: The turn failed, and no action was salvaged.

        >>> parser = TolerantReActOutputParser()
        >>> parser.step_of(parser.read("It is 4."), "It is 4.").response
        'It is 4.'
        """
        if not turn.actions and turn.failure is not None:
            raise ActionParseException(output, turn, turn.failure, self.correct(turn))
        action = turn.actions[0] if turn.actions else Answer(output.strip())
        if isinstance(action, ToolCall):
            return JsonActionStep(
                thought=turn.thought or _words_before(turn, output) or _CALLS,
                action=action.name,
                action_input=_as_object(action.arguments),
            )
        said = action.content if isinstance(action, Answer) else action.question
        return ResponseReasoningStep(thought=turn.thought or _ANSWERS, response=said)

    def correct(self, turn: Turn, attempt: int = 0) -> str:
        """Return what to tell the model about a turn that failed.

        Args:
            turn: What was read.
            attempt: How often the model was already corrected; the words become firmer.
        """
        return _correction("react", turn, attempt, self._toolbox)

    @override
    def parse(self, output: str, is_streaming: bool = False) -> ReasoningStep:
        """Read a reply into the step that it is.

        While it streams, a reply is read as LlamaIndex does, because nothing can be said for
        sure about the beginning of one.

        Raises:
            ActionParseException: It cannot be read for sure; a `ValueError`, as agents need it.
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
            tools: What is on offer, as for `TolerantReActOutputParser`.
            reading: Whether any dialect is read, with several calls the first, or only exactly
                the JSON object that was asked for; then nothing is repaired and the tools are
                only told to the model.
            config: How to read any dialect.

        Raises:
            TypeError: `tools` is one text.
            ValueError: There is no such reading.
        """
        if reading not in ("contract", "tolerant"):
            msg = f"`reading` must be 'contract' or 'tolerant', not {reading!r}"
            raise ValueError(msg)
        self._toolbox = None if tools is None else toolbox(tools)
        self._reading = reading
        self._config = _ACTION if config is None else config

    @override
    def parse(self, output: str) -> AgentAction:
        """Read a reply into an action.

        Raises:
            ActionParseException: It cannot be read for sure.
        """
        return self._exactly(output) if self._reading == "contract" else self._tolerantly(output)

    @override
    def format(self, query: str) -> str:
        """Append to a query what the model is told about the form of its reply."""
        names = "" if self._toolbox is None else ", ".join(self._toolbox.tools)
        told = f"{_FORM}\nThe tools are: {names}." if names else _FORM
        return f"{query}\n\n{told}" if query else told

    def correct(self, turn: Turn, attempt: int = 0) -> str:
        """Return what to tell the model about a turn that failed.

        Args:
            turn: What was read.
            attempt: How often the model was already corrected; the words become firmer.
        """
        return _correction("json", turn, attempt, self._toolbox)

    def _tolerantly(self, output: str) -> AgentAction:
        turn = read_turn(output, tools=self._toolbox, config=self._config)
        if turn.actions:
            return turn.actions[0]
        if turn.failure is None:  # a signal, which is all it says
            return Answer(output.strip())
        raise ActionParseException(output, turn, turn.failure, self.correct(turn))

    def _exactly(self, output: str) -> AgentAction:
        try:
            return parse_action(output)
        except ActionParseError as error:
            failure = _failure(output, error)
            turn = Turn(failure=failure)
            raise ActionParseException(output, turn, failure, self.correct(turn)) from error


def _failure(output: str, error: ActionParseError) -> Failure:
    """Say why a reply is not exactly one action, as helpful as reading it any way allows."""
    turn = read_turn(output, config=replace(_ACTION, plain_text="error"))
    if turn.failure is not None:
        return turn.failure
    calls = any(isinstance(action, ToolCall) for action in turn.actions)
    pattern = FailurePattern.MALFORMED if calls else FailurePattern.NO_ACTION
    return Failure(pattern, str(error), (0, len(output)))


def _correction(
    dialect: Literal["react", "json"], turn: Turn, attempt: int, tools: Toolbox | None
) -> str:
    policy = RetryPolicy(max_retries=attempt + 1, dialect=dialect)
    decision = policy.decide(turn, attempt, tools)
    return decision.messages[0].content if isinstance(decision, Retry) else ""


def _words_before(turn: Turn, output: str) -> str:
    """Return what was said before a call that is wrapped in a fence or a tag."""
    before = _WRAPPING.split(output[: turn.span[0]], maxsplit=1)[0]
    return _LABEL.sub("", before, count=1).strip()


def _as_object(arguments: Any) -> dict[str, Any]:
    """Return arguments as the object that LlamaIndex's tools take; `input` is their default."""
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments in _NO_INPUT else {"input": arguments}
