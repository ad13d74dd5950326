"""`make live` judges, remembers, resumes and reports rightly; the model itself is not asked."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path

import httpx
import pytest

from live.arms import ARMS, COLUMNS, Arm, arms_for, run_task
from live.asking import Memory, Server
from live.prompts import react_examples, react_system
from live.record import Run, noted_tools, totals, wilson
from live.report import BEGIN, END, Results, figures, goals, summary, written
from live.store import RunStore, Setting, setting
from live.tasks import KINDS, TASKS, Call, Task
from live.tools import TOOLS, UNKNOWN, calculator

SETTING = Setting("a model", {"loopmend": "1"}, "0123")
LAMP = next(task for task in TASKS if task.question == "What is the price of the lamp?")


def _first(kind: str) -> Task:
    return next(task for task in TASKS if task.kind == kind)


def test_there_are_enough_tasks_of_each_class() -> None:
    """At least forty questions, all different, at least eight of each class."""
    assert len({task.question for task in TASKS}) == len(TASKS) >= 40
    assert min(Counter(task.kind for task in TASKS).values()) >= 8
    assert {task.kind for task in TASKS} == set(KINDS)


def test_each_kind_of_agent_is_compared() -> None:
    """The four agents are there, without and with loopmend."""
    names = " ".join(arm.name for arm in ARMS)
    for agent in ("AgentExecutor", "create_agent", "ReActAgent", "FunctionAgent"):
        assert agent in names
    assert all(tuple(arm.agents) == COLUMNS for arm in ARMS)


def test_a_server_of_ones_own_is_asked_by_each_agent_once() -> None:
    """It decodes calls in its own way, so that there are not two ways to compare."""
    assert [arm.name for arm in arms_for(foreign=True)] == [
        "AgentExecutor (ReAct)",
        "create_agent",
        "ReActAgent",
        "FunctionAgent",
    ]
    assert [arm.name for arm in arms_for("decoded")] == [_arm("decoded").name]
    assert arms_for() == list(ARMS)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question)
def test_each_task_can_be_done(task: Task) -> None:
    """The needed calls are on offer and known, and what they return holds the answer."""
    assert {call.tool for call in task.calls} <= set(task.group.tools)
    results = [call.result for call in task.calls]
    assert UNKNOWN not in results
    assert task.wrong_calls(task.calls) == 0
    if results:
        assert task.is_right_answer(f"It is {' and '.join(results)}.")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question)
def test_no_example_gives_an_answer_away(task: Task) -> None:
    """What the model is shown beforehand is never a right answer to a question that takes work."""
    answers = [example.answer for example in task.group.examples]
    right = [answer for answer in answers if task.is_right_answer(answer)]
    assert right == (["I cannot answer that with my tools."] if task.kind == "impossible" else [])


@pytest.mark.parametrize(
    ("kind", "answer", "right"),
    [
        ("single call", "It costs 34 dollars.", True),
        ("single call", "It costs 340 dollars.", False),
        ("single call", "It costs 34.5 dollars.", False),
        ("single call", "", False),
        ("parallel", "34 and 79 dollars.", True),
        ("parallel", "34 dollars.", False),
        ("parallel", "79 and 34 dollars.", False),
        ("parallel", "The chair costs 79 dollars, and the lamp costs 34.", True),
        ("parallel", "The lamp costs 79 dollars, and the chair costs 34.", False),
        ("parallel", "The sofa costs 34 dollars, and the bed costs 79.", False),
        ("no tool needed", "Small.", True),
        ("no tool needed", "It is little", True),
        ("no tool needed", "I cannot tell.", False),
        ("no tool needed", '<tool_call>{"name": "small"}', False),
        ("no tool needed", "Action: small", False),
        ("impossible", "I cannot tell.", True),
        ("impossible", "Sorry, I don't know that.", True),
        ("impossible", "I cannot be sure, but 42.", False),
        ("impossible", "Your teacher is old.", False),
        ("impossible", "", False),
    ],
)
def test_answers_are_judged(kind: str, answer: str, *, right: bool) -> None:
    """Words count on their own and with what they belong to, admissions without a figure."""
    assert _first(kind).is_right_answer(answer) is right


def test_a_call_made_twice_is_wrong_the_second_time() -> None:
    """Needed calls count once, in any notation; all others are wrong."""
    right, other = Call("get_price", " Lamp"), Call("get_price", "sofa")
    assert LAMP.wrong_calls([right]) == 0
    assert LAMP.wrong_calls([right, right, other]) == 2
    assert _first("impossible").wrong_calls([right]) == 1


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_never_raise(tool: str) -> None:
    """What a tool does not know is not found."""
    for text in ("", "?", "1 / 0", "9 ** 9", "(" * 200, "\0"):
        assert TOOLS[tool](text) == UNKNOWN


def test_the_calculator_calculates() -> None:
    """It knows the four operations and signs."""
    assert calculator("-(2 + 3) * 4 / 8 - 1") == "-3.5"


def test_the_tools_note_their_calls() -> None:
    """A run knows what was called, by position or by name."""
    run = Run(LAMP)
    tools = {tool.__name__: tool for tool in noted_tools(run)}
    assert tools["get_price"]("lamp") == tools["get_price"](item="lamp") == "34 dollars"
    assert run.calls == [Call("get_price", "lamp")] * 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'city'"):
        tools["get_price"](item="lamp", city="Oslo")


def test_both_frameworks_are_told_the_same_examples() -> None:
    """Only the word before the answer and the form of inputs differ."""
    plain = react_examples(LAMP, answer="Final Answer", as_json=False)
    as_json = react_examples(LAMP, answer="Answer", as_json=True)
    assert [said.role for said in plain] == [said.role for said in as_json]
    assert plain[1].content.endswith("Action Input: sofa")
    assert as_json[1].content.endswith('Action Input: {"item": "sofa"}')
    assert "get_price(item): Get the price" in react_system(LAMP, answer="Answer", as_json=True)


def test_intervals_hold_for_few_trials() -> None:
    """Wilson's interval stays within 0 and 1 and is wide where little is known."""
    assert wilson(0, 0) == (0.0, 1.0)
    assert [round(bound, 3) for bound in wilson(5, 10)] == [0.237, 0.763]
    assert wilson(0, 8)[0] == 0.0
    assert wilson(8, 8)[1] == 1.0


def _run(task: Task, answer: str, *, asked: int = 1, stopped: str = "final_answer") -> Run:
    return Run(task, answer, [Call("get_price", "lamp")], asked, stopped)


def test_totals_add_up() -> None:
    """Runs that raised are not completed, whatever they answered."""
    failed = _run(LAMP, "34", asked=4, stopped="max_iterations")
    failed.error = "ValueError: no"
    counted = totals([_run(LAMP, "34"), _run(LAMP, "35"), failed])
    assert (counted.tasks, counted.completed, counted.model_calls) == (3, 1, 6)
    assert counted.stop_reasons == {"final_answer": 2, "max_iterations": 1}


def test_words_of_the_model_are_told_from_ours() -> None:
    """An answer counts as the model's own if a reply holds it, whatever the space in it."""
    run = Run(LAMP, "It costs 34 dollars.", replies=["Answer: It  costs\n34 dollars."])
    assert totals([run, Run(LAMP, "I stopped: 34", replies=["34"])]).own_words == 1


def test_a_measurement_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Runs are found again in the same setting only, also behind a line that was cut off."""
    path = tmp_path / "kept" / "runs.jsonl"
    store = RunStore(path, SETTING)
    assert store.get("an agent", "native", LAMP) is None
    store.keep("an agent", "native", _run(LAMP, "34"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"within": {"mod')
    again = RunStore(path, SETTING)
    assert again.get("an agent", "native", LAMP) == _run(LAMP, "34")
    assert again.get("an agent", "loopmend", LAMP) is None
    again.keep("an agent", "loopmend", _run(LAMP, "35"))
    assert RunStore(path, SETTING).get("an agent", "loopmend", LAMP) == _run(LAMP, "35")
    other = Setting("another model", SETTING.versions, SETTING.code)
    assert RunStore(path, other).get("an agent", "native", LAMP) is None


def test_other_code_is_another_setting(tmp_path: Path) -> None:
    """Runs of an older state of the repository do not count."""
    (tmp_path / "core").mkdir()
    source = tmp_path / "core" / "module.py"
    source.write_text("one", encoding="utf-8")
    before = setting("a model", tmp_path)
    assert setting("a model", tmp_path) == before
    source.write_text("two", encoding="utf-8")
    assert setting("a model", tmp_path) != before


def _runs(right: tuple[str, ...], *, asked: int) -> list[Run]:
    """Return runs at all tasks, right for some classes of those that take calls."""
    results = {task: " and ".join(call.result for call in task.calls) for task in TASKS}
    return [_run(t, results[t] if t.kind in right else "Yes.", asked=asked) for t in TASKS]


def _results() -> Results:
    native = _runs(("single call", "two steps"), asked=1)
    mended = _runs(("single call", "parallel", "two steps"), asked=2)
    return {"an agent": {"native": native, "loopmend": mended}}


def test_goals_are_told_plainly() -> None:
    """What is not reached is said to be so."""
    assert [row[1:] for row in goals(_results())] == [
        ("yes", "1.50x"),
        ("yes", "none is"),
        ("yes", "none is"),
        ("no", "2.00x"),
    ]
    columns = _results()["an agent"]
    turned = {"an agent": {"native": columns["loopmend"], "loopmend": columns["native"]}}
    assert [row[1:] for row in goals(turned)] == [
        ("no", "0.67x"),
        ("no", "parallel"),
        ("no", "parallel with an agent"),
        ("yes", "0.50x"),
    ]
    assert goals({})[0][1:] == ("-", "nothing to compare with")


def test_the_report_holds_date_model_versions_and_all_tables() -> None:
    """Each kind of agent and each class has its line, with intervals and reasons."""
    page = figures(_results(), SETTING, date(2026, 11, 16))
    assert page.startswith("Measured on 2026-11-16 with a model; loopmend 1; code 0123.")
    assert "| an agent | 16/40 (26 to 55 %) | 24/40 (45 to 74 %) | 1.50 |" in page
    assert "| **all** | final_answer 40 | final_answer 40 |" in page
    assert all(f"| {kind} |" in page for kind in KINDS)
    assert "an agent" in summary(_results())


def test_what_is_written_by_hand_stays() -> None:
    """Only what stands between the markers is written anew."""
    first = written("# By hand\n", "one")
    assert first == f"# By hand\n{BEGIN}\n\none\n\n{END}\n"
    assert written(f"{first}More by hand.\n", "two") == (
        f"# By hand\n{BEGIN}\n\ntwo\n\n{END}\nMore by hand.\n"
    )


def _reply(text: str) -> dict[str, object]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def _served(replies: list[str], memory: Memory) -> tuple[Server, list[str]]:
    """Return a server with a script, and where it notes what reaches it."""
    reached: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        reached.append(json.loads(request.content)["messages"][-1]["content"])
        return httpx.Response(200, json=_reply(replies[len(reached) - 1]))

    server = Server("http://model/v1", "m", "e", memory, network=httpx.MockTransport(handle))
    return server, reached


def _call(id: str) -> dict[str, object]:
    function = {"name": "get_price", "arguments": '{"item": "lamp"}'}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": function}]}


def test_the_same_question_is_asked_once_and_counted_twice(tmp_path: Path) -> None:
    """Replies are remembered across processes by what the model sees, ids apart."""
    path = tmp_path / "replies.jsonl"
    server, reached = _served(["one", "two"], Memory(path))
    run = Run(LAMP)
    for id in ("a", "b"):
        body = {"messages": [{"role": "user", "content": "How much?"}, _call(id)]}
        server.client(run).post("/chat/completions", json=body)
    again, _ = _served([], Memory(path))
    again.client(run).post("/chat/completions", json=body)
    assert (run.model_calls, run.replies, len(reached)) == (3, ["one"] * 3, 1)


def test_what_prompts_share_is_read_once() -> None:
    """The model reads it before the first question, and goes back to it before each."""
    sent: list[tuple[int, bool | None]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        sent.append((len(body["messages"]), body.get("cache_prompt")))
        return httpx.Response(200, json=_reply("one"))

    network = httpx.MockTransport(handle)
    server = Server("http://model/v1", "m", "e", network=network, primes=True)
    system = {"role": "system", "content": "Be kind."}
    for task in TASKS[:2]:
        body = {"messages": [system, {"role": "user", "content": task.question}]}
        server.client(Run(task)).post("/chat/completions", json=body)
    assert sent == [(1, False), (1, True), (2, True), (1, True), (2, True)]
    server.client(Run(LAMP)).post("/chat/completions", json={"messages": [system]})
    assert sent[5:] == [(1, None)]


def test_an_error_of_the_server_is_not_remembered() -> None:
    """What failed is asked again."""
    answers = iter([httpx.Response(500), httpx.Response(200, json=_reply("one"))])
    network = httpx.MockTransport(lambda _: next(answers))
    server = Server("http://model/v1", "m", "e", network=network)
    body = {"messages": [{"role": "user", "content": "How much?"}]}
    codes = [
        server.client(Run(LAMP)).post("/chat/completions", json=body).status_code for _ in range(2)
    ]
    assert codes == [500, 200]


def _arm(name: str) -> Arm:
    return next(arm for arm in ARMS if name in arm.name)


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.filterwarnings("ignore:is_running called from within a step")
def test_an_agent_is_let_at_a_task() -> None:
    """A native ReActAgent answers with the tool, and everything about it is noted."""
    replies = [
        'Thought: I need it\nAction: get_price\nAction Input: {"item": "lamp"}',
        "Thought: I know the answer\nAnswer: 34 dollars.",
    ]
    server, reached = _served(replies, Memory())
    run = run_task(_arm("ReActAgent").agent("native"), server, LAMP)
    assert (run.completed, run.wrong_calls, run.model_calls) == (True, 0, 2)
    assert (run.stop_reason, run.error, run.answer) == ("final_answer", None, "34 dollars.")
    assert reached == [LAMP.question, "Observation: 34 dollars"]
    assert Run.from_data(json.loads(json.dumps(run.as_data()))) == run


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.filterwarnings("ignore:is_running called from within a step")
def test_what_an_agent_raises_is_a_result() -> None:
    """A run that ends in an exception is noted as any other."""
    reply = 'Thought: I need it\nAction: get_price\nAction Input: {"item": "sofa"}'
    server, _ = _served([reply] * 9, Memory())
    run = run_task(_arm("ReActAgent").agent("native"), server, LAMP)
    assert not run.completed
    assert run.stop_reason == "max_iterations"
    assert run.error is not None
    assert run.error.startswith("WorkflowRuntimeError: Max iterations")


def test_office_tasks_are_judged() -> None:
    """An answer is right if it holds what was asked and the tools that know it were called."""
    from live.office import TASKS as OFFICE
    from live.office import office_tools

    stapler = next(task for task in OFFICE if "stapler cost?" in task.question)
    assert stapler.is_right("It costs 12 euros.", ["price_of"])
    assert not stapler.is_right("It costs 12 euros.", [])
    assert not stapler.is_right("It costs 120 euros.", ["price_of"])
    called: list[str] = []
    tools = {tool.__name__: tool for tool in office_tools(called)}
    assert (tools["price_of"]("stapler"), called) == ("12 euros", ["price_of"])
    assert {name for task in OFFICE for name in task.calls} <= set(tools)
    assert len(OFFICE) == 20
