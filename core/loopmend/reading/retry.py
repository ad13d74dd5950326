"""What to do with a turn that failed: a pure decision, and the words to say to the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, Union

from loopmend._arguments import require_int
from loopmend.contracts.normalization import MAX_NORMALIZATION_RETRIES
from loopmend.errors import LoopmendError
from loopmend.reading.tools import Toolbox, Tools, ToolSpec, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, Turn

__all__ = [
    "Accept",
    "GiveUp",
    "Message",
    "NormalizationError",
    "Retry",
    "RetryDecision",
    "RetryPolicy",
]

AskedDialect = Literal["react", "json", "native", "any"]
"""How the model was asked to write: ReAct text, one JSON action, the provider's own calls, or in
whichever way it does."""

# Told in words, without a colon after a keyword and without a brace: no parser, ours or
# another's, may take a correction for an action when it comes back in a transcript.
FORMATS: Final[dict[AskedDialect, str]] = {
    "react": "Write one line that starts with the word Action and names one tool, then one line "
    "that starts with the words Action Input and holds a JSON object with its arguments. If no "
    "tool is needed, write one line that starts with the words Final Answer.",
    "json": "Reply with exactly one JSON object and nothing else. Its type is tool_call with a "
    "name and an object of arguments, or final with a content, or ask_user with a question.",
    "native": "Call the tool through the tool calling interface, not in the text. If no tool is "
    "needed, answer in plain words.",
    "any": "Call the tool again in the same form as before, with its exact name and an object "
    "with its arguments. If no tool is needed, answer in plain words.",
}
_REASONS: Final = {
    FailurePattern.NARRATED: "Tools only run when they are called; telling what you will do runs "
    "nothing.",
    FailurePattern.FABRICATED_OUTPUT: "Tools only run between your turns; what you wrote about "
    "their results was made up.",
    FailurePattern.TEMPLATE_ECHO: "Fill the template in instead of repeating it.",
    FailurePattern.TRUNCATED: "Your reply ended too early; write it again, and shorter.",
    FailurePattern.ACTION_AND_ANSWER: "Give either one action or the final answer, never both.",
}
_LISTED_TOOLS: Final = 20
_NOT_NAME: Final = re.compile(r"[^\w.\- ]+")


@dataclass(frozen=True, slots=True)
class Message:
    """One message to add to the conversation.

    >>> Message("user", "Please call the tool.").role
    'user'
    """

    role: Literal["user", "system"]
    content: str


@dataclass(frozen=True, slots=True)
class Accept:
    """Use the turn as it is.

    >>> from loopmend import read_turn
    >>> RetryPolicy().decide(read_turn("It is 4."), attempt=0)
    ... # doctest: +ELLIPSIS
    Accept(turn=Turn(actions=(Final(content='It is 4.', ...
    """

    turn: Turn


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask the model again, with these messages added.

    >>> from loopmend import read_turn
    >>> decision = RetryPolicy().decide(read_turn(""), attempt=0)
    >>> decision.messages[0].content[:30]
    'Your last reply cannot be used'
    """

    messages: tuple[Message, ...]
    attempt: int
    """Which retry this is, from 1."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop asking: the model was corrected as often as allowed.

    >>> from loopmend import read_turn
    >>> RetryPolicy(max_retries=0).decide(read_turn(""), attempt=0).attempts
    0
    """

    failure: Failure
    attempts: int
    """How often it was corrected."""


class NormalizationError(LoopmendError):
    """A model kept breaking the tool protocol, however often it was corrected.

    >>> from loopmend import Failure, FailurePattern, GiveUp
    >>> failure = Failure(FailurePattern.EMPTY, "Nothing was said.", (0, 0))
    >>> NormalizationError(GiveUp(failure, attempts=2))
    NormalizationError('The model was corrected 2 times, but: Nothing was said.')
    """

    def __init__(self, given_up: GiveUp) -> None:
        times = f"{given_up.attempts} time{'s' * (given_up.attempts != 1)}"
        super().__init__(f"The model was corrected {times}, but: {given_up.failure.message}")
        self.given_up = given_up
        self.failure = given_up.failure

    def __reduce__(self) -> tuple[type[NormalizationError], tuple[GiveUp]]:
        """Rebuild from the verdict."""
        return type(self), (self.given_up,)


RetryDecision = Union[Accept, Retry, GiveUp]
"""What to do with a turn."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Decides what to do with a turn, and words the correction.

    >>> from loopmend import read_turn
    >>> turn = read_turn("Action: serach[x]", tools=["search", "lookup"])
    >>> print(RetryPolicy().decide(turn, attempt=0, tools=["search", "lookup"]).messages[0].content)
    ... # doctest: +ELLIPSIS
    Your last reply cannot be used. There is no tool serach. Did you mean search? ...
    """

    max_retries: int = MAX_NORMALIZATION_RETRIES
    """How often a turn is corrected; never exceeded."""
    dialect: AskedDialect = "react"
    """How the model was asked to write."""
    role: Literal["user", "system"] = "user"
    """Who speaks the correction."""

    def decide(self, turn: Turn, attempt: int, tools: Tools = None) -> RetryDecision:
        """Accept the turn, ask again, or give up.

        Args:
            turn: What was read.
            attempt: How often the model was already corrected for this turn.
            tools: What is on offer, as for `read_turn`.
        """
        require_int(attempt, "attempt")
        if turn.failure is None or turn.fidelity == "salvaged":
            return Accept(turn)
        if attempt >= self.max_retries:
            return GiveUp(turn.failure, attempt)
        toolbox = toolbox_of(tools) or Toolbox(())
        content = self._correction(turn.failure, attempt, toolbox)
        return Retry((Message(self.role, content),), attempt + 1)

    def _correction(self, failure: Failure, attempt: int, tools: Toolbox) -> str:
        parts = ["Your last reply cannot be used."]
        if attempt:
            parts = ["Your reply still cannot be used. Change it in just this way."]
        parts += [_what_is_wrong(failure), _REASONS.get(failure.pattern, "")]
        parts += [_tool_line(failure, tools), FORMATS[self.dialect]]
        lost = failure.pattern is FailurePattern.UNKNOWN_TOOL and failure.nearest is None
        if (attempt or lost) and tools.tools:
            names = ", ".join(map(_safe, list(tools.tools)[:_LISTED_TOOLS]))
            parts.append(f"The only tools are {names}.")
        return " ".join(part for part in parts if part)


def _what_is_wrong(failure: Failure) -> str:
    """Say what is wrong without repeating the model's own words."""
    name = _safe(failure.tool) if failure.tool else ""
    if failure.pattern is FailurePattern.UNKNOWN_TOOL:
        meant = f" Did you mean {_safe(failure.nearest)}?" if failure.nearest else ""
        return f"There is no tool {name}.{meant}"
    if failure.pattern is FailurePattern.MISSING_INPUT:
        return f"The action {name} has no input."
    place = f" (around character {failure.span[0]})" if failure.span[0] else ""
    return f"{_SAID[failure.pattern]}{f' The tool was {name}.' if name else ''}{place}"


_SAID: Final = {
    FailurePattern.MALFORMED: "It announces a tool call that cannot be read.",
    FailurePattern.NARRATED: "It tells what will be done, but calls nothing.",
    FailurePattern.EMPTY: "It is empty, or its action has no name.",
    FailurePattern.UNKNOWN_TOOL: "It calls a tool that does not exist.",
    FailurePattern.BAD_ARGUMENTS: "The arguments do not fit the tool.",
    FailurePattern.MISSING_INPUT: "The action has no input.",
    FailurePattern.TRUNCATED: "It is cut off in the middle of a call.",
    FailurePattern.TEMPLATE_ECHO: "It repeats the template of the prompt.",
    FailurePattern.FABRICATED_OUTPUT: "It claims results that no tool returned.",
    FailurePattern.ACTION_AND_ANSWER: "It holds both an action and a final answer.",
    FailurePattern.NO_ACTION: "It holds neither an action nor an answer.",
    FailurePattern.TEXTUAL_CALL: "It writes a tool call as text, so that nothing is called.",
}


def _tool_line(failure: Failure, tools: Toolbox) -> str:
    """Describe the tool at fault, or the nearest one, in a line."""
    name = failure.nearest or failure.tool
    spec = tools.find(name) if name else None
    if spec is None or not spec.known:
        return ""
    if not spec.parameters:
        return f"{_safe(spec.name)} takes no arguments."
    return (
        f"{_safe(spec.name)} takes {'; '.join(_parameter(spec, key) for key in spec.parameters)}."
    )


def _parameter(spec: ToolSpec, key: str) -> str:
    schema = spec.parameters[key]
    kind = schema.get("type") if isinstance(schema, dict) else None
    words = [_safe(kind)] if isinstance(kind, str) else []
    words.append("required" if key in spec.required else "optional")
    return f"{_safe(key)}, {' and '.join(words)}"


def _safe(name: str) -> str:
    """Keep of a name what can be part of one, so that it cannot smuggle in instructions."""
    return _NOT_NAME.sub("", name).strip()[:60]
