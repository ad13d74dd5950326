"""The commands: each reads its arguments, asks the core, and prints or writes what came of it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from json import loads
from pathlib import Path
from typing import Annotated, Any, Optional

from loopmend._extras import require_extra

for _module in ("typer", "rich"):
    require_extra(_module, extra="cli", needed_by="loopmend")

import typer

from loopmend._version import __version__
from loopmend.cli.batches import batch
from loopmend.cli.collecting import FAILED, INTERRUPTED, NOTHING, WRONG, Collected
from loopmend.cli.comparison import changes
from loopmend.cli.gates import Gate, UnknownGate
from loopmend.cli.inputs import (
    STDIN,
    NotFound,
    files_of,
    name_of,
    overwritten,
    source_of,
    unknown_keys,
)
from loopmend.cli.options import (
    FailOn,
    Finish,
    Format,
    FormatOption,
    Handover,
    Jobs,
    MostSteps,
    NoRedact,
    Paths,
    Tools,
    file_option,
)
from loopmend.cli.outputs import outputs_of
from loopmend.cli.reading import Wanted, chosen
from loopmend.cli.tables import (
    changes_table,
    console,
    hang_up,
    run_view,
    said,
    skipped_view,
    stop,
    tally_view,
    turn_view,
)
from loopmend.rendering.html import visible
from loopmend.traces.readers.loading import load_traces
from loopmend.traces.redaction import Redactor, redact_secrets
from loopmend.traces.report import classify_trace

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Say why agents' runs failed, from recorded runs and without a model.",
    epilog="Exit codes: 0 success, 1 --fail-on matched, 2 wrong usage, 3 nothing could be read.",
)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,  # noqa: FBT002
) -> None:
    """Say why agents' runs failed, from recorded runs and without a model."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def _wanted(  # noqa: PLR0913 - as the commands take them
    format: Format | None,
    tools: list[str] | None,
    finish: list[str] | None,
    handover: list[str] | None,
    max_iterations: int | None,
    *,
    steps: bool = False,
    redact: bool = True,
) -> Wanted:
    options = {
        "tools": tools or None,
        "finish": tuple(finish or ()),
        "handover": tuple(handover or ()),
        "max_iterations": max_iterations,
    }
    return Wanted(None if format is None else format.value, options, steps, redact)


def _files(paths: list[str], odd: list[str]) -> list[str]:
    try:
        return files_of(paths, odd)
    except NotFound as error:
        stop(str(error), WRONG)


def _gate(names: list[str] | None) -> Gate:
    try:
        return Gate.of(names or ())
    except UnknownGate as error:
        stop(visible(str(error)), WRONG)


@app.command()
def triage(  # noqa: PLR0913, PLR0917 - a command has options
    paths: Paths,
    format: FormatOption = None,
    tool: Tools = None,
    finish: Finish = None,
    handover: Handover = None,
    max_iterations: MostSteps = None,
    json: Annotated[Optional[str], file_option("all runs as JSON")] = None,  # noqa: UP045
    jsonl: Annotated[Optional[str], file_option("one JSON line per run")] = None,  # noqa: UP045
    html: Annotated[Optional[str], file_option("the report page", "a file")] = None,  # noqa: UP045
    sarif: Annotated[Optional[str], file_option("findings as SARIF")] = None,  # noqa: UP045
    junit: Annotated[Optional[str], file_option("runs as JUnit test cases")] = None,  # noqa: UP045
    fail_on: FailOn = None,
    jobs: Jobs = None,
    no_redact: NoRedact = False,  # noqa: FBT002
) -> None:
    """Say why each run stopped and what went wrong."""
    odd: list[str] = []
    files, gate = _files(paths, odd), _gate(fail_on)
    if html == STDIN:
        stop("--html needs a file, not -", WRONG)
    written = [path for path in (json, jsonl, sarif, junit) if path is not None]
    if written.count(STDIN) > 1:
        stop("only one result can go to standard output", WRONG)
    lost = overwritten(files, [*written, *([] if html is None else [html])])
    if lost is not None:
        stop(f"{name_of(lost)} is also an input: write to another file", WRONG)
    steps, redact = html is not None, not no_redact
    wanted = _wanted(format, tool, finish, handover, max_iterations, steps=steps, redact=redact)
    # Without a gate, the cases of runs with errors fail: a file that says that all is well
    # because nobody asked would be worse.
    cases = gate if fail_on else Gate.of(["error"])
    others = f" and {len(paths) - 1} more" * (len(paths) > 1)
    title = f"Triage of {name_of(paths[0])}{others}"
    paths_out = {"json": json, "jsonl": jsonl, "sarif": sarif, "junit": junit, "html": html}
    try:
        with ExitStack() as stack:
            collected = Collected(outputs_of(stack, paths_out, cases, title), gate, odd)
            collected.read(files, wanted, jobs)
    except BrokenPipeError:
        hang_up()
    except OSError as error:
        stop(f"cannot write: {visible(str(error))}", WRONG)
    _print(collected, wanted.format, stderr=STDIN in written)
    if html is not None:
        console(stderr=True).print(said(f"The report page is in {visible(html)}.", "dim"))
    raise typer.Exit(collected.code)


def _print(collected: Collected, format: str | None, *, stderr: bool) -> None:
    out, tally = console(stderr=stderr), collected.tally
    if tally.runs:
        out.print(tally_view(tally))
    if collected.skipped:
        console(stderr=True).print(skipped_view(collected.skipped))
    if not collected.complete:
        console(stderr=True).print(said("Interrupted; this is the result so far.", "yellow"))
    elif not tally.runs:
        told = f": the input contains nothing in the format {format}" if format else ""
        console(stderr=True).print(said(f"No run could be read{told}.", "red"))


@app.command()
def show(  # noqa: PLR0913, PLR0917 - a command has options
    trace: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file with one or more runs, or - for standard input."
        ),
    ],
    run: Annotated[
        str, typer.Option(metavar="N", help="The run's number in the file, or its id.")
    ] = "1",
    format: FormatOption = None,
    tool: Tools = None,
    finish: Finish = None,
    handover: Handover = None,
    max_iterations: MostSteps = None,
    no_redact: NoRedact = False,  # noqa: FBT002
) -> None:
    """Show one run step by step, with its findings."""
    wanted = _wanted(format, tool, finish, handover, max_iterations)
    source: Any = source_of(trace)
    loaded = load_traces(source, wanted.format, **wanted.options)
    left = enumerate(loaded, 1)
    try:
        found = chosen(left, run)
        others = next(left, None) is not None
        report = None if found is None else classify_trace(found)
        found = found if found is None or no_redact else redact_secrets(found)
    except (OSError, ValueError) as error:
        stop(f"{name_of(trace)} cannot be read: {visible(str(error))}", WRONG)
    if found is None or report is None:
        if loaded.skipped:
            console(stderr=True).print(skipped_view(loaded.skipped))
        stop(f"There is no run {visible(run)} in {name_of(trace)}.", NOTHING)
    console().print(run_view(found, report, str if no_redact else Redactor().text))
    if others:
        console(stderr=True).print(said("The file contains more runs: use --run N.", "dim"))


@app.command()
def diff(  # noqa: PLR0913, PLR0917 - a command has options
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="The earlier runs: a file, folder or pattern.")
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The later runs.")],
    format: FormatOption = None,
    tool: Tools = None,
    finish: Finish = None,
    handover: Handover = None,
    max_iterations: MostSteps = None,
    confidence: Annotated[
        float,
        typer.Option(
            min=0.5,
            max=0.9999,
            metavar="SHARE",
            help="How sure a change must be to count, from 0.5 to 0.9999.",
        ),
    ] = 0.95,
    fail_on: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="rise", help="'rise': exit with 1 if errors or warnings rose."),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Compare two sets of runs: which findings became more frequent, which less."""
    if fail_on not in (None, "rise"):
        stop("--fail-on takes 'rise'", WRONG)
    wanted = _wanted(format, tool, finish, handover, max_iterations)
    both = []
    for path in (before, after):
        odd: list[str] = []
        files = _files([path], odd)
        both.append(side := Collected([], Gate(), odd))
        side.read(files, wanted, jobs)
        if not side.complete:
            stop("Interrupted.", INTERRUPTED)
        if side.skipped:
            console(stderr=True).print(skipped_view(side.skipped))
        if not side.tally.runs:
            stop(f"No run could be read from {name_of(path)}.", NOTHING)
    found = changes(both[0].tally, both[1].tally, confidence)
    out = console()
    for name, side in zip(("before", "after"), both, strict=True):
        out.print(said(f"{name}: {side.tally.lead()}", "bold"))
    out.print()
    out.print(changes_table(found, confidence))
    rose = any(change.direction == "rose" and change.group == "finding" for change in found)
    raise typer.Exit(FAILED if fail_on and rose else 0)


@app.command()
def read(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file with a model's reply, or - for standard input."
        ),
    ] = STDIN,
    tool: Tools = None,
    json: Annotated[bool, typer.Option("--json", help="Print the turn as JSON.")] = False,  # noqa: FBT002
) -> None:
    """Say what a model's reply asks for, and which repairs that took."""
    from loopmend.reading.reader import read_turn
    from loopmend.wire import to_json

    text = _text(file)
    if "\0" in text or text.startswith("\x1f\ufffd"):  # binary, or packed by gzip
        stop(f"{name_of(file)} is not text", WRONG)
    turn = read_turn(text, tools=tool or None)
    if json:
        typer.echo(to_json(turn))
    else:
        console().print(turn_view(text, turn))
    raise typer.Exit(FAILED if turn.failure is not None else 0)


@app.command()
def plan(
    state: Annotated[
        str,
        typer.Argument(
            metavar="STATE", help="A file with a TaskStateInput as JSON, or - for standard input."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,  # noqa: FBT002
) -> None:
    """Plan what an agent should do next."""
    from loopmend.contracts.task_input import TaskStateInput
    from loopmend.planning.explanation import explain
    from loopmend.planning.planner import Planner
    from loopmend.wire import from_json, to_data, to_json

    text = _text(state)
    try:
        known = from_json(TaskStateInput, text)
    except (TypeError, ValueError) as error:
        stop(f"{name_of(state)} is not a TaskStateInput: {visible(str(error))}", WRONG)
    unknown = ", ".join(unknown_keys(loads(text), to_data(known)))
    if unknown:
        stop(f"{name_of(state)} has unknown keys: {visible(unknown)}", WRONG)
    advised = Planner().advise(known)
    if json:
        typer.echo(to_json(advised))
    else:
        console().print(said(str(explain(advised))))


app.command()(batch)


def _text(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        stop(f"{name_of(file)} cannot be read: {error.strerror}", WRONG)
    return data.decode("utf-8", "replace")
