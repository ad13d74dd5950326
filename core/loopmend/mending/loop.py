"""One loop that decides about a model's reply: use it, ask again, or give up. It does no I/O.

A driver, sync or async, asks the model as `Ask` says and hands each reply to `Mending`; the rules
about asking again live here and nowhere else. What it tries, in order: read the reply; make a call
that was written as text; constrain the provider's decoding; ask in words; end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from loopmend.contracts.actions import FinalAnswer
from loopmend.mending.action_replies import (
    new_id,
    read_action_reply,
    read_contract_reply,
    to_be_made,
    unwrapped,
)
from loopmend.mending.answer_tools import read_tool_answer
from loopmend.mending.corrections import Form, correction, mistake_in_words
from loopmend.mending.loops import answer_from
from loopmend.mending.messages import Message, NativeCall, Reply, refused_messages
from loopmend.mending.policy import RetryPolicy
from loopmend.mending.provider_errors import is_protocol_error, refuses_schema
from loopmend.mending.quotations import Quotations
from loopmend.mending.schemas import action_schema, value_schema
from loopmend.mending.standing import echo_in, insisted, said_last, standing
from loopmend.mending.steps import Ask, Done, GaveUp, Retry, Step
from loopmend.mending.value_corrections import value_correction
from loopmend.mending.value_replies import calls_first, read_value_reply
from loopmend.reading.json_reading import JsonReading
from loopmend.reading.response import is_unusual
from loopmend.reading.schema import Schema, schema_of
from loopmend.reading.tools import Toolbox, Tools, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Turn

__all__ = ["Mending"]

_QUIET: Final = ReadingConfig(detect_signals=False)
_ANY: Final = Schema(None, {})
_SILENT: Final = f"{mistake_in_words(FailurePattern.EMPTY)} "
_NO_CALL: Final = Failure(FailurePattern.NO_ACTION, "The reply calls no tool.", (0, 0))


class Mending:
    r"""Decides about the replies to one question, until one is usable or it gives up.

    >>> mending = Mending(["search"], form="react")
    >>> _ = mending.start("Where is Oslo?")
    >>> step = mending.reply(Reply("I will search for it."))
    >>> print(step.messages[0].content.splitlines()[0])
    You described a tool call but did not make it. Describing a call does not run it.
    >>> mending.reply(Reply("Final Answer: in Norway")).turn.actions[0].content
    'in Norway'

    With a schema, it asks for a value:

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
        answers: Mapping[str, Any] | None = None,
        needs_call: bool = False,
        policy: RetryPolicy | None = None,
        config: ReadingConfig = _QUIET,
        can_constrain: bool = False,
        answer_label: str = "Final Answer",
        new_id: Callable[[], str] = new_id,
    ) -> None:
        """Set the options.

        Args:
            tools: The available tools, as for `read_turn`; `None` if they are unknown.
            form: How the model was asked to write.
            schema: The schema of the value that you asked for, as for `read_json`; a reply is then
                that value, or calls to the tools, if there are any.
            answers: The tools that give the answer, each with the schema of its arguments; a reply
                then calls other tools, or gives the answer by calling one of these.
            needs_call: Whether the model has to call a tool.
            policy: How often and how to ask again.
            config: How to read.
            can_constrain: Whether the provider can decode by a schema.
            answer_label: How a ReAct prompt labels the answer.
            new_id: Makes an id for a call that lacks one.
        """
        self._answers = {name: schema_of(each) or _ANY for name, each in (answers or {}).items()}
        self.tools = toolbox_of(tools)
        self.form: Form = form
        self.policy = policy = policy or RetryPolicy()
        if self.tools is not None and not self.tools.tools:  # then nobody narrates their use
            self.policy = replace(policy, patterns=set(policy.patterns) - {FailurePattern.NARRATED})
        self.wanted = None if schema is None else schema_of(schema)
        self._gives_value = self.wanted is not None
        offers = bool(self.tools and self.tools.tools)
        # A schema is that of a value or of calls; who may give either is held to neither.
        self.can_constrain = can_constrain and self._gives_value != offers
        self.refused: list[Failure] = []
        self._needs_call, self._may_answer = needs_call, not (answers or needs_call)
        self._config = config
        self._answer_label = answer_label
        self._new_id = new_id
        self._question = ""
        self._quotations = Quotations()
        self._after_result = self._silent = self._dropped = self._constraining = False
        self._attempt = 0
        self._shown: tuple[Message, ...] = ()
        self._heard: list[tuple[Any, ...]] = []
        self._in_words: Callable[[], Ask] | None = None
        self._last_words: str | None = None
        self._reading: JsonReading | None = None

    def start(
        self,
        question: str = "",
        *,
        conversation: Iterable[Message] = (),
        after_tool_result: bool = False,
        holds_more: bool = False,
    ) -> Ask:
        """Return the first step: ask the model.

        Args:
            question: The user's last message. It shows whether the user only wants to see a call.
            after_tool_result: Whether the conversation ends with a tool's result. If the model then
                says nothing, the loop asks once for the answer and accepts more silence; the model
                sees its other refused replies.
            holds_more: Whether the conversation contains more than words and calls, such as a
                picture, which the model would not see if it decoded by the schema of actions.
            conversation: The conversation so far, which the loop reads only if the model writes a
                call as text: a call that a user or a tool wrote before is a quotation.
        """
        self._question, self._after_result = question, after_tool_result
        names = () if self.tools is None else self.tools.tools.keys() - self._answers.keys()
        self._quotations = Quotations(question, names, conversation, self.form)
        if self.wanted is None:
            # Who may call under a schema would call what the user wants to see.
            always = (self.form, self.policy.constrain) == ("native", "always")
            self.can_constrain &= not (holds_more or (self._quotations.wanted and not always))
        self._constraining = self.policy.constrain == "always" and self.can_constrain
        return Ask(schema=self._schema())

    def reply(self, reply: Reply, read: Turn | None = None, words: str | None = None) -> Step:
        """Say what to do about a reply.

        Args:
            reply: The reply.
            read: The turn, if you have already read the reply with the same tools and `config`.
            words: A correction instead of ours, if the answer does not fit.
        """
        if self.wanted is not None and not calls_first(reply, self.wanted, self.tools):
            return self._valued(reply)
        self._gives_value = False
        step = self._judged(reply, read)
        if isinstance(step, Done) and not self._may_answer:
            return self._answered(reply, step, words)
        return step

    @property
    def offered(self) -> Toolbox | None:
        """The tools that a schema of actions offers: none that the user forbids."""
        known = {} if self.tools is None else self.tools.tools
        banned = self._quotations.forbidden
        kept = [spec for name, spec in known.items() if name not in banned]
        return self.tools if len(kept) == len(known) else Toolbox(kept)

    def accept(self, turn: Turn | None = None) -> Done:
        """Use a reply as it is, because your own parser accepts it or nothing is wrong with it."""
        refused = tuple(self.refused)
        return Done(turn or Turn(), refused=refused, outcome="mended" if refused else "clean")

    def raised(self, error: Exception) -> Step | None:
        """Say what to do about an exception instead of a reply; `None` if you should raise it."""
        if self._constraining and refuses_schema(error):
            return self.unconstrained()
        if is_protocol_error(error) and FailurePattern.MALFORMED in self.policy.patterns:
            return self.reply(Reply(error=error))
        return None

    def echo(self, reply: Reply) -> tuple[Failure, str] | None:
        """Return what is wrong with a reply that repeats its correction, and what to say of it."""
        found = echo_in(reply, self._last_words)
        return found if found is not None and found[0].pattern in self.policy.patterns else None

    def _judged(self, reply: Reply, read: Turn | None) -> Step:
        turn, reason = read, reply.finish_reason
        if turn is None or self._constraining or reply.error or (reason and is_unusual(reason)):
            turn = self._read(reply)
        failure = turn.failure
        if failure is not None and failure.pattern not in self.policy.patterns:
            return self.accept()
        # Asking again would push the model to make that call.
        if self._quotations.answer(reply, turn, decodes=self._constraining):
            held = Turn((FinalAnswer(reply.text),))
            return self.accept(held) if self.wanted is None else self._valued(reply)
        if failure is None:
            echo = None if turn.calls else self.echo(reply)
            return self._done(reply, turn) if echo is None else self.refuse(reply, *echo)
        if turn.fidelity == "salvaged" and all(self.policy.may_make(c.name) for c in turn.calls):
            return self._done(reply, turn)
        self._silent = self._is_silent(failure)
        if self._silent:
            return self.refuse(reply, failure, _SILENT + answer_from(self._question))
        return self.refuse(reply, failure)

    def _valued(self, reply: Reply) -> Step:
        """Say what to do about a reply that should be a value."""
        assert self.wanted is not None
        self._gives_value = True
        found = read_value_reply(reply, self.wanted, self._config, self._last_words)
        failure = found.reading.failure
        if failure is not None and failure.pattern in self.policy.patterns:
            self._reading = found.reading
            return self.refuse(reply, failure)
        done = self.accept(found.turn)
        return replace(done, calls=found.calls, content=found.content, reading=found.reading)

    def _is_silent(self, failure: Failure) -> bool:
        """Tell whether a model says nothing of a tool's result, and was not asked for more yet."""
        empty = failure.pattern is FailurePattern.EMPTY and not self.refused
        return empty and self._after_result and self.wanted is None

    def refuse(self, reply: Reply, failure: Failure, words: str | None = None) -> Ask | GaveUp:
        """Say what to do about a reply that cannot be used; your own parser may say so, too.

        Args:
            reply: The reply.
            failure: What is wrong with it.
            words: A correction instead of ours.
        """
        self.refused.append(failure)
        # Nobody can tell whether a reply that nobody sees whole is the same.
        again = reply.said() in self._heard and not reply.holds_more
        self._heard.append(reply.said())
        # Who declines, or repeats what it was not shown again word for word, goes on doing so.
        ends = (again and (self._dropped or self._constraining)) or reply.declines
        if ends or self._attempt >= self.policy.max_retries:
            return self._gave_up(reply, failure, own=words is not None)
        self._attempt += 1
        after = self._after_result and not self._constraining  # a schema wants few words
        show = self.policy.shows(reply, after_result=after) and not again
        self._dropped = self._dropped or not show
        self._in_words = partial(self._ask, reply, failure, words, show=show)
        if self.policy.constrain and self.can_constrain and not self._constraining:
            self._constraining = True
            return self._again((), failure, None)
        return self._in_words()

    def unconstrained(self) -> Ask:
        """Return what to ask now that the provider turned out not to take a schema."""
        self.can_constrain = self._constraining = False
        # Listeners know of this refusal already.
        return Ask() if self._in_words is None else replace(self._in_words(), retry=None)

    def _read(self, reply: Reply) -> Turn:
        # Who keeps silent when asked for the answer has none. Nothing answers no other correction.
        asked = self._silent or not (self.refused or self.policy.max_retries)
        may_be_empty = self._after_result and asked
        if self._constraining and reply.error is None:
            turn = read_contract_reply(reply.text, self.tools, may_be_empty=may_be_empty)
            if turn is not None:
                return turn
        corrected = self.refused[-1] if self.refused else None
        meant = self._question
        if corrected is not None and reply.said() == self._heard[-1]:
            meant = "\n".join((meant, *insisted(reply, corrected)))
        config = replace(self._config, after_tool_result=may_be_empty, question=meant)
        config = replace(config, salvage=self.form == "native" and bool(self.policy.salvage))
        return read_action_reply(reply, self.tools, self.form, config, corrected)

    # -- what comes of it

    def _done(self, reply: Reply, turn: Turn) -> Done:
        done = self.accept(turn)
        if turn.fidelity == "salvaged" and turn.failure is not None:
            done = replace(done, refused=(*done.refused, turn.failure), outcome="made")
        if self.form != "native":
            return done
        if not turn.calls:
            return replace(done, content=unwrapped(turn))
        made, content = to_be_made(reply, turn, self._new_id)
        return replace(done, calls=made, content=content)

    def _answered(self, reply: Reply, done: Done, words: str | None) -> Step:
        """Say what to do about a usable reply where only certain calls will do."""
        calls = reply.calls if done.calls is None else done.calls
        if self.form != "native":
            calls = tuple(NativeCall(c.name, c.arguments) for c in done.turn.calls)
        if self._needs_call and not calls:
            return self.refuse(reply, _NO_CALL)
        if not self._answers or self.tools is None:
            return done
        found = read_tool_answer(reply, calls, self._answers, self.tools, self._new_id())
        if found is None:
            return done
        failure = found.reading.failure or found.written
        if failure is None:
            calls_to_make = done.calls if found.calls is None else found.calls
            return replace(done, calls=calls_to_make, reading=found.reading)
        if found.written is not None and self.policy.may_make(str(failure.tool)):
            refused = (*done.refused, failure)
            return Done(done.turn, found.calls, "", refused, "made", found.reading)
        if failure.pattern not in self.policy.patterns:
            return done
        return self.refuse(reply, failure, words or found.words)

    def _gave_up(self, reply: Reply, failure: Failure, *, own: bool) -> GaveUp:
        said = said_last(reply, failure, decoded=self._constraining)
        # What somebody's own parser refuses is refused.
        stands = "" if own else standing(reply, failure, self.form)
        told = self._attempt, said, tuple(self.refused), reply.error
        return GaveUp(failure, *told, self._reading, stands)

    # -- asking again

    def _schema(self) -> Mapping[str, Any] | None:
        if not self._constraining:
            return None
        if self.wanted is not None:
            return value_schema(self.wanted)
        return action_schema(self.offered, answer=self._may_answer, ask_user=False)

    def _again(self, told: tuple[Message, ...], failure: Failure, words: str | None) -> Ask:
        retry = Retry(self._attempt, failure.pattern.value, failure.message, words)
        return Ask(told, self._attempt, self._schema(), retry)

    def _ask(self, reply: Reply, failure: Failure, words: str | None, *, show: bool) -> Ask:
        if words is None and self._gives_value:
            words = value_correction(failure, self.wanted)
        elif words is None:
            form: Form = "json" if self._constraining else self.form
            asked = {"question": self._question, "answer_label": self._answer_label}
            words = correction(failure, form, self.tools, **asked, may_answer=self._may_answer)
        self._last_words = words
        told = (*self._shown, *refused_messages(reply, failure, words))
        self._shown = told if show else (Message("user", words),)
        return self._again(self._shown, failure, words)
