"""What the commands print, write and return."""

from __future__ import annotations

import json
import os
import pty
import re
import runpy
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("typer")
from hypothesis import given
from rich.console import Console
from typer.testing import CliRunner

from loopmend import Trace, Turn, classify_trace, read_turn
from loopmend.cli import collecting
from loopmend.cli.app import app
from loopmend.cli.tables import console, run_view, turn_view
from loopmend.traces import Finding, Observation, Step, Tokens, TraceCall, TraceError
from loopmend.traces.report import TraceReport
from tests.core.cli.files import EVIL, span, talk, write_lines
from tests.core.rendering.test_escaping import hostile, traces, turns

LOG = "Where?\nThought 1: look\nAction 1: Search[Oslo]\nObservation 1: Could not find Oslo\n"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def run(*words: str, input: str | bytes | None = None) -> Any:
    """Run a command here."""
    return CliRunner().invoke(app, list(words), input=input)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with three runs in two files, and something else."""
    write_lines(tmp_path / "a.jsonl", [talk(), talk("Who?", None)])
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.log").write_text(LOG * 3)
    (tmp_path / "notes.md").write_text("no traces")
    (tmp_path / ".hidden.json").write_text("{}")
    return tmp_path


def test_triage_says_why_runs_stopped(files: Path) -> None:
    """The verdict comes first, then stop reasons and findings, each with an example."""
    done = run("triage", str(files), "--max-iterations", "3")
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    lead = "3 runs: 1 answered, 1 unknown, 1 failed. The most frequent error is no_final_answer,"
    assert lines[0] == f"{lead} in 1 run."
    assert re.search(r"max_iterations +1 +33% +Failed: .*b\.log --run 1", done.stdout, re.DOTALL)
    assert re.search(r"cap +1 +1 +0 +0 +1 +0 +No answer", done.stdout)
    assert f"(files are in {files}/)" in done.stdout.replace("\n", "").replace("  ", " ")
    assert "Not read: 1 part." in done.stderr
    assert f"{files}/a.jsonl:2" in done.stderr.replace("\n", "")


def test_paths_are_files_folders_patterns_and_the_pipe(files: Path) -> None:
    """Each file is read once, however often it is named; what names nothing is wrong usage."""
    both = run("triage", str(files / "*.jsonl"), str(files / "**" / "*.log"), str(files))
    assert both.stdout.startswith("3 runs:")
    piped = run("triage", "-", input=json.dumps(talk()))
    assert "(standard input) --run 1" in piped.stdout
    empty = files / "empty"
    empty.mkdir()
    for path, said in ((str(files / "nothing*"), "matches no file"), (str(empty), "no trace files"),
                       ("a\0b", "matches no file")):  # fmt: skip
        wrong = run("triage", path)
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert said in wrong.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["a.jsonl"], 0),
        (["a.jsonl", "--fail-on", "error"], 0),
        (["a.jsonl", "--fail-on", "warning"], 1),
        (["a.jsonl", "--fail-on", "info"], 1),
        (["a.jsonl", "--fail-on", "unknown"], 1),
        (["a.jsonl", "--fail-on", "skipped"], 1),
        (["deep", "--fail-on", "skipped", "--fail-on", "failed"], 0),
        (["deep", "--max-iterations", "3", "--fail-on", "failed"], 1),
        (["deep", "--max-iterations", "3", "--fail-on", "max_iterations"], 1),
        (["deep", "--max-iterations", "3", "--fail-on", "Max iterations, skipped"], 1),
        (["a.jsonl", "--fail-on", "eror"], 2),
        (["a.jsonl", "--format", "no such"], 2),
        (["a.jsonl", "--html", "-"], 2),
        (["a.jsonl", "--json", "-", "--jsonl", "-"], 2),
        (["a.jsonl", "--json", "no/such/folder"], 2),
        (["a.jsonl", "--html", "no/such/folder"], 2),
        (["notes.md"], 3),
        (["none.jsonl"], 2),
    ],
)
def test_exit_codes(
    files: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int
) -> None:
    """0 is fine, 1 is what was named, 2 is wrong usage, 3 is nothing read."""
    monkeypatch.chdir(files)
    assert run("triage", *words).exit_code == code


def test_all_outputs_tell_the_same_runs(files: Path) -> None:
    """JSON, lines, SARIF, JUnit and the page hold every run, and can be read back."""
    names = {kind: str(files / f"out.{kind}") for kind in ("json", "jsonl", "html", "sarif")}
    options = [word for kind, path in names.items() for word in (f"--{kind}", path)]
    done = run("triage", str(files / "a.jsonl"), *options, "--junit", "-", "--fail-on", "warning")
    assert done.stderr.startswith("2 runs:")
    whole = json.loads(Path(names["json"]).read_text())
    lines = [json.loads(line) for line in Path(names["jsonl"]).read_text().splitlines()]
    assert whole["runs"] == lines
    assert [(each["run"], each["verdict"]) for each in lines] == [(1, "answered"), (2, "unknown")]
    assert (whole["complete"], whole["skipped"][0]["line"]) == (True, 2)
    assert whole["summary"]["findings"]["tool_error"]["severities"] == {"warning": 1}
    sarif = json.loads(Path(names["sarif"]).read_text())
    results = sarif["runs"][0]["results"]
    assert len(results) == sum(len(each["findings"]) for each in lines)
    assert {each["ruleId"] for each in results} == {
        rule["id"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]
    }
    assert results[-1]["level"] == "note"
    suite = ET.fromstring(done.stdout)  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in suite.iter("testcase")] == [False, True]
    assert '"verdict":"answered"' in Path(names["html"]).read_text()


def test_outputs_without_runs_can_be_read(files: Path) -> None:
    """A file without a finding, or without a run, is still JSON, SARIF and JUnit."""
    (files / "fine.json").write_text(json.dumps({"messages": [{"role": "ai", "content": "4"}]}))
    for path, code in (("fine.json", 0), ("notes.md", 3)):
        for kind in ("json", "sarif", "junit"):
            done = run("triage", str(files / path), f"--{kind}", str(files / "out"))
            assert done.exit_code == code
            text = (files / "out").read_text()
            assert ET.fromstring(text) is not None if kind == "junit" else json.loads(text)  # noqa: S314


def evil_trace() -> Trace:
    """Return a run in which everything that can be text is hostile."""
    return Trace(
        [
            Step(
                EVIL,
                thought=EVIL,
                calls=[TraceCall(EVIL, {EVIL: EVIL})],
                observations=[Observation(EVIL, tool=EVIL, failed=True)],
                error=TraceError(EVIL, EVIL),
                agent=EVIL,
                turn=read_turn(f"Action: {EVIL}\nAction Input: {{'a': '{EVIL}',"),
            ),
            Step(EVIL, answer=EVIL, tokens=Tokens(1, 2)),
        ],
        question=EVIL,
        answer=EVIL,
        framework=EVIL,
        id=EVIL,
        error=TraceError(EVIL, EVIL),
        reason=EVIL,
        metadata={"plans": [{"step": 0, "selected": EVIL, "rationale": EVIL}]},
    )


def test_no_escape_reaches_a_terminal_or_a_file(tmp_path: Path) -> None:
    """Whatever a model writes, no command prints or writes a control character of it."""
    path = tmp_path / "\x1b[31mevil.jsonl"
    path.write_text(evil_trace().to_json() + "\n" + json.dumps({"odd": EVIL}))
    (tmp_path / "reply").write_text(f"Action: {EVIL}\nAction Input: {{'a': '{EVIL}',")
    (tmp_path / "state").write_text(json.dumps({"user_content": EVIL, "no": EVIL}))
    kinds = ("json", "jsonl", "sarif", "junit", "html")
    options = [word for kind in kinds for word in (f"--{kind}", str(tmp_path / kind))]
    done = [
        run("triage", str(path), *options),
        run("show", str(path)),
        run("show", str(path), "--run", EVIL),
        run("show", str(path), "--run", f"{EVIL}x"),
        run("diff", str(path), str(path)),
        run("read", str(tmp_path / "reply"), "--tool", EVIL),
        run("read", str(tmp_path / "reply"), "--json"),
        run("plan", str(tmp_path / "state")),
        run("triage", EVIL),
        run("triage", str(path), "--fail-on", EVIL),
        run("triage", str(path), "--json", str(tmp_path / EVIL / "x")),
    ]
    assert [each.exit_code for each in done] == [0, 0, 0, 3, 0, 1, 1, 2, 2, 2, 2]
    for each in done:
        assert CONTROLS.search(each.output) is None
    for kind in kinds:
        assert CONTROLS.search((tmp_path / kind).read_text()) is None
    assert "␛]0;gone" in done[1].stdout
    assert "[red]" in done[1].stdout
    assert "plan: ␛]0;gone" in done[1].stdout


@given(traces, turns, hostile)
def test_whatever_is_shown_is_only_shown(trace: Trace, turn: Turn, text: str) -> None:
    """No run and no turn has a control character left when it is printed."""
    for view in (run_view(trace, classify_trace(trace)), turn_view(text, turn)):
        assert CONTROLS.search(drawn(view)) is None


def test_show_puts_findings_where_they_are(files: Path) -> None:
    """Each step is followed by what was found in it; what no step shows comes last."""
    shown = run("show", str(files / "deep" / "b.log"), "--max-iterations", "3").stdout
    second, third = shown.index("step 2"), shown.index("step 3")
    assert second < shown.index("no_progress_loop") < third < shown.index("! error: cap")
    assert shown.startswith("Failed: No answer after 3 of 3 steps.")
    first, second = (run("show", str(files / "a.jsonl"), "--run", n) for n in "12")
    assert second.stdout.startswith("Unknown:")
    assert ["more runs" in each.stderr for each in (first, second)] == [True, False]
    assert "No findings." in run("show", "-", input=json.dumps(
        {"messages": [{"role": "ai", "content": "4"}]})).stdout  # fmt: skip


def test_show_says_what_is_missing(files: Path) -> None:
    """A run that is not there is told from a file that is not."""
    none = run("show", str(files / "a.jsonl"), "--run", "7")
    assert (none.exit_code, none.stdout) == (3, "")
    assert "There is no run 7 in" in none.stderr
    assert "Not read: 1 part." in none.stderr
    assert run("show", str(files / "deep" / "b.log"), "--run", "7").exit_code == 3
    missing = run("show", str(files / "none"))
    assert (missing.exit_code, "cannot be read" in missing.stderr) == (2, True)


def drawn(view: Any) -> str:
    """Return what is printed."""
    console = Console(width=100, file=None, markup=False)
    with console.capture() as captured:
        console.print(view)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_a_long_run_is_shown_with_a_gap() -> None:
    """Of a long run the ends are shown; what was found in between stands at the gap."""
    calls = [TraceCall(f"t{n}") for n in range(25)]
    steps = [Step(f"step {n}", calls=calls) for n in range(99)]
    report = classify_trace(Trace(answer="4"))
    found = [Finding("cap", "At the gap.", "error", "proven", n) for n in (0, 50, 98)]
    report = TraceReport(report.stop, report.termination, report.grammar, report.bound,
                         (*found, Finding("x", "Of all.", "odd", "proven", recovered=True)))  # type: ignore[arg-type] # fmt: skip
    shown = drawn(run_view(Trace(steps, answer="4"), report))
    assert "… 49 steps left out …\n  ! error: cap (proven) At the gap.\n" in shown
    assert "step 50\n" not in shown
    assert shown.count("At the gap.") == 3
    assert "… 5 more calls and results" in shown
    assert shown.rstrip().endswith("! odd: x (proven, recovered) Of all.")


def test_diff_names_what_rose(tmp_path: Path) -> None:
    """A rise that chance does not explain is named, and can fail a build."""
    before = write_lines(tmp_path / "before.jsonl", [talk()] * 40)
    after = write_lines(tmp_path / "after.jsonl", [talk(answer=None)] * 40)
    done = run("diff", before, after)
    assert done.exit_code == 0
    assert re.search(r"finding +tool_error +0 of 40 +40 of 40 .* rose", done.stdout)
    assert re.search(r"information +no_final_answer +0 of 40 +40 of 40 .* rose", done.stdout)
    assert "change, 95% interval" in done.stdout
    assert run("diff", before, after, "--fail-on", "rise").exit_code == 1
    assert run("diff", after, before, "--fail-on", "rise").exit_code == 0
    assert run("diff", before, before, "--fail-on", "fall").exit_code == 2


def test_diff_needs_runs_on_both_sides(files: Path) -> None:
    """Nothing on one side is no comparison."""
    assert run("diff", str(files / "deep"), str(files / "deep")).exit_code == 0
    done = run("diff", str(files / "a.jsonl"), str(files / "notes.md"))
    assert done.exit_code == 3
    assert "No run could be read from" in done.stderr


def test_read_explains_a_turn() -> None:
    """The call, the repairs with their places, and the failure, as text or as JSON."""
    done = run("read", "--tool", "search", input="Action: search\nAction Input: {'q': 1,}")
    assert done.exit_code == 0
    assert 'search {"q": 1}' in done.stdout
    assert "quotes, at line 2, column 16: \"'q'\"" in done.stdout
    failed = run("read", "--tool", "search", input="Action: serch\nAction Input: x")
    assert failed.exit_code == 1
    assert re.search(r"nearest tool +search", failed.stdout)
    told = json.loads(run("read", "--json", input="It is 4.").stdout)
    assert told["actions"] == [{"content": "It is 4.", "type": "final"}]
    assert run("read", "no such file").exit_code == 2


def test_turns_of_every_kind() -> None:
    """Thoughts, questions and signals have their lines, too."""
    asked = '{"type": "ask_user", "question": "Which?"}'
    assert re.search(r"question +Which\?", drawn(turn_view(asked, read_turn(asked))))
    thought = "Thought: hm\nFinal Answer: I am stuck. <stuck/>"
    shown = drawn(turn_view(thought, read_turn(thought)))
    assert re.search(r"thought +hm", shown)
    unsure = "I'm not sure whether this is right."
    turn = read_turn(unsure)
    assert ("signal" in drawn(turn_view(unsure, turn))) == (turn.signal is not None)


def test_plan_says_what_is_next(tmp_path: Path) -> None:
    """The plan in words and a table, or as JSON; what is no state is wrong usage."""
    state = tmp_path / "state.json"
    state.write_text('{"user_content": "hello"}')
    assert "AnswerDirectly" in run("plan", str(state)).stdout
    told = json.loads(run("plan", "-", "--json", input=state.read_text()).stdout)
    assert told["contract"]["selected"] == "AnswerDirectly"
    for text in ("{", "[]", "{}", "[" * 500):
        assert run("plan", "-", input=text).exit_code == 2


def test_version_and_help() -> None:
    """The version is one word; without a command, the help says what there is."""
    assert re.fullmatch(r"\d+\.\d+\S*\n", run("--version").stdout)
    assert "Exit codes: 0 success" in run("--help").output
    assert "triage" in run().output


def test_ctrl_c_keeps_what_is_finished(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and table hold the runs that were read before somebody pressed Ctrl-C."""
    from loopmend.cli.pool import stream as real

    def pressed(*given: Any, **options: Any) -> Any:
        yield next(iter(real(*given, **options)))
        raise KeyboardInterrupt

    monkeypatch.setattr(collecting, "stream", pressed)
    out = files / "out.json"
    done = run("triage", str(files / "a.jsonl"), "--json", str(out))
    assert done.exit_code == 130
    assert done.stdout.startswith("1 run: 1 answered.")
    assert "Interrupted" in done.stderr
    assert (len((told := json.loads(out.read_text()))["runs"]), told["complete"]) == (1, False)
    assert run("diff", str(files / "a.jsonl"), str(files)).exit_code == 130


def drain(terminal: int) -> None:
    """Read what a terminal shows, as it would do itself, until it is gone."""
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and terminals of Unix")
def test_a_real_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal with several processes, Ctrl-C ends the command soon and keeps the runs."""
    file = write_lines(tmp_path / "long.jsonl", [talk(f"Question {n}") for n in range(25_000)])
    out = tmp_path / "out.jsonl"
    words = [sys.executable, "-m", "loopmend", "triage", file, "--jobs", "2", "--jsonl", str(out)]
    head, tail = pty.openpty()
    process = subprocess.Popen(
        words, stdin=tail, stdout=subprocess.PIPE, stderr=tail, start_new_session=True
    )
    os.close(tail)
    Thread(target=drain, args=(head,), daemon=True).start()
    try:
        deadline = time.monotonic() + 120
        while not (out.exists() and out.stat().st_size) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        printed = process.communicate(timeout=120)[0].decode()
    finally:
        process.kill()
        os.close(head)
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert process.returncode in (130, 0)  # 0 if it was faster than we are
    assert printed.startswith(f"{len(kept):,} run")
    assert [each["run"] for each in kept] == list(range(1, len(kept) + 1))


def test_ctrl_c_waits_for_the_run_in_hand() -> None:
    """Pressed while a run is taken, Ctrl-C comes after it; in another thread, nothing is caught."""
    with collecting._CtrlC() as ctrl_c:
        taken = []
        with suppress(KeyboardInterrupt):
            with ctrl_c.taking():
                os.kill(os.getpid(), signal.SIGINT)
                taken.append("the run in hand")
            taken.append("another one")
        assert taken == ["the run in hand"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def elsewhere() -> None:
        with collecting._CtrlC():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_a_missing_extra_is_one_sentence(module: str) -> None:
    """Without the extra, the command names it and nothing else."""
    code = f"import sys; sys.modules[{module!r}] = None; from loopmend.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"`loopmend` needs `{module}`, which is not installed. It comes with the extra `cli`: "
        'pip install "loopmend[cli]", or ".[cli]" in a clone\n'
    )


def test_a_missing_extra_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence goes where error messages go, with a code that is not 0."""
    from loopmend.cli import main

    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "loopmend.cli.app")
    with pytest.raises(SystemExit, match=r'pip install "loopmend\[cli\]"'):
        main()


def test_a_terminal_is_as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped on is 120 wide; a terminal keeps its own width."""
    from loopmend.cli.tables import console

    assert console().width == 120
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "77")
    assert console().width == 77


def test_a_terminal_shows_how_far_it_is(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar goes by; what is piped on has none."""
    assert "reading" not in run("triage", str(files)).stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "reading" in run("triage", str(files)).stderr


def test_the_command_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The console script and `python -m loopmend` lead here."""
    from loopmend.cli import main

    monkeypatch.setattr(sys, "argv", ["loopmend", "--version"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in (None, 0)
    assert capsys.readouterr().out.count("\n") == 1
    for name in ("__main__", "loopmend.__main__"):
        monkeypatch.delitem(sys.modules, "loopmend.__main__", raising=False)
        with suppress(SystemExit):
            runpy.run_module("loopmend", run_name=name)
        assert capsys.readouterr().out.count("\n") == (name == "__main__")


def test_spans_of_one_run_are_one_run(tmp_path: Path) -> None:
    """Rows that are far apart are counted as the run that they belong to."""
    rows = [span("t", n + 1) for n in range(5)] + [span("t", 0, "AGENT")]
    done = run("triage", write_lines(tmp_path / "spans.jsonl", rows), "--jsonl", "-")
    assert [json.loads(line)["steps"] for line in done.stdout.splitlines()] == [5]


KEPT_BACK = "**Password:** hunter2"


@pytest.mark.parametrize("kind", ["json", "jsonl", "sarif", "junit", "html"])
def test_an_output_never_overwrites_an_input(files: Path, kind: str) -> None:
    """By its own name, through a link or as a hard link, what is read is not written to."""
    source = files / "a.jsonl"
    before = source.read_bytes()
    (files / "link.jsonl").symlink_to(source)
    (files / "hard.out").hardlink_to(source)
    for name in ("a.jsonl", "deep/../a.jsonl", "link.jsonl", "hard.out"):
        done = run("triage", str(source), f"--{kind}", str(files / name))
        assert (done.exit_code, source.read_bytes()) == (2, before)
        assert "is also an input" in " ".join(done.stderr.split())
    assert run("triage", str(source), f"--{kind}", str(files / "new.out")).exit_code == 0


@pytest.mark.parametrize("kind", ["json", "jsonl", "sarif", "junit", "html"])
def test_reports_are_redacted_and_private(tmp_path: Path, kind: str) -> None:
    """No secret reaches a report unless it is asked for, and the file is its owner's alone."""
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    write_lines(source, [talk(KEPT_BACK, None)])
    for words, found in (([], False), (["--no-redact"], True)):
        out.write_text("")
        out.chmod(0o644)  # one that was there was open to all
        run("triage", str(source), f"--{kind}", str(out), *words)
        assert out.stat().st_mode & 0o777 == 0o600
        assert ("hunter2" in out.read_text()) is (found and kind != "sarif")
        assert ("hunter2" in run("show", str(source), *words).stdout) is found


def test_a_page_is_titled_by_what_was_asked_for(files: Path) -> None:
    """The first of several paths stands for them all, and their number is told."""
    out = files / "page.html"
    for others, told in (([], ""), ([str(files / "deep")], " and 1 more")):
        run("triage", str(files / "a.jsonl"), *others, "--html", str(out))
        assert f"<title>Triage of {files / 'a.jsonl'}{told}</title>" in out.read_text()


def test_an_output_may_be_a_pipe(files: Path) -> None:
    """What is there and no file, such as a device, is written to as it is."""
    assert run("triage", str(files / "a.jsonl"), "--json", os.devnull).exit_code == 0


def test_pipes_in_a_folder_are_passed_over(files: Path) -> None:
    """A pipe in a folder cannot hang the command; it is named with the reason."""
    os.mkfifo(files / "pipe.json")
    done = run("triage", str(files))
    assert done.stdout.startswith("3 runs:")
    assert "1 time: is not a regular file" in done.stderr
    alone = files / "alone"
    alone.mkdir()
    os.mkfifo(alone / "pipe.json")
    assert run("triage", str(alone)).exit_code == 2
    assert run("diff", str(files / "a.jsonl"), str(files)).exit_code == 0


def test_a_number_is_taken_before_an_id(tmp_path: Path) -> None:
    """`show --run 2` shows the second run, even if the first has the id 2; an id comes after."""
    traces = [
        Trace(id="2", answer="first"),
        Trace(id="7", answer="second"),
        Trace(id="x", answer="third"),
    ]
    (tmp_path / "a.jsonl").write_text("".join(f"{trace.to_json()}\n" for trace in traces))
    for name, answer in (("2", "second"), ("7", "second"), ("x", "third"), ("1", "first")):
        assert answer in run("show", str(tmp_path / "a.jsonl"), "--run", name).stdout


def test_unknown_keys_of_a_state_are_named() -> None:
    """A misspelled key is wrong usage, not silently left out."""
    done = run("plan", "-", input='{"user_content": "Hi", "turns": 3, "retrieval": null}')
    assert (done.exit_code, "turns" in done.stderr) == (2, True)
    assert run("plan", "-", input='{"user_content": "Hi"}').exit_code == 0


def test_a_wrong_format_is_named(files: Path) -> None:
    """Who names the wrong format is told that nothing has it."""
    chat = files / "chat.json"
    chat.write_text(json.dumps({"messages": [{"role": "user", "content": "x"}]}))
    done = run("triage", str(chat), "--format", "otlp")
    assert (done.exit_code, "nothing in the format otlp" in done.stderr) == (3, True)


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\x08abc", b"\x89PNG\x00"])
def test_what_is_not_text_is_not_read(data: bytes) -> None:
    """A packed or binary file is no reply; bytes that are not UTF-8 alone do not matter."""
    done = run("read", "-", input=data)
    assert (done.exit_code, "is not text" in done.stderr) == (2, True)
    assert run("read", "-", input=b"caf\xe9").exit_code == 0


@pytest.mark.parametrize("words", [["--jsonl", "-"], []])
def test_a_closed_output_ends_quietly(files: Path, words: list[str]) -> None:
    """After `| head -1` nothing is complained about, and the code is that of other programs."""
    command = [sys.executable, "-m", "loopmend", "triage", str(files / "a.jsonl"), *words]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.returncode == 141
    assert b"pipe" not in done.stderr.lower()


def test_steps_too_deep_to_be_redacted_are_left_out(tmp_path: Path) -> None:
    """A run that cannot be redacted is counted, and none of its steps is shown."""
    deep: Any = "hunter2"
    for _ in range(140):
        deep = [deep]
    calls = [{"function": {"name": "f", "arguments": {"password": deep}}}]
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": calls}]
    (tmp_path / "a.json").write_text(json.dumps({"messages": chat}))
    done = run("triage", str(tmp_path / "a.json"), "--html", str(tmp_path / "out"))
    assert done.stdout.startswith("1 run:")
    assert "The report page is in" in done.stderr
    assert "hunter2" not in (tmp_path / "out").read_text()
    assert run("show", str(tmp_path / "a.json")).exit_code == 2


def test_hanging_up_takes_the_place_of_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left to flush goes nowhere, whether rich or a file met the closed pipe."""
    put: list[int] = []

    def dup2(old: int, new: int) -> None:
        os.close(old)
        put.append(new)

    def closed(*_: object) -> None:
        raise BrokenPipeError

    with monkeypatch.context() as patch:  # pytest itself needs the real one afterwards
        patch.setattr(os, "dup2", dup2)
        patch.setattr(collecting.Collected, "read", closed)
        code = run("triage", "-", input="").exit_code
        with pytest.raises(SystemExit, match="141"):
            console().on_broken_pipe()
    assert (code, put) == (141, [1, 1])


def test_batch_classifies_span_rows(tmp_path: Path) -> None:
    """Rows of Parquet become reports, slice by slice; what is wrong is said in a sentence."""
    daft = pytest.importorskip("daft")
    rows = [{"trace_id": f"t{n % 3}", "span_id": str(n), "attributes": "{}"} for n in range(6)]
    daft.from_pylist(rows).write_parquet(str(tmp_path / "spans"))
    words = ("batch", str(tmp_path / "spans" / "*.parquet"), "--out", str(tmp_path / "out"))
    done = run(*words, "--slices", "2")
    assert (done.exit_code, done.stdout[:26]) == (0, "Classified 2 of 2 slices i")
    again = " ".join(run(*words, "--slices", "2").stdout.split())
    assert "Classified 0 of 2 slices" in again
    assert again.endswith("2 were already finished.")
    wrong = run(*words, "--trace-id", "nothing")
    assert wrong.exit_code == 2
    assert "no column holds the trace id" in wrong.stderr


def test_open_ends_come_with_a_hint(tmp_path: Path) -> None:
    """Who has runs that do not say how they ended learns which options tell it."""
    path = write_lines(tmp_path / "a.jsonl", [talk()])
    assert "--max-iterations" not in run("triage", str(path)).output
    (tmp_path / "b.log").write_text(LOG)
    assert "1 run ended without saying why." in run("triage", str(tmp_path)).output
