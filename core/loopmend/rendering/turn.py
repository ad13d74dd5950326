"""What the reader found in a model's text: by itself, or marked in the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from loopmend._arguments import not_text, wrong_type
from loopmend.contracts.actions import AgentAction, AskUser, ToolCall
from loopmend.reading.turn import Failure, Turn
from loopmend.rendering.html import Html, Markup, card, clipped, element, joined
from loopmend.rendering.marks import Mark, marked
from loopmend.rendering.pieces import LONGEST, call, chip, code, note, row, short, table

__all__ = ["failure_html", "html", "show_turn"]

_MOST: Final = 20
_MOST_MARKS: Final = 200
_FAILED: Final = "!"


def show_turn(text: str, turn: Turn) -> Html:
    """Show a text with its actions, repairs and failure marked in place.

    It shortens a huge text to the parts that matter. In a notebook, make this the last line of a
    cell; elsewhere `str` returns the HTML.

    Args:
        text: The model's reply.
        turn: The reader's turn for it.

    Raises:
        TypeError: An argument has the wrong type.

    >>> from loopmend import read_turn
    >>> text = "{'name': 'search', 'arguments': {}}"
    >>> shown = str(show_turn(text, read_turn(text)))
    >>> '<mark class="action repair">&#x27;name&#x27;</mark>' in shown
    True
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    if not isinstance(turn, Turn):
        raise wrong_type(turn, "turn", Turn)
    numbers = _numbered(turn)
    inside = marked(text, list(_marks(turn, numbers))) if text else note("The reply is empty.")
    # Browsers drop the first line break after the tag, whoever wrote it.
    shown = element("pre", Markup("\n"), inside)
    return Html(card(_head(turn), shown, _legend(turn, numbers), table(_rows(turn))))


def html(turn: Turn) -> Markup:
    """Return a turn as HTML, without the text that it was read from."""
    return card(_head(turn), table([*_rows(turn), *_repairs(turn)]))


def failure_html(failure: Failure) -> Markup:
    """Return why a turn failed, and what may have been meant."""
    nearest = f" The nearest tool is `{short(failure.nearest)}`." if failure.nearest else ""
    return element("span", clipped(failure.message, LONGEST), nearest, css="failed")


def _head(turn: Turn) -> Markup:
    chips = [chip(turn.dialect or "plain text")]
    if turn.failure is None or turn.actions:
        chips.append(chip(turn.fidelity, "good" if turn.fidelity == "exact" else "warn"))
    if turn.failure is not None:
        chips.append(chip(turn.failure.pattern, "bad"))
    return element("p", *chips)


def _rows(turn: Turn) -> Iterator[Markup]:
    if turn.failure is not None:
        yield row("failure", failure_html(turn.failure))
    for action in turn.actions[:_MOST]:
        yield row(*_action(action))
    if len(turn.actions) > _MOST:
        yield row("", note(f"… and {len(turn.actions) - _MOST:,} more"))
    if turn.thought:
        yield row("thought", clipped(turn.thought, LONGEST))
    if turn.signal is not None:
        yield row("signal", code(repr(turn.signal)))


def _action(action: AgentAction) -> tuple[str, Markup]:
    if isinstance(action, ToolCall):
        return "call", call(action.name, action.arguments)
    if isinstance(action, AskUser):
        return "question", clipped(action.question, LONGEST)
    return "answer", clipped(action.content, LONGEST)


def _repairs(turn: Turn) -> Iterator[Markup]:
    """Count the repairs of each kind; where they are, only the text can show."""
    counted = Counter(repair.what for repair in turn.repairs)
    if counted:
        shown = [_repair(*each) for each in list(counted.items())[:_MOST]]
        yield row("repairs", joined([*shown, *_others(len(counted) - len(shown))]))


def _repair(what: str, count: int) -> Markup:
    return chip(what if count == 1 else f"{short(what)}, {count:,} times", "warn")


def _others(left: int) -> list[Markup]:
    return [note(f"… and {left:,} other kinds")] if left else []


def _numbered(turn: Turn) -> dict[str, int]:
    """Number the kinds of repairs that are marked, in the order in which they come."""
    kinds = dict.fromkeys(repair.what for repair in turn.repairs[:_MOST_MARKS])
    return {what: number for number, what in enumerate(kinds, 1)}


def _marks(turn: Turn, numbers: Mapping[str, int]) -> Iterator[Mark]:
    # The failure first: of a huge text, what lies around the first few is shown.
    if turn.failure is not None:
        yield Mark("failure", turn.failure.span, _FAILED, turn.failure.message[:LONGEST])
    yield Mark("action", turn.span)
    for repair in turn.repairs[:_MOST_MARKS]:
        yield Mark("repair", repair.span, str(numbers[repair.what]), short(repair.what))


def _legend(turn: Turn, numbers: Mapping[str, int]) -> Markup:
    """Say what the marks mean."""
    hidden = () if turn.failure is None else turn.failure.span
    keys = [_key("action", "what was read")] if turn.span not in ((0, 0), hidden) else []
    if turn.failure is not None:
        keys.append(_key("failure", f"{_FAILED} {turn.failure.pattern}"))
    shown = list(numbers.items())[:_MOST]
    keys += [_key("repair", f"{number} {short(what)}") for what, number in shown]
    keys += _others(len(numbers) - len(shown))
    unmarked = len(turn.repairs) - _MOST_MARKS
    if unmarked > 0:
        keys.append(note(f"{unmarked:,} more repairs are not marked"))
    return element("p", *(piece for key in keys for piece in (key, " ")))


def _key(kind: str, text: str) -> Markup:
    return element("span", text, css=f"key {kind}")
