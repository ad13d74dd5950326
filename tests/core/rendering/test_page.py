"""The report page: what it holds, and what a real browser makes of it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from loopmend import Finding, Trace, TraceReport, classify_trace, read_turn
from loopmend.rendering import page, write_page
from loopmend.rendering.page import json_text
from loopmend.rendering.runs import run_data, step_data
from loopmend.traces import Observation, Step, Tokens, TraceCall, TraceError
from tests.core.rendering.browser import Tab, browser, needs_browser

INJECTIONS = (
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "<!--<script>window.pwned = 1//",
    "<img src=x onerror='window.pwned = 1'>",
    '"><svg onload=window.pwned=1>',
    "' onmouseover='window.pwned = 1",
    "javascript:window.pwned = 1",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=javascript:window.pwned=1'>",
    "<style>@import 'http://127.0.0.1:9/x.css';</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "${window.pwned = 1}`{{constructor.constructor('window.pwned = 1')()}}",
    "]]><!-- runs --><!-- lead -->\u2028\u2029\ud800\x00\x1b[2J\u202e",
    "__proto__",
    "constructor",
)


def report_of(*findings: Finding, trace: Trace | None = None) -> TraceReport:
    """Return a report with these findings."""
    made = classify_trace(Trace(answer="4") if trace is None else trace)
    return TraceReport(made.stop, made.termination, made.grammar, made.bound, findings)


def hostile(text: str) -> tuple[Trace, TraceReport]:
    """Return a run in which every field says the same."""
    turn = read_turn(f"Action: {text}\nAction Input: {{'q': '{text}',")
    step = Step(
        text,
        thought=text,
        calls=[TraceCall(text, {text: text}, text), TraceCall(text, text)],
        observations=[Observation(text, text, text, failed=True)],
        answer=text,
        turn=turn,
        error=TraceError(text, text, text),
        tokens=Tokens(1, 2),
        seconds=float("nan"),
        agent=text,
        id=text,
    )
    plans = [{"step": 0, "selected": text, "rationale": text}]
    trace = Trace([step, step], text, text, text, error=TraceError(text, text), framework=text,
                  id=text, tools=[text], metadata={text: text, "plans": plans})  # fmt: skip
    found = Finding(text, text, text, text, 0, text)  # type: ignore[arg-type]
    return trace, report_of(found, Finding(text, text, "error", "proven"), trace=trace)


class Elements(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.now = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.seen.append((tag, dict(attrs)))
        self.now = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        """Note that what comes now is outside."""
        self.now = f"after {tag}"

    def handle_data(self, data: str) -> None:
        """Note what an element holds."""
        self.inside[self.now] = self.inside.get(self.now, "") + data


def page_of(tmp_path: Path, runs: list[tuple[Trace | None, TraceReport]], title: str = "T") -> Path:
    """Write a page."""
    path = tmp_path / "page.html"
    write_page(path, runs, title=title)
    return path


def test_a_page_holds_its_runs(tmp_path: Path) -> None:
    """The verdict stands in the page itself; runs and steps are data that no browser runs."""
    trace = Trace.from_react_log("Where?\nThought 1: easy\nAction 1: Finish[4]")
    path = page_of(tmp_path, [(trace, classify_trace(trace)), (None, report_of())])
    parsed = Elements(path.read_text())
    assert parsed.inside["lead"] == "2 runs: 2 answered."
    runs = json.loads(parsed.inside["runs"])
    assert [(run["run"], run["verdict"], run["question"]) for run in runs] == [
        (1, "answered", "Where?"),
        (2, "answered", None),
    ]
    first, second, end = parsed.inside["steps"].split("\n")
    assert (json.loads(first)[0]["answer"], second, end) == ("4", "", "")
    assert list(tmp_path.iterdir()) == [path]


def test_the_policy_allows_our_script_and_style_alone(tmp_path: Path) -> None:
    """The hashes in the policy are those of what stands in the page, and nothing is loaded."""
    text = page_of(tmp_path, [(None, report_of())]).read_text()
    policy = (
        next(attrs["content"] for tag, attrs in Elements(text).seen if "http-equiv" in attrs) or ""
    )
    for name, start in (("script-src", "<script>"), ("style-src", "<style>")):
        inside = text.rpartition(start)[2].partition(start.replace("<", "</"))[0]
        hashed = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{name} 'sha256-{hashed}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert re.findall(r"""(?:src|href|action)\s*=|url\(|https?://""", text) == []


def test_no_element_comes_from_a_run(tmp_path: Path) -> None:
    """Whatever runs say, the page has the same elements, and its data can be read back."""
    plain = Elements(page_of(tmp_path, [hostile("x")]).read_text()).seen
    for text in INJECTIONS:
        parsed = Elements(page_of(tmp_path, [hostile(text)], text).read_text())
        assert [tag for tag, _ in parsed.seen] == [tag for tag, _ in plain]
        [run] = json.loads(parsed.inside["runs"])
        assert run["framework"] == run_data(*hostile(text))["framework"]


def test_a_page_holds_no_secrets(tmp_path: Path) -> None:
    """What looks like a secret is taken out of runs, steps and findings, unless you keep it."""
    secret = "sk-" + "abcdefghijklmnopqrstuvwxyz123456"
    step = Step(f"I use {secret}.", answer=f"It is {secret}.")
    trace = Trace([step], question=f"Use {secret}.", answer=f"It is {secret}.")
    report = report_of(Finding("k", f"{secret} is bad", "error", "proven", 0, secret), trace=trace)
    path = page_of(tmp_path, [(trace, report)])
    assert "abcdefghij" not in path.read_text()
    assert "[redacted]" in path.read_text()
    write_page(path, [(trace, report)], redact=None)
    assert path.read_text().count(secret) == 6
    report.to_html(path)
    assert "abcdefghij" not in path.read_text()


def test_a_page_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """A page is replaced when the new one is complete, and never before."""
    path = page_of(tmp_path, [(None, report_of())])
    before = path.read_text()

    def runs() -> Iterator[tuple[None, TraceReport]]:
        yield None, report_of()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_page(path, runs())
    assert (path.read_text(), list(tmp_path.iterdir())) == (before, [path])


def test_steps_are_left_out_of_a_page_that_grows_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs with errors keep their steps longer than those without."""
    monkeypatch.setattr(page, "_MOST", 600)
    trace = Trace([Step("x" * 80)])
    bad = report_of(Finding("cap", "It ended.", "error", "proven"))
    parsed = Elements(page_of(tmp_path, [(trace, report_of()), (trace, bad)] * 4).read_text())
    kept = [bool(line) for line in parsed.inside["steps"].split("\n")]
    assert kept == [True, True, False, True, False, True, False, False, False]


def test_a_report_writes_itself(tmp_path: Path) -> None:
    """`to_html` writes a page, `print` and `to_text` the same in words."""
    trace = Trace.from_react_log("Thought 1: x\nAction 1: Search[a]\nObservation 1: \x1b[2J no")
    found = Finding("tool_error", "It failed.\x1b", "warning", "proven", 1, "a\nb", recovered=True)
    report = report_of(Finding("x", "y", "info", "suspected", evidence="y"), found, trace=trace)
    report.to_html(tmp_path / "page.html")
    assert "It failed.\\u241b" in (tmp_path / "page.html").read_text()
    assert str(report) == report.to_text()
    assert report.to_text().splitlines()[1:] == [
        "Stop reason: unknown",
        "- warning, proven, recovered, step 2: tool_error",
        "    It failed.␛",
        "    | a",
        "    | b",
        "- info, suspected: x",
        "    y",
    ]
    assert classify_trace(Trace(answer="4")).to_text().endswith("\nNo findings.")
    unread = Trace(unreadable="otlp")
    assert "Stop reason" not in classify_trace(unread).to_text()


def test_steps_as_data() -> None:
    """Long runs keep their ends, long texts their beginnings, and what JSON cannot hold is left."""
    calls = [TraceCall("search", {"q": 1})] * 25
    steps = [Step("x" * 700, calls=calls, seconds=float("inf"))] * 60
    data = step_data(Trace(steps))
    assert [each["number"] for each in data[29:32]] == [29, 30, 40]
    assert data[30] == {"number": 30, "skipped": 10}
    assert data[0]["text"].endswith("x … 100 more characters")
    assert (len(data[0]["calls"]), data[0]["more"], "seconds" in data[0]) == (20, 5, False)
    noted: dict[str, Any] = {
        "plans": [{"step": 1, "selected": "Go", "rationale": "It is clear."}, 7]
    }
    planned = step_data(Trace([Step("a"), Step("b")], metadata=noted))
    assert planned[1]["plans"] == [{"selected": "Go", "why": "It is clear."}]
    assert "plans" not in planned[0]
    assert "plans" not in step_data(Trace([Step("a")], metadata={"plans": "odd"}))[0]
    repaired = step_data(
        Trace([Step(t := "Action: s\nAction Input: {'q': 1,}", turn=read_turn(t))])
    )
    assert repaired[0]["repairs"] == ["quotes", "trailing comma"]
    assert json_text(data).isascii()


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    """Return a tab of a real browser."""
    with browser() as opened:
        yield opened


@needs_browser
def test_the_browser_would_see_a_script_run(tab: Tab, tmp_path: Path) -> None:
    """The test below can fail: on a page without our care, injections do run."""
    path = tmp_path / "careless.html"
    path.write_text(f"<p>{INJECTIONS[0]}</p><p>{INJECTIONS[3]}</p>")
    tab.open(path)
    assert tab.run("window.pwned") == 1


@needs_browser
def test_no_script_of_a_run_is_run(tab: Tab, tmp_path: Path) -> None:
    """With injections in every field, each run opened: nothing runs, nothing is loaded."""
    runs = [hostile(text) for text in (*INJECTIONS, "".join(INJECTIONS))]
    tab.open(page_of(tmp_path, [*runs], "".join(INJECTIONS)))
    for _ in runs:
        assert tab.run("document.querySelectorAll('#run li').length") == 2
        tab.press("ArrowDown")
    tab.run("document.querySelectorAll('#kinds button, #stops button').forEach((b) => b.click())")
    tab.run("document.querySelectorAll('#run .found button').forEach((b) => b.click())")
    assert tab.run("window.pwned") is None
    assert tab.run("document.querySelectorAll('script').length") == 3
    assert tab.run("document.querySelectorAll('img, svg, iframe, link, object').length") == 0
    assert tab.happened("Page.javascriptDialogOpening") == []
    assert tab.happened("Runtime.exceptionThrown") == []
    assert tab.happened("Log.entryAdded") == []
    asked = {sent["request"]["url"] for sent in tab.happened("Network.requestWillBeSent")}
    assert {url.partition("#")[0] for url in asked} == {(tmp_path / "page.html").as_uri()}


@needs_browser
def test_the_policy_stops_what_escaping_would_miss(tab: Tab, tmp_path: Path) -> None:
    """Even a script of the page itself cannot make markup or handlers out of text."""
    tab.open(page_of(tmp_path, [(None, report_of())]))
    for act in ("body.innerHTML = '<b>'", "body.setAttribute('onclick', 'x')", "write('<b>')"):
        tried = f"(() => {{ try {{ document.{act} }} catch (error) {{ return error.name }} }})()"
        assert tab.run(tried) == "TypeError", act
    loaded = "new Promise((done) => { const made = new Image(); made.onerror = () => done('no'); "
    assert tab.run(f"{loaded} made.onload = () => done('yes'); made.src = 'data:,' }})") == "no"


def many(number: int) -> Iterator[tuple[Trace, TraceReport]]:
    """Return many runs, one in ten of which failed, in two ways."""
    for n in range(number):
        trace = Trace(
            [Step("", thought=f"thought {n}", calls=[TraceCall("search", {"q": n})],
                  observations=[Observation("nothing", "search")])] * 3,
            question=f"Question {n}", answer=None if n % 10 == 0 else "An answer.",
        )  # fmt: skip
        kind = "cap" if n % 20 else "tool_error"
        found = [] if n % 10 else [Finding(kind, "It failed.", "error", "proven", 1)]
        yield trace, report_of(*found, trace=trace)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page about 10,000 runs."""
    path = tmp_path_factory.mktemp("large") / "page.html"
    write_page(path, many(10_000))
    return path


@needs_browser
def test_filter_search_and_keyboard(tab: Tab, large: Path) -> None:
    """Bars filter, words search, keys move; the worst run is shown first."""
    tab.open(large)
    assert tab.text("#shown") == "10,000 runs"
    assert tab.text("#run dd") == "Question 0"
    tab.press("j")
    assert tab.text("#run dd") == "Question 10"
    tab.press("End")
    assert tab.text("#run dd") == "Question 9999"
    tab.press("Home")
    tab.press("/")
    assert tab.run("document.activeElement.id") == "search"
    for key in "question 4321":
        tab.press(key)
    tab.run("new Promise((done) => setTimeout(done, 200))")
    assert tab.text("#shown") == "2 of 10,000 runs"  # by its text, and by the number of a run
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "list"
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "run"
    tab.press("Escape")
    tab.press("/")
    tab.press("Escape")
    assert tab.text("#shown") == "10,000 runs"
    tab.run(
        "[...document.querySelectorAll('#kinds button')].find((b) => b.title === 'cap').click()"
    )
    assert tab.text("#shown") == "500 of 10,000 runs"
    assert tab.text("#run dd") == "Question 10"
    tab.run("document.getElementById('clear').click()")
    tab.run("document.getElementById('order').click()")
    tab.run("document.getElementById('list').focus()")
    tab.press("Home")
    tab.press("ArrowDown")
    assert tab.text("#run dd") == "Question 1"
    tab.run("document.getElementById('theme').click()")
    assert tab.run("document.documentElement.dataset.theme") in ("dark", "light")
    assert tab.happened("Runtime.exceptionThrown") == []


@needs_browser
def test_ten_thousand_runs_do_not_lag(tab: Tab, large: Path) -> None:
    """Only what can be seen is drawn, and a step of the keyboard or a filter is soon done."""
    tab.open(large)
    assert tab.run("document.querySelectorAll('.row').length") < 40
    timed = """(() => {
      const best = (act) => Math.min(...[1, 2, 3, 4, 5].map(() => {
        const start = performance.now(); act(); document.body.offsetHeight;
        return performance.now() - start }));
      const list = document.getElementById("list");
      const press = (key) =>
        list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      return { step: best(() => press("ArrowDown")),
               end: best(() => { press("End"); press("Home") }),
               filter: best(() => document.querySelector("#kinds button").click()) } })()"""
    taken: dict[str, Any] = tab.run(timed)
    # Measured: 4, 7 and 7 ms. A frame has 16 ms; the bounds leave room for a busy machine.
    assert taken["step"] < 50
    assert taken["end"] < 100
    assert taken["filter"] < 200


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(tab: Tab, large: Path, scheme: str) -> None:
    """All text has a contrast of at least 4.5 with what it stands on, in light and in dark."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    tab.send("Emulation.setEmulatedMedia", features=[feature])
    tab.open(large)
    worst = tab.run("""(() => {
      const parts = (text) => text.match(/[\\d.]+/g).map(Number);
      const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const [r, g, b, a] = parts(getComputedStyle(at).backgroundColor);
          if (a !== 0) return [r, g, b] }
        return [255, 255, 255] };
      const light = (rgb) => {
        const [r, g, b] = rgb.map(
          (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b };
      let worst = [99, ""];
      for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || !element.offsetParent || element.closest(".zero")) continue;
        const a = light(parts(getComputedStyle(element).color).slice(0, 3));
        const b = light(ground(element));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, element.className + ": " + element.textContent];
      }
      return worst })()""")
    assert worst[0] >= 4.5, worst
