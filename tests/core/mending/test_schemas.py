"""The schema of actions, and a conversation under it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import action_schema
from loopmend.contracts import parse_action
from loopmend.mending import (
    Message,
    NativeCall,
    asks_to_see,
    constrained,
    is_protocol_error,
    refuses_schema,
)

TOOL = {
    "name": "book",
    "description": "Book a room.\nFor a day.",
    "parameters": {
        "type": "object",
        "properties": {
            "room": {"$ref": "#/$defs/Room"},
            "days": {"type": "array", "items": {"type": "string", "format": "date"}},
            "guests": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "note": {"allOf": [{"type": "string", "maxLength": 9}], "default": ""},
            "any": True,
            "tree": {"$ref": "#/$defs/Tree"},
            "open": {"type": "object", "required": ["x"]},
        },
        "required": ["room", "gone"],
        "$defs": {
            "Room": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}},
        },
    },
}


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the first tool's arguments."""
    found: dict[str, Any] = schema["anyOf"][0]["properties"]["arguments"]
    return found


def test_references_are_resolved_and_the_rest_is_left_out() -> None:
    """What decoders by grammar cannot take does not reach them."""
    found = arguments(action_schema([TOOL]))
    properties = found["properties"]
    assert properties["room"] == {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert properties["days"] == {"type": "array", "items": {"type": "string"}}
    assert properties["guests"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties["note"] == {"type": "string"}
    assert properties["any"] == {}
    assert properties["open"] == {"type": "object"}
    assert found["required"] == ["room"]
    assert "$ref" not in json.dumps(found)


def test_one_object_for_each_action() -> None:
    """A call of each tool, the answer, and the question if that is wanted."""
    kinds = [
        (a["properties"]["type"]["const"], a["properties"].get("name", {}).get("const"))
        for a in action_schema([TOOL, "bare"])["anyOf"]
    ]
    assert kinds == [
        ("tool_call", "book"),
        ("tool_call", "bare"),
        ("final", None),
        ("ask_user", None),
    ]
    assert arguments(action_schema(["bare"])) == {"type": "object"}
    assert len(action_schema(None, ask_user=False)["anyOf"]) == 1


def test_what_the_schema_allows_is_what_the_contract_reads() -> None:
    """The names of the fields are the contract's."""
    for action in action_schema([TOOL])["anyOf"]:
        example = {
            key: value.get("const", {} if key == "arguments" else "x")
            for key, value in action["properties"].items()
        }
        assert set(action["required"]) == set(example)
        assert parse_action(json.dumps(example)).type == example["type"]


def test_a_conversation_under_a_schema() -> None:
    """Tools by signature, calls as JSON, results in words."""
    calls = (NativeCall("book", {"room": {"n": 1}}, "1"), NativeCall("bare", {}, "2"))
    said = constrained(
        [
            Message("system", "Be kind."),
            Message("user", "Book it."),
            Message("assistant", "Well.", calls),
            Message("tool", "done", call_id="1"),
            Message("tool", "yes", call_id="2"),
            Message("assistant", "Booked."),
            Message("assistant", ""),
            Message("user", "Thanks."),
        ],
        [TOOL, "bare"],
    )
    assert [message.role for message in said] == [
        *("system", "user", "assistant", "user", "assistant", "user", "assistant", "user")
    ]
    assert said[0].content.startswith("Be kind.\n\nYou can call these tools:\n- book(room: any")
    assert "Book a room. For a day." in said[0].content
    assert "- bare\n" in said[0].content
    assert parse_action(said[2].content).type == "tool_call"
    assert said[3].content == "Result of book: done"
    assert said[6].content == "Booked."


def test_the_same_result_twice_asks_for_the_answer() -> None:
    """Once is not enough: then runs would end early."""
    call = (NativeCall("bare", {}, "1"),)
    again = (NativeCall("bare", {}, "2"),)
    asked = [
        Message("user", "Go."),
        Message("assistant", "", call),
        Message("tool", "x", call_id="1"),
    ]
    assert "already" not in constrained(asked, ["bare"])[-1].content
    asked += [Message("assistant", "", again), Message("tool", "x", call_id="2")]
    last = constrained(asked, ["bare"])[-1]
    assert (last.role, "answer from the results: Go." in last.content) == ("user", True)
    assert "tools" not in constrained([Message("user", "Go.")], None)[0].content


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (TypeError("unexpected keyword argument 'response_format'"), True),
        (NotImplementedError("takes no JSON schema"), True),
        (ValueError("something else"), False),
        (RuntimeError("response_format is not supported"), True),
        (ConnectionError("reset by peer"), False),
        (ConnectionError("upstream closed: invalid chunk format"), False),
        (ValueError("unsupported format: json"), True),
        (TypeError("got an unexpected keyword argument 'format'"), True),
        (type("GraphBubbleUp", (Exception,), {})("In which response_format?"), False),
    ],
)
def test_who_takes_no_schema(error: Exception, refused: bool) -> None:  # noqa: FBT001
    """Errors that speak of a schema, whatever their kind."""
    assert refuses_schema(error) is refused


def test_who_takes_no_schema_by_status() -> None:
    """A server that refuses the request, wherever the client says so."""
    for where in ("status_code", "code"):
        error = type("StatusError", (Exception,), {where: 422})("no")
        assert refuses_schema(error)
    held = type("Response", (), {"status_code": 400})()
    assert refuses_schema(type("HTTPStatusError", (Exception,), {"response": held})("no"))
    assert not refuses_schema(type("StatusError", (Exception,), {"status_code": 500})("no"))


def test_interrupts_are_no_protocol_errors() -> None:
    """LangGraph interrupts a run by an exception, whatever it says."""
    GraphBubbleUp = type("GraphBubbleUp", (Exception,), {})  # noqa: N806
    assert not is_protocol_error(GraphBubbleUp("error parsing tool call"))
    assert not is_protocol_error(ValueError("no"))


@pytest.mark.parametrize(
    "question",
    [
        "What would the JSON for delete_all be?",
        "What is the JSON for calling delete_all?",
        "What arguments does delete_all take?",
        "How would you call delete_all?",
        "Explain how `delete_all` would be invoked.",
        "Print the tool call but don't actually run it.",
        "Print the tool call that you would make.",
        "Montre-moi l'appel sans l'exécuter.",
        "不要执行，只给我看。",
        "Let me see the delete_all call first.",
        "Render the delete_all tool call as text.",
        "Wie sieht ein delete_all-Aufruf aus?",
        "Laat de search-aanroep zien.",
        "Pokaż JSON dla delete_all",
        "Näytä delete_all-kutsun JSON.",
        "मुझे delete_all का JSON दिखाओ",
        "أرني JSON لـ delete_all",
        "给我看delete_all的JSON",
        "x " * 9000 + "Do not run it.",
    ],
)
def test_who_asks_to_see(question: str) -> None:
    """In the words of several languages."""
    assert asks_to_see(question, ["delete_all", "search"])


@pytest.mark.parametrize(
    "question",
    [
        "Delete everything now.",
        "Give me the weather in Oslo as JSON.",
        "Give me arguments for and against nuclear power.",
        "What's the syntax of a loop in Rust?",
        "What is a function call?",
        "Give me a call tomorrow.",
        "I only want to know how many people live in Oslo.",
        "Clean up with delete_all.",
        "Search for how to call a taxi.",
        "What's the syntax of a loop in Rust? Search the web.",
        "Parse the JSON and search for Oslo.",
        "Search JSON files for errors.",
        "Call delete_all. JSON only, please.",
        "Read config.json and delete_all of it.",
        "Mach wie immer den Aufruf von delete_all.",
        "I see. Now delete_all.",
    ],
)
def test_who_asks_for_something_else(question: str) -> None:
    """Arguments, calls and JSON that are not those of a tool are only words."""
    assert not asks_to_see(question, ["delete_all", "search"])


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("book(room: 'str') -> 'str'\nBook a room.", "Book a room."),
        ("book(room: 'str') -> 'str'\n", "book(room: 'str') -> 'str'"),
        ("book(s) a room\nfor a night", "book(s) a room for a night"),
        ("Book a room.\nbook(room) does it.", "Book a room. book(room) does it."),
    ],
)
def test_a_signature_is_not_written_twice(description: str, shown: str) -> None:
    """LlamaIndex begins a description with the signature, which would push out what follows."""
    tool = {"name": "book", "description": description, "parameters": {"properties": {}}}
    told = constrained([Message("user", "Hi")], [tool])[0].content
    assert told.splitlines()[1] == f"- book(): {shown}"
