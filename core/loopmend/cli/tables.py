"""What the commands print: rich draws it, and all foreign text in it is text and nothing else."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NoReturn

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loopmend._repr import written
from loopmend.cli.comparison import Change
from loopmend.cli.inputs import name_of
from loopmend.contracts.actions import AgentAction, AskUser, ToolCall
from loopmend.reading.turn import Turn
from loopmend.rendering.html import visible
from loopmend.rendering.runs import SEVERITIES, cut, run_data, step_data
from loopmend.rendering.tally import Count, Tally, counted, most
from loopmend.traces.readers.loading import Skipped
from loopmend.traces.report import TraceReport
from loopmend.traces.trace import Trace

__all__ = ["changes_table", "console", "run_view", "skipped_view", "tally_view", "turn_view"]

_TINTS: Final = {"error": "red", "warning": "yellow", "info": "dim"}
_VERDICTS: Final = {"answered": "green", "failed": "red", "unknown": "yellow"}
_WIDE: Final = 120
_SHORT: Final = 90
_FEW: Final = 5
_OPTIONS: Final = (
    "If you know how such runs end, say so: --max-iterations N is the cap, --finish CALL a call "
    "that answers, --handover CALL one that hands over."
)
HUNG_UP: Final = 141
"""The exit code if the output is closed early, as shells tell it of other programs."""


def hang_up() -> NoReturn:
    """End quietly: whoever read the output, such as `head`, has had enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left is flushed at the end
    raise SystemExit(HUNG_UP)


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        hang_up()


def console(*, stderr: bool = False) -> Console:
    """Return where to print; what is piped on is wide enough for a log."""
    made = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = _WIDE
    return made


def stop(message: str, code: int) -> NoReturn:
    """Say what is wrong, and end the command."""
    console(stderr=True).print(said(message, "red"))
    raise typer.Exit(code)


def said(text: object, style: str = "") -> Text:
    """Return a text as it is: no markup, no escapes."""
    return Text(visible(str(text)), style=style)


def _line(text: str, longest: int = _SHORT) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[:longest]}…"


def _folder(tally: Tally) -> str:
    """Return the folder that all examples are in, so that it need not be told each time."""
    counts = (*tally.verdicts.values(), *tally.findings.values())
    folders = [count.example["file"].split("/")[:-1] for count in counts]
    common = [names[0] for names in takewhile(_same, zip(*folders, strict=False))]
    return "".join(f"{name}/" for name in common)


def _same(names: Sequence[str]) -> bool:
    return len(set(names)) == 1


def _table(*headers: str, right: Sequence[int] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for number, header in enumerate(headers):
        last = number == len(headers) - 1
        justify: Any = "right" if number in right else "left"
        table.add_column(header, justify=justify, overflow="fold", ratio=1 if last else None)
    return table


def tally_view(tally: Tally) -> RenderableType:
    """Return the verdict on many runs, then a table of stop reasons and one of findings."""
    folder = _folder(tally)
    parts: list[RenderableType] = [said(tally.lead(), "bold"), Text()]
    stops = _table("stop reason", "runs", "share", "for example", right=(1, 2))
    for name, count in most(tally.stops):
        share = f"{count.runs / tally.runs:.0%}"
        stops.add_row(said(name), f"{count.runs:,}", share, _example(count, folder))
    parts += [stops] if tally.stops else []
    if tally.findings:
        found = _table("finding", "runs", *SEVERITIES, "proven", "recovered", "for example",
                       right=range(1, 7))  # fmt: skip
        for name, count in sorted(most(tally.findings), key=_severest):
            shares = [said(f"{count.severities.get(s, 0):,}", _TINTS[s]) for s in SEVERITIES]
            figures = (f"{count.proven:,}", f"{count.recovered:,}")
            found.add_row(said(name), f"{count.runs:,}", *shares, *figures, _example(count, folder))
        parts += [Text(), found]
    where = f" (files are in {folder})" if folder else ""
    open_ends = tally.stops.get("unknown")
    if open_ends is not None:
        hint = f"\n{counted(open_ends.runs, 'run')} ended without saying why. {_OPTIONS}"
        parts.append(said(hint, "dim"))
    return Group(
        *parts, said(f"\nloopmend show FILE --run N shows a run step by step{where}.", "dim")
    )


def _severest(pair: tuple[str, Count]) -> tuple[int, ...]:
    return tuple(-pair[1].severities.get(severity, 0) for severity in SEVERITIES)


def _example(count: Count, folder: str) -> Text:
    run = count.example
    place = f"{run['file'].removeprefix(folder)} --run {run['run']}"
    return Text.assemble(said(_line(count.said)), said(f" {place}", "dim"))


def skipped_view(skipped: Iterable[Skipped]) -> RenderableType:
    """Return what was not read, by reason, with a few places."""
    listed = list(skipped)
    places: dict[str, list[str]] = {}
    for each in listed:
        line = "" if each.line is None else f":{each.line}"
        places.setdefault(each.reason, []).append(f"{name_of(each.file or '-')}{line}")
    lines = [said(f"Not read: {counted(len(listed), 'part')}.", "yellow")]
    for reason, found in Counter({key: len(value) for key, value in places.items()}).most_common():
        few = ", ".join(places[reason][:_FEW]) + (" …" if found > _FEW else "")
        lines.append(said(f"  {counted(found, 'time')}: {_line(reason, 200)}: {few}"))
    return Group(*lines)


def run_view(
    trace: Trace, report: TraceReport, clean: Callable[[str], str] = str
) -> RenderableType:
    """Return a run step by step, with what was found where it was found."""
    run = run_data(trace, report, clean)
    tint = _VERDICTS.get(run["verdict"], "")
    parts: list[RenderableType] = [said(run["headline"], f"bold {tint}".strip())]
    facts = [run["framework"], run["id"], counted(run["steps"], "step")]
    facts += [counted(run["tokens"], "token")] if run["tokens"] else []
    parts.append(said(" · ".join(_line(str(fact)) for fact in facts if fact), "dim"))
    told = [(name, run[name]) for name in ("question", "answer") if run[name]]
    parts += [Text.assemble((f"{name}  ", "dim"), said(text)) for name, text in told]
    steps = step_data(trace)
    drawn = {step["number"] for step in steps}
    gap = next((step["number"] for step in steps if "skipped" in step), None)
    for step in steps:
        here = [each for each in run["findings"] if _at(each["step"], drawn, gap) == step["number"]]
        parts += _step(step, here)
    whole = [each for each in run["findings"] if _at(each["step"], drawn, gap) is None]
    parts += [Text(), *map(_finding, whole)] if whole else []
    parts += [] if run["findings"] else [Text(), said("No findings.", "dim")]
    return Group(*parts)


def _at(step: int | None, drawn: set[int], gap: int | None) -> int | None:
    """Return where a finding is shown; what lies in a gap, at the gap."""
    return step if step in drawn else None if step is None else gap


def _step(step: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    if "skipped" in step:
        head = said(f"\n… {counted(step['skipped'], 'step')} left out …", "dim")
        return [head, *map(_finding, found)]
    notes = [step.get("agent"), step.get("form")]
    notes += [f"repaired: {what}" for what in step.get("repairs", ())]
    head = said(f"\nstep {step['number'] + 1}", "bold")
    lines: list[RenderableType] = [
        Text.assemble(head, said("  " + " · ".join(filter(None, notes)), "dim"))
    ]
    plans = [f"plan: {plan['selected']}. {plan['why']}" for plan in step.get("plans", ())]
    lines += [_indented(said(plan, "dim")) for plan in plans]
    lines += [_indented(said(step["text"]))] if step.get("text") else []
    if step.get("failure"):
        lines.append(_indented(said(f"not read: {step['failure']}", "red")))
    for call in step.get("calls", ()):
        made = Text.assemble("→ ", said(call["name"], "cyan"), " ", said(call["arguments"]))
        lines.append(_indented(made))
    for result in step.get("results", ()):
        failed = result.get("failed", False)
        lines.append(_indented(said(f"← {result['text']}", "red" if failed else "dim")))
    if step.get("more"):
        lines.append(_indented(said(f"… {step['more']:,} more calls and results", "dim")))
    if step.get("error"):
        lines.append(_indented(said(f"error: {step['error']}", "red")))
    if step.get("answer"):
        lines.append(_indented(Text.assemble(("answer  ", "dim"), said(step["answer"]))))
    return [*lines, *map(_finding, found)]


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _finding(found: Mapping[str, Any]) -> Padding:
    notes = [found["certainty"], *(["recovered"] if found["recovered"] else [])]
    tint = _TINTS.get(found["severity"], "")
    return _indented(
        Text.assemble(
            said(f"! {found['severity']}: {found['kind']}", tint),
            said(f" ({', '.join(notes)}) {found['message']}"),
        )
    )


def changes_table(changes: Sequence[Change], confidence: float) -> RenderableType:
    """Return what rose and what fell."""
    table = _table(
        "", "", "before", "after", f"change, {confidence:.0%} interval", "", right=(2, 3)
    )
    styles = {"rose": "red", "fell": "green", "unclear": "dim"}
    for change in changes:
        (a, m), (b, n) = change.before, change.after
        low, high = (f"{100 * bound:+.1f}" for bound in change.interval)
        moved = 100 * ((b / n if n else 0) - (a / m if m else 0))
        style = styles[change.direction] if change.group == "finding" else "dim"
        table.add_row(
            said(change.group, "dim"),
            said(change.name),
            f"{a:,} of {m:,}",
            f"{b:,} of {n:,}",
            f"{moved:+.1f} points [{low}, {high}]",
            said(change.direction, style),
        )
    return table


def turn_view(text: str, turn: Turn) -> RenderableType:
    """Return what a reply asks for, and what the reader did to find out."""
    table = _table("", "")
    table.show_header = False
    table.add_row("form", said(turn.dialect or "plain text"))
    table.add_row("fidelity", said(turn.fidelity))
    for action in turn.actions:
        table.add_row(*_action(action))
    if turn.thought:
        table.add_row("thought", said(cut(turn.thought)))
    if turn.signal is not None:
        table.add_row("signal", said(cut(repr(turn.signal))))
    for repair in turn.repairs:
        table.add_row("repaired", said(f"{repair.what}, at {_quote(text, repair.span)}"))
    if turn.failure is not None:
        table.add_row(
            said("failure", "red"), said(f"{turn.failure.pattern.value}: {turn.failure.message}")
        )
        table.add_row("", said(f"at {_quote(text, turn.failure.span)}", "dim"))
        if turn.failure.nearest:
            table.add_row("nearest tool", said(turn.failure.nearest))
    return table


def _action(action: AgentAction) -> tuple[Text, Text]:
    if isinstance(action, ToolCall):
        return said("call"), said(f"{action.name} {cut(written(action.arguments))}")
    if isinstance(action, AskUser):
        return said("question"), said(cut(action.question))
    return said("answer"), said(cut(action.content))


def _quote(text: str, span: tuple[int, int]) -> str:
    """Return where something is, and what stands there."""
    start, stop = span
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    return f"line {line}, column {column}: {_line(text[start:stop], 60)!r}"
