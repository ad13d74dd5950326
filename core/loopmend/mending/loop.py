"""One loop that decides about a model's reply: use it, ask again, or give up. It does no I/O.

A driver, sync or async, asks the model as `Ask` says and hands each reply to `Mending`; the rules
about asking again live here and nowhere else. What it tries, in order: read the reply; make a call
that was written as text; constrain the provider's decoding; ask in words; end.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Union

from loopmend.contracts.actions import AskUser, FinalAnswer, ToolCall, parse_action
from loopmend.errors import ActionParseError, InvalidJson, LoopmendError
from loopmend.mending.corrections import Form, correction
from loopmend.mending.messages import Message, NativeCall, Reply
from loopmend.mending.policy import RetryPolicy
from loopmend.mending.requests import asks_to_see
from loopmend.mending.schemas import action_schema, value_schema
from loopmend.mending.value_corrections import value_correction
from loopmend.mending.value_replies import read_value_reply
from loopmend.reading.fitting import Call, fit
from loopmend.reading.json_reading import JsonReading
from loopmend.reading.quick import fits, is_plain
from loopmend.reading.response import is_unusual, read_response
from loopmend.reading.schema import schema_of
from loopmend.reading.tools import Toolbox, Tools, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Repair, Turn

__all__ = [
    "Ask",
    "Done",
    "GaveUp",
    "Mending",
    "NormalizationError",
    "Retry",
    "Step",
    "beside",
    "is_clean",
]

_NOT_RUN: Final = "Not run, because another call in the same reply failed."
_FENCES: Final = re.compile(r"(?:`{3,}|~{3,})[\w+\-.]*")
_WRAPPING: Final = re.compile(r"[\[\]{}\"`]|<[^<>\s]{1,60}>")
_QUIET: Final = ReadingConfig(detect_signals=False)
_THOUGHT: Final = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCED: Final = re.compile(r"\s*(?:`{3}|~{3})[\w+\-.]*\n(?P<body>.*)\n(?:`{3}|~{3})\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Retry:
    """What listeners learn when a model is asked again; they retract what they showed of it.

    >>> Retry(1, "empty", "The reply is empty.", "Your reply was empty.").data()["attempt"]
    1
    """

    attempt: int
    """Which retry this is, from 1."""
    pattern: str | None
    """What was wrong, see `FailurePattern`; `None` if another parser says so."""
    message: str
    """What was wrong, for people."""
    correction: str | None
    """What the model is told; `None` if its decoding is constrained instead."""

    def data(self) -> dict[str, Any]:
        """Return plain data for an event."""
        return {
            "attempt": self.attempt,
            "pattern": self.pattern,
            "message": self.message,
            "correction": self.correction,
        }


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model, with these messages behind the conversation.

    >>> Mending().start()
    Ask(messages=(), attempt=0, schema=None, retry=None)
    """

    messages: tuple[Message, ...] = ()
    """What to add to the conversation; it takes the place of what was added before."""
    attempt: int = 0
    """How often the model was asked before."""
    schema: Mapping[str, Any] | None = None
    """The schema to decode by. Where it is the schema of actions, the conversation goes through
    `constrained`; where it is that of a value you asked for, it stays as it is."""
    retry: Retry | None = None
    """What to tell listeners first."""


@dataclass(frozen=True, slots=True)
class Done:
    """Use the reply.

    >>> mending = Mending(["search"])
    >>> _ = mending.start()
    >>> mending.reply(Reply("It is in Norway.")).outcome
    'clean'
    """

    turn: Turn
    """What was read."""
    calls: tuple[NativeCall, ...] | None = None
    """The calls to make in place of the reply's own; `None` if those are right."""
    content: str | None = None
    """What to show in place of the reply's own text; `None` if that is right."""
    refused: tuple[Failure, ...] = ()
    """Why earlier replies were refused."""
    outcome: Literal["clean", "mended", "made"] = "clean"
    """Whether it was right at once, after asking again, or is a call that was written as text."""
    reading: JsonReading | None = None
    """The value, where you asked for one by its schema."""

    @property
    def value(self) -> Any:
        """The value that you asked for by its schema."""
        return None if self.reading is None else self.reading.value


class NormalizationError(LoopmendError):
    """A model kept breaking the tool protocol, however often it was corrected.

    >>> from loopmend import Failure, FailurePattern
    >>> NormalizationError(Failure(FailurePattern.EMPTY, "The reply is empty.", (0, 0)), 2)
    NormalizationError('Gave up after 2 retries: The reply is empty.')
    """

    failure: Failure
    """What is wrong with the last reply."""
    retries: int
    """How often the model was asked again."""

    def __init__(self, failure: Failure, retries: int) -> None:
        super().__init__(f"Gave up after {_retries(retries)}: {failure.message}")
        self.failure = failure
        self.retries = retries

    def __reduce__(self) -> tuple[type[NormalizationError], tuple[Failure, int]]:
        """Rebuild from the verdict."""
        return type(self), (self.failure, self.retries)


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Stop asking.

    >>> mending = Mending(["search"], policy=RetryPolicy(max_retries=0))
    >>> _ = mending.start()
    >>> mending.reply(Reply("")).answer
    'Gave up after 0 retries: The reply is empty.'
    """

    failure: Failure
    """What is wrong with the last reply."""
    retries: int
    """How often the model was asked again."""
    answer: str
    """What to answer with: the model's own words if it said any."""
    refused: tuple[Failure, ...] = ()
    """Why each reply was refused."""
    cause: Exception | None = None
    """What the provider raised in place of the last reply."""
    reading: JsonReading | None = None
    """What could be read of the last reply, where you asked for a value by its schema."""

    def error(self) -> NormalizationError:
        """Return the error to raise, if that is wanted."""
        error = NormalizationError(self.failure, self.retries)
        error.__cause__ = self.cause
        return error


Step = Union[Ask, Done, GaveUp]
"""What to do next."""


def _retries(number: int) -> str:
    return f"{number} {'retry' if number == 1 else 'retries'}"


def _new_id() -> str:
    return f"call_{uuid.uuid4().hex}"


class Mending:
    r"""Decides about the replies to one question, until one can be used or it gives up.

    >>> mending = Mending(["search"], form="react")
    >>> _ = mending.start("Where is Oslo?")
    >>> step = mending.reply(Reply("I will search for it."))
    >>> print(step.messages[0].content.splitlines()[0])
    You described a tool call but did not make it. Describing a call does not run it.
    >>> mending.reply(Reply("Final Answer: in Norway")).turn.actions[0].content
    'in Norway'

    With a schema it asks for a value:

    >>> mending = Mending(schema=dict[str, int])
    >>> _ = mending.start("How many people live in Oslo?")
    >>> print(mending.reply(Reply('{"Oslo": "many"}')).messages[0].content.splitlines()[0])
    Fix only this: `Oslo` must be an integer, not a string.
    >>> mending.reply(Reply("```json\n{'Oslo': 717710}\n```")).value
    {'Oslo': 717710}
    """

    def __init__(  # noqa: PLR0913 - all but two by name
        self,
        tools: Tools = None,
        form: Form = "native",
        *,
        schema: Any = None,
        policy: RetryPolicy | None = None,
        config: ReadingConfig = _QUIET,
        can_constrain: bool = False,
        answer_label: str = "Final Answer",
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        """Set the options.

        Args:
            tools: The available tools, as for `read_turn`; `None` if they are unknown.
            form: How the model was asked to write.
            schema: What value you asked for, as for `read_json`; then a reply is that value, or
                calls to the tools, if there are any.
            policy: How far to go.
            config: How to read.
            can_constrain: Whether the provider can decode by a schema.
            answer_label: How a ReAct prompt labels the answer.
            new_id: Makes an id for a call that lacks one.
        """
        self.tools = toolbox_of(tools)
        self.form: Form = form
        self.policy = policy or RetryPolicy()
        self.wanted = schema_of(schema)
        has_form = self.wanted is not None or bool(self.tools and self.tools.tools)
        self.can_constrain = can_constrain and has_form
        self.refused: list[Failure] = []
        self._config = config
        self._answer_label = answer_label
        self._new_id = new_id
        self._question = ""
        self._sees = False
        self._after_result = False
        self._attempt = 0
        self._shown: tuple[Message, ...] = ()
        self._heard: list[tuple[Any, ...]] = []
        self._dropped = False
        self._constraining = False
        self._last: tuple[Reply, Failure, str | None] | None = None
        self._last_words: str | None = None
        self._reading: JsonReading | None = None

    def start(self, question: str = "", *, after_tool_result: bool = False) -> Ask:
        """Return what to ask at first.

        Args:
            question: The user's last message. It tells whether a call is only to be shown.
            after_tool_result: Whether a tool's result comes last: then saying nothing is a way to
                finish.
        """
        self._question = question
        self._after_result = after_tool_result
        # Who may only call or answer under a schema would call what the user only wants to see.
        self._sees = self.wanted is None and asks_to_see(question)
        self.can_constrain = self.can_constrain and not self._sees
        self._constraining = self.policy.constrain == "always" and self.can_constrain
        return Ask(schema=self._schema())

    def reply(self, reply: Reply, read: Turn | None = None) -> Step:
        """Say what to do about a reply.

        Args:
            reply: The reply.
            read: What a parser has read already, with the same tools and `config`.
        """
        if self.wanted is not None and not self._calls_tools(reply):
            return self._valued(reply)
        unread = self._constraining or reply.error is not None or is_unusual(reply.finish_reason)
        turn = self._read(reply) if read is None or unread else read
        if turn.failure is None:
            return self._done(reply, turn)
        if turn.failure.pattern not in self.policy.patterns:
            return Done(Turn(), refused=tuple(self.refused))
        if self.may_use(turn):
            return self._done(reply, turn)
        if self.shows(reply, turn.failure):
            return Done(Turn((FinalAnswer(reply.text),)), refused=tuple(self.refused))
        return self.refuse(reply, turn.failure)

    def _calls_tools(self, reply: Reply) -> bool:
        """Tell whether a reply calls tools instead of giving the value."""
        known = {} if self.tools is None else self.tools.tools
        return any(call.name in known for call in (*reply.calls, *reply.broken_calls))

    def _valued(self, reply: Reply) -> Step:
        """Say what to do about a reply that should be a value."""
        assert self.wanted is not None
        told = self._last_words if self.refused else None
        found = read_value_reply(reply, self.wanted, self._config, told)
        failure = found.reading.failure
        if failure is not None and failure.pattern in self.policy.patterns:
            self._reading = found.reading
            return self.refuse(reply, failure)
        outcome: Literal["clean", "mended"] = "mended" if self.refused else "clean"
        refused = tuple(self.refused)
        return Done(found.turn, found.calls, found.content, refused, outcome, found.reading)

    def shows(self, reply: Reply, failure: Failure) -> bool:
        """Tell whether a text that fails is the answer: the user asked to see a call.

        To ask again would push the model to make it.
        """
        written = self.form == "native" and not (reply.calls or reply.broken_calls or reply.error)
        return written and self._sees and failure.pattern is not FailurePattern.EMPTY

    def may_use(self, turn: Turn) -> bool:
        """Tell whether a turn can be used: it did not fail, or holds calls that may be made."""
        return turn.failure is None or (turn.fidelity == "salvaged" and self._may_make(turn))

    def refuse(self, reply: Reply, failure: Failure, words: str | None = None) -> Ask | GaveUp:
        """Say what to do about a reply that cannot be used, as a parser of others may say too.

        Args:
            reply: The reply.
            failure: What is wrong with it.
            words: A correction in place of ours.
        """
        self.refused.append(failure)
        # Of a reply that nobody can see whole, nobody can tell whether it is the same.
        again = reply.said() in self._heard and not reply.holds_more
        self._heard.append(reply.said())
        # Who repeats it word for word, although it was not shown it again, will go on doing so.
        if self._attempt >= self.policy.max_retries or (again and self._dropped):
            return self._gave_up(reply, failure)
        self._attempt += 1
        self._dropped = self._dropped or again or not self.policy.show_refused
        self._last = reply, failure, words
        if self.can_constrain and self.policy.constrain and not self._constraining:
            self._constraining = True
            return Ask((), self._attempt, self._schema(), self._retry(failure, None))
        return self._ask(reply, failure, words, show=self.policy.show_refused and not again)

    def unconstrained(self) -> Ask:
        """Return what to ask now that the provider turned out not to take a schema."""
        self.can_constrain = self._constraining = False
        if self._last is None:
            return Ask()
        reply, failure, words = self._last
        step = self._ask(reply, failure, words, show=self.policy.show_refused)
        return replace(step, retry=None)  # listeners know of this refusal already

    # -- reading

    def _read(self, reply: Reply) -> Turn:
        if reply.error is not None:
            message = "The provider could not decode the call."
            return Turn(failure=Failure(FailurePattern.MALFORMED, message, (0, 0)))
        if self._constraining and (turn := self._contract(reply.text)) is not None:
            return turn
        calls = reply.calls or reply.broken_calls
        if self.form == "native" and self.tools is not None and not self.tools.tools and not calls:
            return Turn()  # without tools there is no protocol to break
        config = replace(
            self._config,
            salvage=self.form == "native" and bool(self.policy.salvage),
            # Who was corrected is asked for something: nothing is no answer to that.
            after_tool_result=self._after_result and not self.refused,
        )
        turn = read_response(
            reply.text,
            calls=reply.calls,
            broken_calls=reply.broken_calls,
            finish_reason=reply.finish_reason,
            tools=self.tools,
            protocol="native" if self.form == "native" else "text",
            config=config,
        )
        empty = turn.failure is not None and turn.failure.pattern is FailurePattern.EMPTY
        if empty and reply.holds_more:
            return Turn()
        return self._corrected(reply, turn) or turn

    def _corrected(self, reply: Reply, turn: Turn) -> Turn | None:
        """Return the call whose arguments alone a model writes after it was told of them.

        They are all that it says, and fit the tool that the correction was about.
        """
        if self.form != "native" or not self.refused or calls_in(turn) or self.tools is None:
            return None
        if reply.calls or reply.broken_calls:
            return None
        failure = self.refused[-1]
        spec = self.tools.find(failure.nearest or failure.tool or "")
        arguments = _object_in(reply.text)
        if spec is None or not spec.known or not arguments:
            return None
        if not set(spec.required) <= set(arguments) <= set(spec.parameters):
            return None
        span = (0, len(reply.text))
        fitted = fit(Call(spec.name, arguments, span), self.tools, [])
        if isinstance(fitted, Failure):
            return Turn(failure=fitted, span=span)
        message = f"The model wrote only the arguments of `{spec.name}`, so nothing ran."
        textual = Failure(FailurePattern.TEXTUAL_CALL, message, span, spec.name, call=fitted)
        if not self.policy.salvage:
            return Turn(failure=textual, span=span)
        return Turn((fitted,), None, None, textual, "salvaged", (), "json", span)

    def _contract(self, text: str) -> Turn | None:
        """Read a constrained reply by the contract; `None` if the provider ignored the schema."""
        span = (0, len(text))
        thought = _THOUGHT.match(text)
        text = text[thought.end() :] if thought else text
        try:
            action = parse_action(text)
        except ActionParseError as error:
            if not text.lstrip().startswith("{"):
                return None
            cut = isinstance(error, InvalidJson) and error.category == "eof"
            pattern = FailurePattern.TRUNCATED if cut else FailurePattern.MALFORMED
            said = "is cut off" if cut else f"is not an action: {error}"
            return Turn(failure=Failure(pattern, f"The reply {said}.", span))
        if isinstance(action, FinalAnswer) and not action.content.strip() and self.refused:
            return Turn(failure=Failure(FailurePattern.EMPTY, "The answer is empty.", span))
        if not isinstance(action, ToolCall):
            return Turn((action,), dialect="contract", span=span)
        repairs: list[Repair] = []
        fitted = fit(Call(action.name, action.arguments, span), self.tools, repairs)
        if isinstance(fitted, Failure):
            return Turn(failure=fitted, dialect="contract", span=span)
        fidelity: Literal["repaired", "exact"] = "repaired" if repairs else "exact"
        return Turn((fitted,), None, None, None, fidelity, tuple(repairs), "contract", span)

    def _may_make(self, turn: Turn) -> bool:
        """Tell whether calls that were written as text may be made."""
        calls = calls_in(turn)
        allowed = all(self.policy.may_make(call.name) for call in calls)
        return allowed and (turn.dialect == "native" or not self._sees)

    # -- what comes of it

    def _done(self, reply: Reply, turn: Turn) -> Done:
        refused = tuple(self.refused)
        outcome: Literal["clean", "mended", "made"] = "mended" if refused else "clean"
        if turn.fidelity == "salvaged" and turn.failure is not None:
            refused, outcome = (*refused, turn.failure), "made"
        if self.form != "native":
            return Done(turn, refused=refused, outcome=outcome)
        calls = calls_in(turn)
        if calls:
            made, content = self._calls(reply, turn, calls)
            return Done(turn, made, content, refused, outcome)
        return Done(turn, None, _unwrapped(turn), refused, outcome)

    def _calls(
        self, reply: Reply, turn: Turn, calls: list[ToolCall]
    ) -> tuple[tuple[NativeCall, ...] | None, str | None]:
        """Return the calls to make and what is said beside them, each `None` if it is right."""
        native = turn.dialect == "native"
        right = native and turn.fidelity == "exact" and _have_ids(reply.calls)
        if right:
            return None, None
        known = [call.id for call in (*reply.calls, *reply.broken_calls)] if native else []
        ids: list[str] = []
        for at in range(len(calls)):
            id = known[at] if at < len(known) else None
            ids.append(self._new_id() if not id or id in ids else id)
        made = [NativeCall(c.name, c.arguments, i) for c, i in zip(calls, ids, strict=True)]
        return tuple(made), None if native else beside(reply.text, turn)

    def _gave_up(self, reply: Reply, failure: Failure) -> GaveUp:
        refused = tuple(self.refused)
        # The first failure tells most: later ones are what the model made of its correction.
        why = f"Gave up after {_retries(self._attempt)}: {refused[0].message}"
        said = "" if self._constraining and reply.text.lstrip().startswith("{") else reply.text
        answer = said.strip() or why
        return GaveUp(failure, self._attempt, answer, refused, reply.error, self._reading)

    # -- asking again

    def _schema(self) -> Mapping[str, Any] | None:
        if not self._constraining:
            return None
        if self.wanted is not None:
            return value_schema(self.wanted)
        return action_schema(self.tools, ask_user=False)

    def _retry(self, failure: Failure, words: str | None) -> Retry:
        return Retry(self._attempt, failure.pattern.value, failure.message, words)

    def _ask(self, reply: Reply, failure: Failure, words: str | None, *, show: bool) -> Ask:
        if words is None and self.wanted is not None:
            words = value_correction(failure, self.wanted)
        elif words is None:
            form: Form = "json" if self._constraining else self.form
            words = correction(
                failure,
                form,
                self.tools,
                question=self._question,
                answer_label=self._answer_label,
            )
        self._last_words = words
        if show:
            self._shown = (*self._shown, *_with_answers(reply, failure, words))
        else:
            self._shown = (Message("user", words),)
        return Ask(self._shown, self._attempt, self._schema(), self._retry(failure, words))


def is_clean(reply: Reply, tools: Toolbox) -> bool:
    """Tell quickly whether a reply is one that mending would use as it is.

    Most are: nothing but calls that fit, or plain prose. What takes a second look is not.

    >>> from loopmend.reading import Toolbox
    >>> is_clean(Reply("It is in Norway."), Toolbox(["search"])), is_clean(Reply(""), Toolbox([]))
    (True, False)
    """
    if reply.broken_calls or is_unusual(reply.finish_reason):
        return False
    if not reply.calls:
        return is_plain(reply.text)
    fit = all(fits(call.name, call.arguments, tools) for call in reply.calls)
    return reply.text == "" and fit and _have_ids(reply.calls)


def calls_in(turn: Turn) -> list[ToolCall]:
    """Return the calls of a turn.

    >>> calls_in(Turn((ToolCall("search", {}),)))[0].name
    'search'
    """
    return [action for action in turn.actions if isinstance(action, ToolCall)]


def _object_in(text: str) -> dict[str, Any] | None:
    """Return the object that is all of a text, in a fence or not."""
    fenced = _FENCED.fullmatch(text)
    plain = (fenced["body"] if fenced else text).strip()
    try:
        found = json.loads(plain) if plain.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _have_ids(calls: tuple[NativeCall, ...]) -> bool:
    """Tell whether each call has an id of its own; small servers leave them out."""
    return len({call.id for call in calls if call.id}) == len(calls)


def _unwrapped(turn: Turn) -> str | None:
    """Return what an answer or a question says that came as the contract's JSON."""
    action = turn.actions[0] if turn.actions and turn.dialect == "contract" else None
    if isinstance(action, FinalAnswer):
        return action.content
    return action.question if isinstance(action, AskUser) else None


def beside(text: str, turn: Turn) -> str:
    """Return what is said beside a call, without what wrapped it.

    >>> from loopmend import read_turn
    >>> text = '{"name": "search", "arguments": {}}'
    >>> beside(f"Let me search: {text}", read_turn(f"Let me search: {text}", tools=["search"]))
    'Let me search:'
    """
    if turn.dialect == "contract":
        return ""
    rest = f"{text[: turn.span[0]]}\n{text[turn.span[1] :]}"
    plain = "\n".join(line.rstrip() for line in _FENCES.sub("", rest).splitlines() if line.strip())
    wrapped = _WRAPPING.search(plain) or not any(char.isalpha() for char in plain)
    return "" if wrapped else plain.strip()


def _with_answers(reply: Reply, failure: Failure, words: str) -> tuple[Message, ...]:
    """Return the refused reply, and an answer to each of its calls or the correction alone.

    Providers refuse a conversation in which a call has no answer, or two. Calls without an id
    cannot be answered, so they are not shown.
    """
    shown: dict[str, NativeCall] = {}
    for call in reply.calls:
        if call.id:
            shown.setdefault(call.id, call)
    for broken in reply.broken_calls:
        if broken.id:
            shown.setdefault(
                broken.id, replace(broken, name=broken.name or "unknown", arguments={})
            )
    calls = list(shown.values())
    if not calls:
        # Providers refuse empty messages, too.
        said = [Message("assistant", reply.text)] if reply.text.strip() else []
        return (*said, Message("user", words))
    named = next((call for call in calls if call.name == failure.tool), None)
    at_fault = calls[0] if named is None and len(calls) == 1 else named
    answers = [
        Message("tool", words if call is at_fault else _NOT_RUN, call_id=call.id) for call in calls
    ]
    told = [] if at_fault is not None else [Message("user", words)]
    return (Message("assistant", reply.text, tuple(calls)), *answers, *told)
