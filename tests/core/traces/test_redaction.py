"""Secrets are taken out of traces, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.timing import fastest
from loopmend.contracts.actions import ToolCall
from loopmend.contracts.signals import Stuck
from loopmend.reading.turn import Failure, FailurePattern, Repair, Turn
from loopmend.traces.redaction import Redactor, redact_secrets
from loopmend.traces.trace import Observation, Step, Trace, TraceCall, TraceError
from tests.core.traces.made_up import Row, rows

GONE = "[redacted]"
RUN = "abcdefghij0123456789ABCDEFGHIJ"
# Put together here, so that nobody takes this file for one that leaks keys.
SECRETS = {
    "openai": "sk-" + RUN,
    "openai project": "sk-" + "proj-" + RUN + "_-" + RUN,
    "anthropic": "sk-" + "ant-" + "api03-" + RUN,
    "stripe": "sk_" + "live_" + RUN,
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws, temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + RUN + "012345",
    "github, fine-grained": "github_pat_" + RUN,
    "gitlab": "glpat-" + RUN,
    "huggingface": "hf_" + RUN,
    "slack": "xoxb-" + "123456789012-" + RUN,
    "google": "AIza" + "Sy" + RUN + "abc",
    "langfuse": "sk-" + "lf-01234567-89ab-cdef-0123-456789abcdef",
    "telegram": "110201543" + ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "age": "AGE-" + "SECRET-KEY-1" + "GFPYYSJZ" * 7 + "QQ",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3",
}
KEPT = [
    "Mail ann@example.org about it.",
    "max_tokens: 512, token=5, the key: value store",
    "sk-circle-fade-dot-container is a class, so is task-" + "a1" * 20,
    "AKIA and AIza and ghp_ are how keys start; xoxb- too, and eyJ.eyJ.x",
    "The bearer of this letter; api_key=None, password: null, secret",
    "PWD=/home/ann and pwd: /srv",
    "https://example.org:8080/a@b and -----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "NASDAQAKIAIOSFODNN7EXAMPLEX",
    "secret: {} and secret: [] and password: {{ x }}",
    "<b>token</b> and token> and password: see below, password is required",
    "session_key=1234567890, cookie: none, authorization: needed",
    "password=",
    "sk-" + "a" * 30,
    "password_hash_algorithm: bcrypt",
    "password:** bold ends here, password:*** is a mask, **password** and *key:* value",
    "password: |\nnext: line and password: >-",
    "| password | string | Required. |\n| user | password | email1 |\n| max_tokens | b512kx |",
    "cat password | base64 and echo a | token | sha256sum",
    '{"name": "password", "type": "string"}, {"label": "password", "value": "Yours1"}',
    'add_argument("--password", "password1"), ["--password", "--user"], ["password", "a1b2c3"]',
    "Password: please choose something longer\nor say password: many words follow here",
    "password: see the second page",
    "sk-lf-your-secret-key and 123456:AAAA and 12:30:AA and AGE-SECRET-KEY-1" + "X" * 58,
    "https://x.org/?key=name&page=2 and ?key=created_at_2026",
    'input("Password: ") and "password: "',
    "OPENAI_API_KEY=sk-... and api_key=YOUR_API_KEY and secret: !vault db",
    "Set-Cookie: theme=dark; Path=/",
    "Cookie: lang=en-US; page=2; seen",
    "password=[REDACTED] and the password manager, a token stream, PASSWORD required",
    "main.py:12:5:7:warning and costs $1$2 and $5$",
    "if password == confirm_password: and credentials: include",
    "password_changed_at='2026-03-01T10:00:00Z', last login 2026-03-01T10:00:00.000Z",
    "authorization: ask the owner",
    "a_module_of_twenty_and_more.attrib.and_another_name_of_it_that_is_long",
    "api_key=api_key, aws_secret_access_key=my_access_key, self.api_key = public_api_key or x",
    "host, secret_key = server['connection'], api_key: Optional[str], key_password=key_password",
    '{"x-api-key": "X-API-Key"}, SET_COOKIE: Final[istr] = istr("Set-Cookie")',
    "password = Path('secret.txt'), api_key = Settings[0], credentials = (",
    ":param cookies: (optional) what to send; secret=access_token",
    "private_key_id: 95739892f285553138d3648b93afb87bf3d2380e",
    "SECRET_KEY=\nDEBUG=1, API_KEY=op://team/db/key, token: ${TOKEN:?must be set}",
    "API_KEY=TODO --password PASSWORD, password = Getenv(`DB_PASSWORD`), PASS=${PASS:+set}",
    '{"login.password": "Passwort"}, Set-Cookie: lang=en; Max-Age=31536000',
]
PAIRS = [
    ("export OPENAI_API_KEY={}", "hunter2"),
    ("api-key: {}, next", "hunter2"),
    ('{{"client_secret": "{}"}}', "two words"),
    ("{{'password': '{}'}}", "hunter2"),
    ('{{\\"apiKey\\": \\"{}\\"}}', "hunter2"),
    ("Server=x;Pwd={};Database=y", "hunter2"),
    ("https://x.org/?access_token={}&page=2", "hunter2"),
    ("postgres://ann:{}@db/x", "hunter2"),
    ("Authorization: Basic {}", "YTpi"),
    ('"authorization": "Bearer {}"', "abc"),
    ("curl -H 'X-Auth: bearer {}'", RUN + "=="),
    ("-----BEGIN RSA PRIVATE KEY-----{}-----END RSA PRIVATE KEY-----", "\nDEK-Info: a\n\nab+/c=\n"),
    ("-----BEGIN PRIVATE KEY-----{}", "\\nMIIEvQIBADANBg"),
    ("\u0130 PASSWORD={}", "hunter2"),
    ("secret: [{}]", '["a", "b"]'),
    ("secret: {{{}", '"a": "b"'),
    ("credentials = {{{}}} end", "'u': 'x', 'v': [1]"),
    ("password='{}", "cut off"),
    ("password='{}\nnext", "cut off"),
    ('password="{}" x', 'a\\"b'),
    ("password: '<{}>'".replace("<{}>", "{}"), "<hunter2>"),
    ("auth_token={}", "123456789012345678"),
    ("session_key={}", "123456789012345678"),
    ("PWD={}", "/a1B2c3D4e5F6g7"),
    ("password={} ", "x" + RUN * 20),
    ("**Password:** {}", "hunter2"),
    ("__Password:__ {}\n", "hunter2"),
    ("- **API key:** `{}`", "0123456789abcdef"),
    ("**API key**: {}", "0123456789abcdef"),
    ("**`password`**: {}", "hunter2"),
    ("password: |\n  {}\nuser: ann", "hunter2"),
    ("a:\n  password: >-\n    {}\n  user: ann", "two words\n\n    and more"),
    ("| password | {} |", "hunter2"),
    ("|API key|{}|\n", "hunter2"),
    ("| **password** | `{}` |", "hunter2"),
    ('x {{"name":"password","value":"{}"}}', "hunter"),
    ('{{\\"key\\": \\"DB_PASSWORD\\", \\"value\\": \\"{}\\"}}', "hunter"),
    ("- name: DB_PASSWORD\n  value: {}\n", "hunter"),
    ('run(["x", "--password", "{}", "-v"])', "hunter"),
    ("password: {}", "correct horse battery staple"),
    ("You need:\n  - **password:** {}\n", "correct horse battery staple"),
    ("https://x.org/?key={}", "AbCd1234EfGh5678IjKl"),
    ("WIFI_PASSPHRASE={}", "correct horse battery staple"),
    ("Cookie: {}", "token=abc; lang=en"),
    ("AZURE_PAT={}", "4hz8bnrmjf02mbfz"),
    ("JSESSIONID={}", "5W4UV8CFSQSNAY61"),
    ("mot de passe : {}", "hunter2"),
    ("Das Passwort lautet {}", "Regen_2026!"),
    ("login ann password {}", "9b3mUXozvaTiZ0b6"),
    ("LINODE_TOKEN {}", "9b3mUXozvaTiZ0b6"),
    ('get(url, auth=("ann", "{}"))', "hunter"),
    ("sshpass -p '{}' ssh db", "hunter"),
    ("db:5432:shop:ann:{}", "TD7USV0nSe6MVhPyD4"),
    ("ann:{}:19000:0:", "$6$lOMABau2$cFVK8xsRZm7kVaFYgm0Uyha8krLQ"),
    ("https://x.org/?a=b&api_key={}", "hunter2"),
    ("https%3A%2F%2Fx.org%2F%3Fapi_key%3D{}", "hunter2"),
    ("api_key\n  Input should be shorter [type=x, input_value='{}', input_type=str]", "hunter2"),
    ("Authorization: SSWS {}", RUN),
    ("tool login {}", RUN),
    ("secret key → {}", "hunter2"),
    ("wifi.psk={}", "hunter"),
    ("if password == '{}'", "hunter"),
    ("if password == {}", "hunter2"),
    ("password=SecretStr('{}')", "hunter"),
    ("token = b64decode('{}')", RUN),
    ("API key 2: {}", "hunter2"),
    ("PW={}}}", "${X:-hunter2"),
    ("password:\n  {}\n", "hunter2"),
    ("secret:\n  {}\n", "YWJjZGVm="),
    ('credentials = ("ann", "{}")', "hunter"),
    ("CREATE USER ann IDENTIFIED BY '{}'", "hunter"),
    ("password={}", "my_" + "password"),
    ("password={}", "password_" * 30),
]


@pytest.mark.parametrize("name", list(SECRETS))
@pytest.mark.parametrize("around", ["{}", "use {}.", '{{"k": "{}"}}', "({}, {})", "x={}\n"])
def test_keys_of_common_shapes_go(name: str, around: str) -> None:
    """A key is replaced wherever it stands, and the text around it stays."""
    secret = SECRETS[name]
    assert Redactor().text(around.format(secret, secret)) == around.format(GONE, GONE)


@pytest.mark.parametrize(("template", "value"), PAIRS)
def test_only_the_value_of_a_pair_goes(template: str, value: str) -> None:
    """Of a named secret the name stays, so that one sees what was there."""
    assert Redactor().text(template.format(value)) == template.format(GONE)


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays(text: str) -> None:
    """What only looks a little like a secret is not touched, nor are addresses of people."""
    assert Redactor().text(text) == text


def test_a_second_time_changes_nothing() -> None:
    """What has been redacted is not redacted again."""
    texts = [*SECRETS.values(), *(template.format(value) for template, value in PAIRS)]
    once = Redactor().text("\n".join(texts))
    assert Redactor().text(once) == once


def test_all_text_of_a_trace_is_redacted() -> None:
    """Wherever in a trace a secret stands, it is not in what is written."""
    key = SECRETS["anthropic"]
    turn = Turn((ToolCall("t", {"a": [key]}),), thought=key, signal=Stuck(hypothesis=key))
    step = Step(
        text=f"say {key}",
        thought=key,
        calls=[TraceCall("t", {"deep": [{"er": (key, 1)}], key: 2}, id=key)],
        observations=[Observation(key, tool=key)],
        answer=key,
        turn=replace(turn, failure=Failure(FailurePattern.EMPTY, key, (0, 0))),
        error=TraceError(key, key),
        agent=key,
    )
    trace = Trace(
        [step], key, key, error=TraceError("E", key), tools=[key], metadata={"x": {"y": key}}
    )
    clean = redact_secrets(trace)
    assert key not in clean.to_json()
    assert Trace.from_json(clean.to_json()).steps[0].turn == clean.steps[0].turn
    assert clean.steps[0].calls[0].arguments == {"deep": [{"er": (GONE, 1)}], GONE: 2}


def test_a_trace_without_secrets_is_returned_as_it_is() -> None:
    """Nothing else changes, neither types nor values."""
    trace = Trace(
        [Step("x", calls=[TraceCall("t", {"a": (1, 2.5, None, True), 3: ["b"]})])],
        metadata={"kind": FailurePattern.EMPTY, "class": Step},
    )
    clean = redact_secrets(trace)
    assert clean == trace
    assert clean.metadata["kind"] is FailurePattern.EMPTY


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"password": "x"}, {"password": GONE}),
        ({"dbPassword": 1234}, {"dbPassword": GONE}),
        ({"X-Api-Key": "x", "GITHUB_TOKEN": "gh-77y"}, {"X-Api-Key": GONE, "GITHUB_TOKEN": GONE}),
        ({"Authorization": "z", "token": RUN}, {"Authorization": GONE, "token": GONE}),
        ({"password": "", "secret": None}, {"password": "", "secret": None}),
        ({"password": True, 7: "x"}, {"password": True, 7: "x"}),
        ({"password": {"a": [8, {"b": "x"}]}}, {"password": {"a": [GONE, {"b": GONE}]}}),
        ({"token": "Hello", "tokens": ["a", "b"]}, {"token": "Hello", "tokens": ["a", "b"]}),
        (
            {"password": {"type": "string", "title": "Ask", "default": "hunter"}},
            {"password": {"type": "string", "title": "Ask", "default": GONE}},
        ),
        ({"name": "API_KEY", "value": "hunter"}, {"name": "API_KEY", "value": GONE}),
        ({"argv": ["--token", RUN, "-v"]}, {"argv": ["--token", GONE, "-v"]}),
        ({"page_token": "x", "max_tokens": 5}, {"page_token": "x", "max_tokens": 5}),
    ],
)
def test_fields_named_after_secrets(given: Any, expected: Any) -> None:
    """A field's name is enough for its value to go, and for all that is nested in it."""
    assert redact_secrets(Trace(metadata=given)).metadata == expected


def test_a_secret_in_pieces_goes() -> None:
    """A secret that goes over several texts of a list is in none of them, and the rest stays."""
    pieces = ["use ", SECRETS["github"][:9], SECRETS["github"][9:], " or password=", "hunter2 now"]
    assert redact_secrets(Trace(metadata={"x": pieces})).metadata == {
        "x": ["use ", GONE, GONE, " or password=", f"{GONE} now"]
    }


def _leaks(row: Row) -> bool:
    carrier = {"chunks": list(row.carrier)} if isinstance(row.carrier, tuple) else row.carrier
    if isinstance(carrier, str):
        return row.leaks(Redactor().text(carrier))
    clean = redact_secrets(Trace(metadata=carrier)).metadata
    return row.leaks("".join(clean["chunks"]) if "chunks" in clean else json.dumps(clean))


def _changed(row: Row) -> bool:
    if isinstance(row.carrier, str):
        return Redactor().text(row.carrier) != row.carrier
    return bool(redact_secrets(Trace(metadata=row.carrier)).metadata != row.carrier)


@pytest.mark.parametrize(
    "file",
    [
        "secret_rows.txt",
        "fresh_secret_rows.txt",
        "third_secret_rows.txt",
        "fourth_secret_rows.txt",
        "fifth_secret_rows.txt",
        "sixth_secret_rows.txt",
    ],
)
def test_nine_of_ten_made_up_secrets_go_whole(file: str) -> None:
    """No six signs in a row stay of at least 90 % of the made-up secrets."""
    secrets = rows(file)
    assert len(secrets) >= 90
    leaking = [row.name for row in secrets if _leaks(row)]
    assert len(leaking) <= 0.1 * len(secrets), leaking


@pytest.mark.parametrize(
    "file",
    [
        "lookalike_rows.txt",
        "fresh_lookalike_rows.txt",
        "third_lookalike_rows.txt",
        "fourth_lookalike_rows.txt",
        "fifth_lookalike_rows.txt",
        "sixth_lookalike_rows.txt",
    ],
)
def test_what_looks_like_a_secret_stays(file: str) -> None:
    """At most two of the look-alikes change."""
    alike = rows(file)
    assert len(alike) >= 76
    changed = [row.name for row in alike if _changed(row)]
    assert len(changed) <= 2, changed


def test_two_secret_keys_stay_two() -> None:
    """Entries are not lost where secrets are the names of fields."""
    clean = redact_secrets(Trace(metadata={SECRETS["github"]: 1, SECRETS["aws"]: 2}))
    assert clean.metadata == {GONE: 1, f"{GONE}'": 2}


def test_patterns_of_ones_own() -> None:
    """Patterns are added to the defaults or replace them, with any replacement."""
    own = Redactor([re.compile(r"\w+@\w+"), r"room (?P<secret>\d+)", r"x*"], replacement="#")
    assert own.text(f"ann@home in room 12 with {SECRETS['aws']}") == "# in room # with #"
    alone = Redactor([r"\d+"], defaults=False)
    assert alone(Trace(answer="password=a1", metadata={"password": "b"})) == Trace(
        answer="password=a[redacted]", metadata={"password": "b"}
    )


def test_words_of_the_format_are_no_secrets() -> None:
    """However wide a pattern is, what it leaves can be written and read."""
    turn = Turn((ToolCall("t", {}),), signal=Stuck(), fidelity="repaired")
    trace = Redactor([r"\w+"])(Trace([Step("text", turn=turn, error=TraceError("E", "m"))]))
    assert Trace.from_json(trace.to_json()) == trace
    assert trace.steps[0].error == TraceError(GONE, GONE)


@given(
    st.lists(st.sampled_from(["plain ", "é", SECRETS["aws"] + " ", "password=hunter2 ", "<", ">"]))
)
def test_places_in_the_text_move_along(parts: list[str]) -> None:
    """A turn points at the same pieces of a step's text before and after."""
    text = "".join(parts)
    starts = [sum(map(len, parts[:number])) for number in range(len(parts) + 1)]
    spans = list(pairwise(starts))
    turn = Turn(repairs=tuple(Repair("r", span) for span in spans), span=(0, len(text)))
    turn = replace(turn, failure=Failure(FailurePattern.EMPTY, "m", (0, len(text))))
    step = redact_secrets(Trace([Step(text, turn=turn)])).steps[0]
    assert step.turn is not None
    assert step.turn.failure is not None
    assert step.turn.span == step.turn.failure.span == (0, len(step.text))
    pieces = [step.text[slice(*repair.span)] for repair in step.turn.repairs]
    assert pieces == [Redactor().text(part) for part in parts]


def test_a_place_inside_a_secret_goes_to_its_end() -> None:
    """A span that ends in the middle of a secret holds all of its replacement."""
    text = f"a {SECRETS['aws']} b"
    step = redact_secrets(Trace([Step(text, turn=Turn(span=(0, 7)))])).steps[0]
    assert step.turn is not None
    assert step.text[slice(*step.turn.span)] == f"a {GONE}"


def test_what_is_nested_too_deep_is_an_error() -> None:
    """What could not be written is refused here already, never with a crash."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper than 127 levels"):
        redact_secrets(Trace(metadata={"x": deep}))


@given(st.text() | st.text(alphabet="sk-A0 \"':=eyJ.password"))
def test_any_text_can_be_redacted(text: str) -> None:
    """There is a result for every text, and it is final."""
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "sk-a",
        "eyJaaaaaaaaa.",
        "eyJaaaaaaaaa",
        "AKIA",
        "ghp_",
        "xoxb-",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\n-",
        "bearer ",
        "authorization: ",
        "password",
        "password ",
        "password=",
        'password="',
        "password:\\",
        "token:",
        "token: ",
        "token='",
        'token=\\"',
        "secret:{",
        "secret:[{'type':",
        "cookie: ",
        "cookie: a",
        "authorization: bearer ",
        "password=a,",
        "--token ",
        "password is ",
        "key\n  ",
        "key\n  input_value=",
        "authorization: a ",
        "login ",
        "sk-a1.",
        "key-",
        "://a:",
        "://",
        "password: |\n ",
        "password: >\n \n",
        "| password ",
        '"--password", "',
        'name: password, "value": ',
        "\npassword: correct horse battery staple ",
        "a",
        " ",
    ],
)
def test_time_is_linear(unit: str) -> None:
    """Twice the text costs about twice the time, however it is made."""
    half, whole = (unit * (size // len(unit)) for size in (20_000, 40_000))
    redact = Redactor()
    redact_key = lambda text: redact(Trace(metadata={text + "!": 1}))  # noqa: E731
    for call in (redact.text, redact_key):
        assert any(_costs_twice(call, half, whole) for _ in range(8))  # a busy machine takes longer


def _costs_twice(call: Callable[[Any], Any], half: str, whole: str) -> bool:
    less, more = (fastest(lambda text=text: call(text), rounds=3) for text in (half, whole))  # type: ignore[misc]
    return more < 3 * less + 0.002


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://ann:p@ss#w0rd@db.example.com/x", "p@ss#w0rd"),
        ("https://ann:hunter@@2@example.org and bob@example.org", "hunter@@2"),
        ("https://ann:hunter2@example.org?mail=bob@example.org", "hunter2"),
        ("ALTER USER ann WITH PASSWORD 'winter is here';", "winter is here"),
        ("CREATE ROLE ann LOGIN PASSWORD 'w2'", "w2"),
        ('{"selector":"#password","value":"Winter2024!"}', "Winter2024!"),
        ('{"field": "password", "value": "winter"}', "winter"),
    ],
)
def test_secrets_of_forms_and_statements(text: str, secret: str) -> None:
    """A password goes whole, whatever signs it holds, and nothing around it."""
    assert Redactor().text(text) == text.replace(secret, GONE)


@pytest.mark.parametrize(
    "text",
    [
        "ACCESS_TOKEN_EXPIRE_MINUTES = 30",
        "password_attempts: 3",
        "show_password: yes",
        "is_secret: no",
        '{"selector": "#search", "value": "Winter2024!"}',
    ],
)
def test_settings_about_secrets(text: str) -> None:
    """How long, how often and whether is no secret."""
    assert Redactor().text(text) == text
