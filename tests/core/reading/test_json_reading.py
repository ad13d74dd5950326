"""Replies to values: what is read, what is refused, and what is said about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import FailurePattern, JsonReading, ReadingConfig, read_json
from loopmend.reading.rewriting import rewritten_value

P = FailurePattern
SALVAGE = ReadingConfig(salvage=True)
CITY = '{"name": "Oslo", "people": 717710}'
OSLO = {"name": "Oslo", "people": 717710}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (CITY, OSLO),
        (f"\n\n  {CITY}\n", OSLO),
        ("[]", []),
        ("7", 7),
        ("null", None),
        ('"Oslo"', "Oslo"),
        ("-0.5", -0.5),
    ],
)
def test_clean_json_is_read_exactly(text: str, value: Any) -> None:
    """What is nothing but JSON needs no repair, and its span is where it stands."""
    reading = read_json(text)
    assert (reading.value, reading.fidelity, reading.repairs) == (value, "exact", ())
    assert reading.ok
    assert reading.whole
    assert json.loads(text[slice(*reading.span)]) == value == reading.data


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CITY}\n```",
        f"```\n\n{CITY}\n\n```\nThat is {{all}}.",
        f"```` {CITY} ````",
        f"~~~JSON5\n// the city\n{CITY}\n~~~",
        f"Sure! Here it is: {CITY} Anything else?",
        f"For [1] and {{name}} see below.\n\n{CITY}\n\nNote: it says {{so}}.",
        f'<think>Maybe {{"name": "Bergen"}}? No [that</think>\n{CITY}',
        f'Maybe {{"name": "Bergen"}}?</think>{CITY}',
        f"<think>a</think><thinking>b</thinking>\n{CITY}",
        f'[THINK]Maybe {{"name": "Bergen"}}?[/THINK]{CITY}',
        f'Maybe {{"name": "Bergen"}}?[/THINK]{CITY}',
        f'<|START_THINKING|>{{"name": "Bergen"}}<|END_THINKING|><|START_RESPONSE|>{CITY}',
        f'<|channel|>analysis<|message|>{{"name": "Bergen"}}<|end|><|start|>assistant'
        f"<|channel|>final<|message|>{CITY}<|return|>",
        f'<|channel>thought\n{{"name": "Bergen"}}\n<channel|>{CITY}',
        f"Well. <reasoning>it is {{large}}</reasoning> So:\n{CITY}",
        f"<answer>{CITY}</answer>",
        f"Thought: I know it\nAction:\n```\n{CITY}\n```",
        f"{CITY}\n```",
        f"The value is {CITY}, as you asked.",
        f"callback({CITY});",
        f"{CITY} and, if you like, {{'name': 'Bergen'}}",
        f"See [docs] and [1]. {CITY}",
        '```json\n{"name": "Oslo", "people": 717710\n```\nDone.',
    ],
)
def test_what_stands_around_a_value_does_not_matter(text: str) -> None:
    """Prose, fences, thinking and tags around a value are left out."""
    assert read_json(text).value == OSLO


@pytest.mark.parametrize(
    ("text", "value", "what"),
    [
        ("{'a': 'b'}", {"a": "b"}, "quotes"),
        ("{\u201ca\u201d: \u201cb\u201d}", {"a": "b"}, "quotes"),
        ("{a: 1}", {"a": 1}, "unquoted key"),
        ('{"a": 1,}', {"a": 1}, "trailing comma"),
        ("[1, 2, /* x */ ]", [1, 2], "trailing comma"),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, "missing comma"),
        ('{"a": "x" "b": 2}', {"a": "x", "b": 2}, "missing comma"),
        ('{"a": true "b": null "c": x}', {"a": True, "b": None, "c": "x"}, "missing comma"),
        ('["a" "b" 1]', ["a", "b", 1], "missing comma"),
        ("[1 2 true null [3]]", [1, 2, True, None, [3]], "missing comma"),
        ('{"a": some words "b": 2}', {"a": "some words", "b": 2}, "missing comma"),
        ("[{} {}]", [{}, {}], "missing comma"),
        ('{"a" 1, "b": 2}', {"a": 1, "b": 2}, "missing colon"),
        ('{"a": 1, // one\n"b": 2}', {"a": 1, "b": 2}, "comment left out"),
        ('{"a": 1} # it is a\n', {"a": 1}, None),
        ("{'a': True, 'b': None}", {"a": True, "b": None}, "Python literal"),
        ("[a, b]", ["a", "b"], "unquoted text"),
        ('{"zip": 01234}', {"zip": "01234"}, "unquoted text"),
        ("[.5, +1, 1_000]", [0.5, 1, 1000], "number"),
        ('{"a": "he said "so", twice"}', {"a": 'he said "so", twice'}, "unescaped quote"),
        ('["a 32" screen", "b"]', ['a 32" screen', "b"], "unescaped quote"),
        ('{"k"e"y": 1}', {'k"e"y': 1}, "unescaped quote"),
        ('{"a": "a "b" or "c" d"}', {"a": 'a "b" or "c" d'}, "unescaped quote"),
        ("{u'a': u'b', 'c': U\"d\"}", {"a": "b", "c": "d"}, "string prefix"),
        ("[r'a b', R'']", ["a b", ""], "string prefix"),
        ("[1, 007]", [1, "007"], "unquoted text"),
        ('{"a": "x,", \'b\': ":"}', {"a": "x,", "b": ":"}, "quotes"),
        ('{"a": "x\\n\ty\\"z", b: 1}', {"a": 'x\n\ty"z', "b": 1}, "unquoted key"),
        ('{a: some (of, them) "b": 2}', {"a": "some (of, them)", "b": 2}, "missing comma"),
        ('{"a": "b,c,"d": 1}', {"a": "b,c", "d": 1}, "missing quote"),
        ('["a,"b"]', ["a", "b"], "missing quote"),
        ('["abc  ]', ["abc"], "missing quote"),
        ('[a", b"]', ["a", "b"], "missing quote"),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, "raw line end"),
        ('{"a": "one\n", "b": "\ttwo\n  "}', {"a": "one", "b": "\ttwo"}, "raw line end"),
        ('{"a": """it is "so" """}', {"a": 'it is "so" '}, "triple quotes"),
        ('{"a": """\n    x\n      y\n    """}', {"a": "x\n  y"}, "triple quotes"),
        ('{"a": ```\nx = `1`\n```, "b": 2}', {"a": "x = `1`", "b": 2}, "triple quotes"),
        ('{""a"": ""b""}', {"a": "b"}, "doubled quotes"),
        ('{"a": ""b"}', {"a": "b"}, "doubled quotes"),
        ("{'a': \"x\" + \"y\" + 'z'}", {"a": "xyz"}, "joined strings"),
        ('{"a": ("x", "y"), "b": (1)}', {"a": ["x", "y"], "b": 1}, "parentheses"),
        ('{"a": ("x",)}', {"a": ["x"]}, "parentheses"),
        ('{"a": (), "b": [()]}', {"a": [], "b": [[]]}, "parentheses"),
        ('[{"a": 1]', [{"a": 1}], "wrong closing bracket"),
        ("(1)", 1, "parentheses"),
        ('{"a":\ufeff"b"}', {"a": "b"}, "zero-width space"),
        ('{"a": ["x"}, "b": 1}', {"a": ["x"], "b": 1}, "wrong closing bracket"),
        ('{"a": [1}}', {"a": [1]}, "wrong closing bracket"),
        ('{"a": {"b": [1}}, "c": 2}', {"a": {"b": [1]}, "c": 2}, "wrong closing bracket"),
        ("[[[}, 1], 2]", [[[], 1], 2], "wrong closing bracket"),
        ('[{"a": 1], {"b": 2}]', None, None),
        ('{"a": {"b": 1], "c": 2}', {"a": {"b": 1}, "c": 2}, "wrong closing bracket"),
        ('{"a": 1]}', {"a": 1}, "wrong closing bracket"),
        ('{{"a": {{"b": 1}}, "c": {}}}', {"a": {"b": 1}, "c": {}}, "doubled brackets"),
        ("{, 'a': 1,, 'b': 2}", {"a": 1, "b": 2}, "stray comma"),
        ("[,1,,2]", [1, 2], "stray comma"),
        (r"{\"a\": \"b\"}", {"a": "b"}, "escaped quotes"),
        (json.dumps(CITY), OSLO, "encoded twice"),
        ("'{\"a\": 1}'", {"a": 1}, "encoded twice"),
        (json.dumps(json.dumps(CITY)), OSLO, "encoded twice"),
        ('{\\n  "a": 1,\\r\\n\\t"b": [2]\\n}', {"a": 1, "b": [2]}, "escaped line end"),
        ('"a" + "b"', "ab", "joined strings"),
        ('"a 24" screen"', 'a 24" screen', "unescaped quote"),
        ('"he said "so" to them"', 'he said "so" to them', "unescaped quote"),
        ("[Infinity, -inf]", [float("inf"), float("-inf")], "number that JSON does not allow"),
        ("[1e999, 'it's']", [float("inf"), "it's"], "number that JSON does not allow"),
        ("[1/*a*/2, {'b' /* c */: 3}]", [1, 2, {"b": 3}], "missing comma"),
        ('{"a" // it\n: "b"c"}', {"a": 'b"c'}, "comment left out"),
        ("[true#a\n, 'it's', None/*b*/]", [True, "it's", None], "comment left out"),
        ("{a: -" + "9" * 400 + "}", {"a": -int("9" * 400)}, "unquoted key"),
        ("True", True, "Python literal"),
        ("```json\nnull\n```\nThere is none.", None, None),
        ('"{a: b}"', "{a: b}", None),
        ('```json\n{"a": "b"\n```\nand\n```\nx\n```', {"a": "b"}, "missing closing bracket"),
        ("4,", 4, "trailing comma"),
        ("'abc'", "abc", "quotes"),
        ('{"a": 1}}', {"a": 1}, None),
    ],
)
def test_what_is_put_right(text: str, value: Any, what: str | None) -> None:
    """Quotes, commas, comments and literals may be off as long as what they mean is certain."""
    reading = read_json(text)
    if value is None and what is None and "null" not in text:
        assert not reading.ok
        return
    assert (reading.value, reading.failure) == (value, None)
    if what is None:
        return
    assert reading.fidelity == "repaired"
    found = [repair for repair in reading.repairs if repair.what.startswith(what)]
    assert found
    assert all(0 <= r.span[0] <= r.span[1] <= len(text) for r in reading.repairs)


def test_repairs_say_where() -> None:
    """A repair's span is where it stands in the text as it was, prose and all."""
    text = "Here: {a: 'b', /* c */ \"d\": None,} and more"
    reading = read_json(text)
    assert [text[slice(*r.span)] for r in reading.repairs] == ["a", "'b'", "/* c */", "None", ","]
    assert text[slice(*reading.span)] == "{a: 'b', /* c */ \"d\": None,}"


@pytest.mark.parametrize(
    ("text", "pattern", "message"),
    [
        ("", P.EMPTY, "The reply is empty."),
        (" \n", P.EMPTY, "The reply is empty."),
        ("I cannot say.", P.NO_ACTION, "The reply contains no JSON."),
        ("See [1] and {name}.", P.NO_ACTION, "The reply contains no JSON."),
        ("the pattern /[a-z]_/", P.NO_ACTION, "The reply contains no JSON."),
        ('{"a": 1, "a": 2}', P.MALFORMED, "The key `a` appears twice."),
        ("{a: 1, 'a': 2}", P.MALFORMED, "The key `a` appears twice."),
        ('{"a" 1, "a" 2}', P.MALFORMED, "The key `a` appears twice."),
        ('x: {"a": {"b": 1, "b": 1}}', P.MALFORMED, "The key `b` appears twice."),
        ('{"a": [1, 2', P.TRUNCATED, "The reply stops in the middle of the value."),
        ('{"a": "b', P.TRUNCATED, "The reply stops in the middle of the value."),
        ('Sure: {"a": 1, "b": {', P.TRUNCATED, "The reply stops in the middle of the value."),
        ("```json\n[{'a': 1}, {'a': tr", P.TRUNCATED, "The reply stops in the middle"),
        ("[1, 2, ...]", P.TRUNCATED, "The value leaves parts out."),
        ('{"a": 1, ..., "z": 26}', P.TRUNCATED, "The value leaves parts out."),
        ("<think>{1} or [2", P.TRUNCATED, "The reply stops while the model is thinking."),
        ('{"name": "..."}', P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"a": [{"name": "<name>"}]}', P.TEMPLATE_ECHO, "`a[0].name` is a placeholder"),
        ("{'name': '{name}'}", P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"name": "YOUR_NAME"}', P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"name": "${name}"}', P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"name": "PLACEHOLDER"}', P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"name": "[city name]"}', P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"cityName": "{city_name}"}', P.TEMPLATE_ECHO, "`cityName` is a placeholder"),
        (
            '{"name": "[Name of the city]"}',
            P.TEMPLATE_ECHO,
            "`name` is a placeholder, not a value.",
        ),
        ('{"name": "<...>"}', P.TEMPLATE_ECHO, "`name` is a placeholder, not a value."),
        ('{"tags": ["a", "..."]}', P.TEMPLATE_ECHO, "`tags[1]` is a placeholder, not a value."),
        (
            '{"name": "${name}", "text": "' + "It goes on. " * 100 + '"}',
            P.TEMPLATE_ECHO,
            "`name` is a placeholder, not a value.",
        ),
        ('{"a": , "b": 2}', P.MALFORMED, "a key without a value at position 6."),
        ('{"a": 1}, "b": 2}', P.MALFORMED, "members after the end at position 8."),
        ('{"a": 1}, {"b": 2}', P.MALFORMED, "The reply has several values"),
        ('["a": 1]', P.MALFORMED, "a key in an array"),
        ('[{"a": 1}: 2]', P.MALFORMED, "a key in an array"),
        ('"{\\"a\\": 1, \\"a\\": 2}"', P.MALFORMED, "The key `a` appears twice."),
        ('"a" + b', P.NO_ACTION, "The reply contains no JSON."),
        ('```json\n{"a": ,\n```', P.MALFORMED, "a key without a value"),
        (r"{\"a\": \x}", P.MALFORMED, "no key"),
        (r"{\"a\": 1} and {\"b\": 2}", P.MALFORMED, "no key"),
        ("(1, 2) and 3", P.NO_ACTION, "The reply contains no JSON."),
        ('(1, "a" + b)', P.NO_ACTION, "The reply contains no JSON."),
        ('```json\n{"a": "b\n```\n', P.TRUNCATED, "The reply stops in the middle"),
        ("See the set {a: 1, b", P.TRUNCATED, "The reply stops in the middle"),
        ("See the set {a, b or [c", P.NO_ACTION, "The reply contains no JSON."),
        ('{"a": "x" "y"}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "" "y"}', P.MALFORMED, "text after an empty string"),
        ('{"a": """"}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "b", "c: 1, "d": 2}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": 1, "b: 2,\n"c": 3}', P.MALFORMED, "a key that does not end"),
        ('{"a": "b, c: 1}', P.MALFORMED, "a string that does not end"),
        ('[""a]', P.MALFORMED, "a string that does not end"),
        ('{"a": "x" + y}', P.MALFORMED, "an expression, not a value"),
        ('{"a": ObjectId("1")}', P.MALFORMED, "an expression, not a value"),
        ('{"a": x "b" : y "c}', P.MALFORMED, "unquoted text that holds quotes"),
        ('{"a": "b" # so } what', P.MALFORMED, "a comment that does not end"),
        ('{"a": "x, "b": y", "c": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "x\\", "b": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "x\', "b": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": " , ", b": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "C:\\Users\\x \\" y", "b": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('["x \\"y\\", "\\"z"]', P.MALFORMED, "quotes that can be read in two ways"),
        ('["x, "\\u00e9"]', P.MALFORMED, "quotes that can be read in two ways"),
        ('[x, y", "z"]', P.MALFORMED, "quotes that can be read in two ways"),
        ('[\'it\'s {a}", "b"]', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": /* b */ c", "d": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": /* b */", "c": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('[\\\\frac x, "y"]', P.MALFORMED, "unquoted text that holds quotes or backslashes"),
        ('{"a: "12, b: 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "x, "b: 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": f(x) y , ", b": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "x" or "y"}', P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": "x" | "y", "b": 1}', P.MALFORMED, "quotes that can be read in two ways"),
        ('["x"||"y"]', P.MALFORMED, "quotes that can be read in two ways"),
        ("{'a': 'x' if b else 'y'}", P.MALFORMED, "quotes that can be read in two ways"),
        ('{"a": f"{x}"}', P.MALFORMED, "an expression, not a value"),
        ("[b'x', 'y']", P.MALFORMED, "an expression, not a value"),
        (r'{"a": r"\d"}', P.MALFORMED, "an expression, not a value"),
        ("{f'a': 1}", P.MALFORMED, "an expression, not a value"),
        ('[uF"x", Ur"y"]', P.MALFORMED, "an expression, not a value"),
        ("[1,000]", P.MALFORMED, "a number with commas in it"),
        ("[1, 2,000,000]", P.MALFORMED, "a number with commas in it"),
        ('{"a": 1,000}', P.MALFORMED, "a key without a value"),
        ("{a: " + "9" * 5000 + "}", P.MALFORMED, "a number that is too large"),
        ('{"a": new Date(1)}', P.MALFORMED, "an expression, not a value"),
        ('"Yes" is what I say, not "no"', P.NO_ACTION, "The reply contains no JSON."),
        ("{\\x}", P.MALFORMED, "no key"),
        ('{"a": (see below)}', P.MALFORMED, "words in parentheses"),
        ("[1)]", P.MALFORMED, "a parenthesis that closes nothing"),
        ("[[1}, 2}, 3]", P.MALFORMED, "brackets that do not match"),
        ("[{]", P.MALFORMED, "no key"),
        ("{{'a': 1}, 'b': 2}", P.MALFORMED, "brackets that do not match"),
        ("{{'a': 1}", P.TRUNCATED, "The reply stops in the middle"),
        ('{"a": [```json\n{}\n```]}', P.MALFORMED, "quotes that can be read in two ways"),
        ("[" * 200 + "]" * 200, P.MALFORMED, "nested deeper than 127 levels"),
        ("[" * 100_000, P.MALFORMED, "nested deeper than 127 levels"),
        ("[" * 1000 + "'a',]" + "]" * 999, P.MALFORMED, "nested deeper than 127 levels"),
    ],
)
def test_what_is_refused(text: str, pattern: FailurePattern, message: str) -> None:
    """What cannot be known is a failure that says why, and no value."""
    reading = read_json(text)
    assert reading.failure is not None
    assert (reading.failure.pattern, reading.value) == (pattern, None)
    assert message in reading.failure.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": "b', {"a": "b"}),
        ('{"a": 1, "b": ', {"a": 1}),
        ('{"a": 1, "b": tru', {"a": 1}),
        ('{"a": 1, "b', {"a": 1}),
        ('["x", "', ["x"]),
        ("[1, -", [1]),
        ('{"a": 2.', {"a": 2.0}),
        ("{a: 2.5e-", {"a": 2.5}),
        ("[1, 2, ...]", [1, 2]),
        ("[1, 2, \u2026, 9]", [1, 2, 9]),
        ('"abc', "abc"),
        ('{"a": """b', {"a": "b"}),
        ('```json\n{"a": {"b": "c', {"a": {"b": "c"}}),
    ],
)
def test_salvage_returns_what_arrived(text: str, value: Any) -> None:
    """With `salvage` you get the part of a torn value that arrived, and the failure beside it."""
    reading = read_json(text, config=SALVAGE)
    assert (reading.value, reading.fidelity, reading.whole) == (value, "salvaged", False)
    assert reading.failure is not None
    assert reading.failure.pattern is P.TRUNCATED
    assert read_json(text).value is None


@pytest.mark.parametrize("text", ['{"a": 1, "a": [', '{"name": "...", "b": [1', '{"a": "b, c: 1}'])
def test_salvage_guesses_nothing(text: str) -> None:
    """A torn value that is also ambiguous or a template is not salvaged."""
    reading = read_json(text, config=SALVAGE)
    assert (reading.value, reading.whole) == (None, False)


def test_strict_takes_json_only() -> None:
    """With `strict`, a value that needs repair is a failure that names the repair."""
    strict = ReadingConfig(strict=True)
    assert read_json(f"Here: {CITY}", config=strict).value == OSLO
    reading = read_json("{'a': 1}", config=strict)
    assert reading.failure is not None
    assert reading.failure.message == "The value needs repair: quotes."
    assert reading.value is None


@pytest.mark.parametrize(
    "text",
    ['{"a": 1} {"a": 2}', '{"a": 1}\n\n{"a": 2}', '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```'],
)
def test_of_several_values_the_first_counts(text: str) -> None:
    """Without a schema, of values that follow each other the first is taken; none are merged."""
    assert read_json(text).value == {"a": 1}


def test_a_fence_comes_before_what_is_quoted_in_a_sentence() -> None:
    """A value in a fence of its own is likelier meant than one in a sentence before it."""
    text = 'You wrote {"a": 1} but meant:\n```json\n{"a": 2}\n```'
    assert read_json(text).value == {"a": 2}


def test_a_template_is_passed_over() -> None:
    """A template that the model repeats before it fills it in is not the value."""
    assert read_json('{"name": "<name>"}\n\n{"name": "Oslo"}').value == {"name": "Oslo"}


@pytest.mark.parametrize("text", ['{"key": "value"}', '{"type": "string"}', '["..."]'])
def test_what_only_looks_like_a_template(text: str) -> None:
    """Words that are common in examples are values where nothing else speaks against it."""
    assert read_json(text).value == json.loads(text)


@pytest.mark.parametrize("text", ["NaN", "[NaN]", "{a: NaN}", '{"a": NaN}', "```\nnan\n```"])
def test_no_number_is_no_number(text: str) -> None:
    """`NaN` is what it says, however broken the rest is, and no JSON."""
    reading = read_json(text)
    assert str(reading.value).count("nan") == 1
    assert reading.fidelity == "repaired"


@pytest.mark.parametrize(
    "text", ['{"a": "{x}', '{"a": "f(x) {y}', '{"a": "}', '{"a": " }', '["[1]']
)
def test_a_bracket_that_a_string_may_hold_closes_nothing(text: str) -> None:
    """The text stops in a string that opens the bracket, or holds nothing else."""
    failure = read_json(text).failure
    assert failure is not None
    assert failure.pattern is P.TRUNCATED


@pytest.mark.parametrize("end", ["\\", "\\u", "\\u00e", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude0"])
def test_half_an_escape_is_no_part_that_arrived(end: str) -> None:
    """What is salvaged is a part of what was to come."""
    reading = read_json('{"a": "x' + end, config=ReadingConfig(salvage=True))
    assert reading.value == {"a": "x"}
    assert reading.fidelity == "salvaged"


def test_a_raw_control_character_is_a_repair() -> None:
    """JSON allows none in a string."""
    reading = read_json('{"a": "b\x00c"}')
    assert reading.value == {"a": "b\x00c"}
    assert reading.fidelity == "repaired"


def test_many_remarks_before_a_value() -> None:
    """However many brackets open nothing, the value behind them is found."""
    assert read_json("See " + "[x " * 30_000 + '\n{"a": 1}').value == {"a": 1}
    assert not read_json('See {\\"x {\\"x {\\"x ' + "y" * 20_000).ok


def test_a_fence_that_closes_within_a_text() -> None:
    """What is broken behind its fence, too, is what the fence holds, and that is torn."""
    failure = read_json('```json\n{"a": "b\n```\n", c: "d" e: ]').failure
    assert failure is not None
    assert failure.pattern is P.TRUNCATED


def test_text_is_text() -> None:
    """What is no text is a `TypeError`."""
    with pytest.raises(TypeError, match="`text` must be a str"):
        read_json(b"{}")  # type: ignore[arg-type]


def test_nothing_is_lost_of_a_long_value() -> None:
    """Each part of a long broken value is there."""
    rows = [{"id": at, "text": f'row "{at}"', "tags": ["x", None]} for at in range(500)]
    text = str(rows).replace("}, {", "},\n// next\n{")
    assert read_json(text).value == rows


def test_a_reading_is_plain_data() -> None:
    """An empty reading holds nothing."""
    assert JsonReading().data is None


def test_what_is_only_commented_on_is_not_repaired() -> None:
    """A comment behind a value is no repair of it."""
    assert rewritten_value('{"a": 1} // why\n', 0) is None
    assert read_json('{"a": 1} // why\n').fidelity == "exact"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Example: {"a": 1}. My answer: {"a": 2}', {"a": 2}),
        ('Example:\n```json\n{"a": 1}\n```\nAnswer:\n```json\n{"a": 2}\n```', {"a": 2}),
        ('Beispiel: {"a": 1}\nAntwort: {"a": 2}', {"a": 2}),
        ('\u4f8b\uff1a{"a": 1}\n\u7b54\u6848\uff1a{"a": 2}', {"a": 2}),
        ('<draft>{"a": 1}</draft>\n<answer>\n{"a": 2}\n</answer>', {"a": 2}),
        ('Answer: {"a": 1}\nAlternative: {"a": 2}', {"a": 1}),
        ('Answer: {"a": 1}\nExample: {"a": 2}', {"a": 1}),
        ('Answer: {"a": 1}\n\nActually: {"a": 2}', None),
        ('Answer: {"a": 1} is wrong. {"a": 2}', None),
        ('Answer: {"a": 1}\n\nI began with {"a": 2}.', {"a": 1}),
        ('Przyk\u0142ad: {"a": 1}\n{"a": 2}', None),
        ('Sure!\n{"a": 1}\n{"a": 2}', {"a": 1}),
        ('example: {"a": 1}\nanswer: {"a": 2}', {"a": 2}),
        ('**Example**: {"a": 1}\n**Answer:** {"a": 2}', {"a": 2}),
        ('__Example__\n{"a": 1}\n__Answer__\n{"a": 2}', {"a": 2}),
        ('## Example\n{"a": 1}\n\n## Final Answer\n\n```json\n{"a": 2}\n```', {"a": 2}),
        ('- Example: {"a": 1}\n- \u2705 Answer: {"a": 2}', {"a": 2}),
        ('Answer\n{"a": 1}\nExample\n{"a": 2}', None),
        ('This is not an answer: {"a": 1}\nTake mine: {"a": 2}', None),
        ('Example: {"a": 1}. Answer: {"a": "many"}', None),
        ('Answer: {"a": 1}\nAnswer: {"a": 2}', None),
        ('Falsche Antwort: {"a": 1}\nNeue Antwort: {"a": 2}', None),
    ],
)
def test_the_answer_is_what_is_called_so(text: str, value: Any) -> None:
    """One value that the reply calls its answer is the one, whether it fits or not."""
    assert read_json(text, dict[str, int]).value == value
    if value is not None:
        assert read_json(text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Example: {"a": 1}', {"a": 1}),
        ('Sure:\n{"a": 1}\n{"a": 2}\n{"a": 3}', {"a": 1}),
        ('```json\n{"a": 1}\n```\n\n``` json\n{"a": 2}\n```', {"a": 1}),
        ('{"a": 1}\n\nI say it again:\n{"a": 1}', {"a": 1}),
        ('For instance, {"a": 1} would do. Here is mine:\n{"a": 2}', {"a": 2}),
        ('{"a": 1} is the value. Not {"b": "x"}.', {"a": 1}),
        ('{"a": 1} is wrong. {"a": 2} is right.', None),
        ('**Draft:**\n{"a": 1}\n\n{"a": 2}', None),
        ('Ejemplo:\n{"a": 1}\n\nResultado:\n{"a": 2}', None),
        ('{"a": 1}\n\nActually, let me fix that:\n\n{"a": 2}', None),
        ('Format:\n```json\n{"a": 1}\n```\nMine:\n```json\n{"a": 2}\n```', None),
        ('1. {"a": 1}\n2. {"a": 2}', None),
    ],
)
def test_words_between_values_leave_open_which_is_meant(text: str, value: Any) -> None:
    """Of values in a row the first is taken; of two that fit with words between them none is."""
    reading = read_json(text, dict[str, int])
    assert reading.value == value
    assert reading.ok is (value is not None)


def test_what_a_fence_cuts_off_is_not_made_up() -> None:
    """A member without a value stays without one, whatever stands behind the fence."""
    failure = read_json('```json\n{"a":\n```\n```)"b"').failure
    assert failure is not None
    assert failure.pattern is P.TRUNCATED


def test_what_stands_behind_a_value_is_no_repair_of_it() -> None:
    """Only what was put right within a value is listed, and it ends where it ends."""
    found = rewritten_value("{'a': 1}, {'b': 2}", 0)
    assert found is not None
    assert (found.value, found.end) == ({"a": 1}, 8)
    assert [repair.span for repair in found.repairs] == [(1, 4)]
    comma = rewritten_value("[None],]", 0)
    assert comma is not None
    assert [repair.what for repair in comma.repairs] == ["Python literal"]


@pytest.mark.parametrize("sign", ["\t", "\r"])
@pytest.mark.parametrize("text", ['"a{}b"', "{{a: 'a{}b'", '{{"a": "he "said"{}so"'])
def test_raw_tabs_are_a_repair(text: str, sign: str) -> None:
    """A raw tab in a string is not JSON, so it counts as a repair wherever it stands."""
    reading = read_json(text.format(sign), config=ReadingConfig(salvage=True))
    assert "raw line end in a string" in [repair.what for repair in reading.repairs]
    assert not read_json(text.format(sign), config=ReadingConfig(strict=True)).ok


def test_thousands_of_stray_commas() -> None:
    """Stray commas are left out, however many there are, and not all of them are listed."""
    reading = read_json("[" + "," * 5000 + " ,1]")
    assert reading.value == [1]
    assert len(reading.repairs) == 100


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":"b",,"c":1}', {"a": "b", "c": 1}),
        ('["a",,"b"]', ["a", "b"]),
        ('{"a" => 1}', {"a": 1}),
    ],
)
def test_commas_and_arrows_too_many(text: str, value: Any) -> None:
    """A doubled comma ends a string all the same, and an arrow is a colon."""
    reading = read_json(text)
    assert (reading.value, reading.ok) == (value, True)


@pytest.mark.parametrize("text", ['{"a" == 1}', '{"a" := 1}', '{"a"::1}'])
def test_signs_that_are_no_colon(text: str) -> None:
    """What no language writes between a key and its value is refused."""
    assert not read_json(text).ok


@pytest.mark.parametrize("end", ["", "\n", "  ", "\n\n"])
def test_a_text_that_stops_within_an_escape(end: str) -> None:
    """It is truncated, whatever blanks follow; words behind half an escape make it malformed."""
    failure = read_json('{"a": "b\\u4' + end).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.TRUNCATED
    failure = read_json('{"a": "b\\u4 c"}' + end).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.MALFORMED
