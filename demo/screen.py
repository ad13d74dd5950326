"""What the demo shows in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from demo.runs import FAILURES, QUESTION, Ran
from loopmend import Planner, explain
from loopmend.planning import observe_conversation

__all__ = ["Results", "show", "table"]

Results = Mapping[tuple[str, str], tuple[Ran, Ran]]
"""What came of each failure in each framework: without loopmend, and with it."""

_MARKS: Final = {"answered": ("✓ ", "green"), "stopped": ("■ ", "yellow"), "failed": ("✗ ", "red")}
_WORDS: Final = (
    "✓ the model answers; ■ loopmend ends the run with what was found; ✗ neither. final_answer: a "
    "reply of the model ended the run; max_iterations: its limit did; unknown: "
    "the record does not say, as the last reply is empty or only describes a call."
)
_LONGEST: Final = 72
_DRILLED: Final = ("LlamaIndex", "loop")


def show(console: Console, results: Results) -> None:
    """Show the table, one run in detail, what would be planned, and what to try next."""
    console.print(table(results))
    console.print(_sum(results), markup=False)
    _drill(console, results[_DRILLED][0])
    _plan(console)
    console.print(
        "\n[bold]Next:[/] notebooks/ to play with it, docs/quick-start.md for your own agent, "
        "`make live` for a real model."
    )


def table(results: Results) -> Table:
    """Return what the user gets to see in each run, side by side."""
    made = Table(title=f"“{QUESTION}” — what the user gets to see", title_justify="left")
    made.add_column("the model …")
    made.add_column("agent")
    made.add_column("without loopmend", max_width=_LONGEST, overflow="fold")
    made.add_column("with loopmend", max_width=_LONGEST, overflow="fold")
    for failure, what in FAILURES.items():
        sides = [key for key in results if key[1] == failure]
        for number, key in enumerate(sides):
            native, mended = results[key]
            made.add_row(
                what if number == 0 else "",
                key[0],
                _cell(native),
                _cell(mended),
                end_section=number == len(sides) - 1,
            )
    return made


def _cell(ran: Ran) -> Text:
    """Show what a run came to; an agent's words are shown as they are, never as markup."""
    mark = _MARKS[ran.end]
    said = _said(ran) or "(nothing)"
    return Text.assemble(mark, said, (f"\n  {ran.report.stop_reason.value}, {_times(ran)}", "dim"))


def _said(ran: Ran) -> str:
    """Cut what is long: an error at its end, but an answer in its middle."""
    said = ran.answer
    if len(said) <= _LONGEST:
        return said
    if ran.end == "failed":
        return f"{said[: _LONGEST - 1]}…"
    return f"{said[: _LONGEST // 2]} … {said[-_LONGEST // 2 :]}"


def _times(ran: Ran) -> str:
    return f"{ran.model_calls} model call{'s' * (ran.model_calls != 1)}"


def _sum(results: Results) -> str:
    native, mended = ([pair[way] for pair in results.values()] for way in (0, 1))
    return (
        f"{_WORDS}\nWithout loopmend: {_counted(native)}. With its defaults: {_counted(mended)}. "
        "The model is scripted, so that this shows what happens, not how often."
    )


def _counted(runs: Sequence[Ran]) -> str:
    ends = Counter(ran.end for ran in runs)
    calls = sum(ran.model_calls for ran in runs)
    told = ", ".join(f"{ends[end]} {end}" for end in _MARKS)
    return f"{told} of {len(runs)}, {calls} model calls"


def _drill(console: Console, ran: Ran) -> None:
    """Show what triage finds in the trace of one run."""
    agent, failure = _DRILLED
    console.print(
        f"\n[bold]Why did a run stop?[/] This is what triage finds in {agent}'s run without "
        f"loopmend whose model {FAILURES[failure]}:"
    )
    found = Table.grid(padding=(0, 2))
    for finding in ran.report.findings:
        found.add_row("", finding.severity, finding.kind, Text(finding.message))
    console.print(found)


def _plan(console: Console) -> None:
    """Show what is planned for a turn in which much goes wrong, without asking a model."""
    console.print(
        "\n[bold]What should happen next?[/] What the planner advises, without a model, if the "
        "last reply broke the protocol, the user asks for another agent and the provider is down:"
    )
    turn = observe_conversation(
        [QUESTION, "Ask the geographer."],
        tool_count=1,
        explicit_specialist_workflow=True,
        taskable_agent_count=1,
        fit_agent_count=1,
        fit_agent_names=["geographer"],
        provider_breaker_open=True,
        previous_turn_had_protocol_issues=True,
    )
    console.print(str(explain(Planner().advise(turn))), markup=False, highlight=False)
