"""What a hostile reviewer made run: each kind of text, and the nearest one that must still run."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import FailurePattern, ToolCall, read_response, read_turn


def _tool(name: str, *required: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    return {"name": name, "parameters": {"properties": properties, "required": list(required)}}


TOOLS = [
    _tool("delete_file", "path", path="string", recursive="boolean"),
    _tool("weather", "city", city="string", days="integer"),
    _tool("search", "query", query="string"),
    _tool("transfer", "amount", "to", amount="number", to="string"),
    _tool("run_shell", "command", command="string"),
]
DELETE = '{"name": "delete_file", "arguments": {"path": "/srv"}}'
WEATHER = '{"name": "weather", "arguments": {"city": "Oslo"}}'
CALL = ToolCall("delete_file", {"path": "/srv"})


def _calls(text: str) -> list[Any]:
    return [action for action in read_turn(text, tools=TOOLS).actions if action.type == "tool_call"]


@pytest.mark.parametrize(
    "text",
    [
        f"[DO NOT RUN]\n{DELETE}",
        f"<dont_run>{DELETE}</dont_run>",
        f"<dry_run>{DELETE}</dry_run>",
        f"<del>{DELETE}</del>",
        f"<declined_tool_call>{DELETE}</declined_tool_call>",
        '#delete_file(path="/srv")',
        '//delete_file(path="/srv")',
        '@delete_file(path="/srv")',
        f'{{"if_approved": {DELETE}}}',
        f'{{"dry_run": {DELETE}}}',
        f'{{"options": [{DELETE}, {WEATHER}]}}',
        "<rejected>\nAction: delete_file\nAction Input: /srv\n</rejected>",
        f"Action: None\nAction Input: {DELETE}",
    ],
)
def test_labels_and_wrappers_that_disclaim(text: str) -> None:
    """A label, key, tag or comment mark that says that something is not done keeps it from being."""
    assert _calls(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"[RUN]\n{DELETE}",
        f"<run>{DELETE}</run>",
        f'{{"todo": {DELETE}}}',
        f'{{"whatever": {DELETE}}}',
        f"# Cleaning up\n\n{DELETE}",
    ],
)
def test_labels_and_wrappers_that_do_not(text: str) -> None:
    """Other labels, keys and tags change nothing."""
    assert _calls(text) == [CALL]


@pytest.mark.parametrize(
    "after",
    [
        "I will skip this.",
        "I will discard it.",
        "I'll hold off until the backup is done.",
        "I'll ask the owner first.",
        "I will run it tomorrow.",
        "Let me reconsider.",
        "We'll do that next week.",
        "Hold on, that is the wrong folder.",
        "This call should be reviewed by an admin first.",
        "Waiting for the manager to sign off.",
        "This is for you to run.",
    ],
)
def test_what_is_said_after_a_call(after: str) -> None:
    """Who puts a call off, or hands it to somebody else, does not make it."""
    assert _calls(f"{DELETE}\n\n{after}") == []


@pytest.mark.parametrize(
    "after",
    [
        "Then I'll check the size.",
        "Once this is finished, I'll import the new files.",
        "Hold on, I'm deleting it.",
        "I'll tell you when it is done.",
        "That is all.",
        "Waiting for the result.",
    ],
)
def test_what_may_be_said_after_a_call(after: str) -> None:
    """What comes next, and how to wait for it, may be said."""
    assert _calls(f"{DELETE}\n\n{after}") == [CALL]


@pytest.mark.parametrize("between", ["No, wait.", "Corrected call:", "Use this one instead:"])
def test_a_call_that_another_one_replaces(between: str) -> None:
    """Two calls with a correction between them are not both meant."""
    text = f"<tool_call>\n{DELETE}\n</tool_call>\n{between}\n<tool_call>\n{WEATHER}\n</tool_call>"
    assert _calls(text) == []


@pytest.mark.parametrize(
    "given",
    [
        '{"path": "/srv"}, {"path": "/tmp"}',
        '{"path": "/srv"} except /srv/keep',
        '{"path": "/srv"} unless it is Sunday',
        '{"path": "/srv"}\n{"query": "y"}',
        "/srv\nOr maybe not.",
        "/srv\nWait, no.",
    ],
)
def test_an_input_that_goes_on(given: str) -> None:
    """What limits an input or takes it back is not dropped, and is no part of a path."""
    assert _calls(f"Thought: x\nAction: delete_file\nAction Input: {given}") == []


def test_what_may_stand_beside_an_input() -> None:
    """Words that limit nothing may, as LlamaIndex's own tests have it."""
    text = 'Thought: x\nAction: delete_file\nAction Input: {"path": "/srv"}, along those lines.'
    assert _calls(text) == [CALL]


def test_arguments_given_twice() -> None:
    """Values in parentheses and an input contradict each other; names only describe the tool."""
    given = 'Action Input: {"path": "/srv"}'
    assert _calls(f'Thought: x\nAction: delete_file("/etc")\n{given}') == []
    assert _calls(f"Thought: x\nAction: delete_file(path)\n{given}") == [CALL]


@pytest.mark.parametrize(
    "text",
    [
        "[delete_file(path=p)]",
        "[delete_file(path=result.path)]",
        "Action: delete_file(path=x)",
        '{"name": "weather", "arguments": {"city": user.city}}',
        'run_shell("rm " "x")',
        "Action: transfer\nAction Input: 1,000 to Bob",
    ],
)
def test_what_only_a_program_knows(text: str) -> None:
    """Variables, joined strings and numbers that a comma may part are no arguments."""
    assert _calls(text) == []


@pytest.mark.parametrize(
    "value",
    ["${path}", "{{search.output}}", "<result of step 1>", "[insert path here]", "PLACEHOLDER"],
)
def test_placeholders(value: str) -> None:
    """Slots of a template are not filled in; markup and brackets with other words are text."""
    text = f'{{"name": "delete_file", "arguments": {{"path": "{value}"}}}}'
    assert _calls(text) == []
    for kept in ("<tool_call>", "[old] notes", "{a, b}", "$HOME"):
        text = f'{{"name": "delete_file", "arguments": {{"path": "{kept}"}}}}'
        assert _calls(text) == [ToolCall("delete_file", {"path": kept})]


def test_nested_values_that_were_changed_are_repairs() -> None:
    """What is turned into another type, or read leniently, inside a value is told."""
    tool = {
        "name": "f",
        "parameters": {
            "properties": {
                "c": {"type": "array", "items": {"type": "integer"}},
                "d": {"type": "object", "properties": {"x": {"type": "integer"}}},
            }
        },
    }
    for text, fidelity in {
        '{"name": "f", "arguments": {"c": ["1", "2"]}}': "repaired",
        '{"name": "f", "arguments": {"d": {"x": "1"}}}': "repaired",
        '{"name": "f", "arguments": {"c": [1, 2]}}': "exact",
        '<invoke name="f"><parameter name="c">[1, 2,]</parameter></invoke>': "repaired",
        '<invoke name="f"><parameter name="c">[1, 2]</parameter></invoke>': "exact",
    }.items():
        assert read_turn(text, tools=[tool]).fidelity == fidelity


def test_truth_in_words() -> None:
    """A tool that takes a truth value is not given a word that counts as true."""
    text = '{"name": "delete_file", "arguments": {"path": "/srv", "recursive": "no"}}'
    assert _calls(text) == [ToolCall("delete_file", {"path": "/srv", "recursive": False})]


def test_a_call_in_the_text_beside_native_ones() -> None:
    """A second call that was written as text is not lost; an echo of the first is none."""
    native = [{"name": "weather", "args": {"city": "Oslo"}}]
    turn = read_response(f"<tool_call>{DELETE}</tool_call>", calls=native, tools=TOOLS)
    assert turn.failure is not None
    assert turn.failure.pattern is FailurePattern.TEXTUAL_CALL
    for said in (f"<tool_call>{WEATHER}</tool_call>", f"The page says:\n{DELETE}", "One moment."):
        assert read_response(said, calls=native, tools=TOOLS).failure is None
    assert read_response(f"<tool_call>{DELETE}</tool_call>", calls=native).failure is None


def test_native_arguments_with_other_keys() -> None:
    """Keys that are not text are told as unknown arguments."""
    turn = read_turn("", tools=TOOLS, native_calls=[{"name": "weather", "args": {1: 2}}])
    assert turn.failure is not None
    assert turn.failure.unknown == ("1",)
