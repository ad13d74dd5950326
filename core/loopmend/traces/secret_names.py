"""Which names say that their value is a secret, and which values can be one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Final

__all__ = ["is_given", "is_key_body", "is_mixed", "is_passphrase", "is_random", "rule_of"]

Rule = Callable[[str], bool]

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Names that are written together: `dbpassword`, `csrftoken`, `apikey`.
_JOINED: Final = re.compile(
    r"(?P<before>\w*?)(?P<word>password|passwd|passphrase|pw|secret|token|credential|apikey)s?"
)
_LONGEST_NAME: Final = 200
_LONGEST_LABEL: Final = 40

_ALWAYS: Final = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "pw", "psk", "secret", "credential"}
    | {"otp"}
    | {"passwort", "kennwort", "senha", "contrasena", "wachtwoord"}
)
"""Words for what is always a secret."""
_SESSION: Final = re.compile(r"[A-Z]{1,9}SESS(?:ION)?ID[A-Z]{0,12}")
"""What servers call the cookie of a session; `session_id` is a name for all kinds of talks."""
_HEADERS: Final = frozenset({"authorization", "cookie"})
_OPENS: Final = frozenset({"access", "account", "api", "auth", "private", "secret"})
"""Before `key` or `token`: what it opens, whatever it looks like."""
_UNLOCKS: Final = (
    "admin app bearer decryption deploy encryption hmac host jwt license master personal refresh"
    " root service session shared signing ssh storage subscription unseal webhook write"
)
_ALSO_OPENS: Final = frozenset(_UNLOCKS.split())
"""The same before `key`, but such a key can be one of a table too, so its value decides."""
_ABOUTS: Final = (
    "algo algorithm arn at attempts by class count days description dir enabled endpoint env error"
    " expiration expire expires expiry header hours"
    " field file format hint id in index label len length limit list manager max message method min"
    " minutes seconds"
    " name param path pattern policy prompt provider ref regex required reset rotation schema"
    " set"
    " size state status store strength text ttl type uri url usage var variable version"
)
_ABOUT: Final = frozenset(_ABOUTS.split())
"""After a secret's word: the name of something about it, such as `password_length`."""
_PLACES: Final = frozenset({"page", "next", "cursor", "continuation", "sync"})
"""With `token`: a place in a list, which opens nothing."""
_PUBLIC: Final = frozenset({"public", "publishable"})

_PLACEHOLDER: Final = re.compile(
    r"\[redacted\]'*"
    r"|\$\{?\w+(?::?-)?\}?|\$\{\w+:?[?+][^{}]*\}?|\$?\{\{[^{}]*(?:\}\})?|\$\(.*|%\w+%|%[sr]|\{[A-Za-z_.\s{}]*\}|<[A-Za-z_|/\s-]*>|\[[A-Za-z_\s-]*\]|[*•.…_xX#-]{3,}"
    r"|(?i:your[-_ ][a-z_ -]+)|[\w-]{0,8}(?:\.{3}|…)|[A-Z]{2,8}|[A-Z]+(?:_[A-Z]+)+|!{1,2}[A-Za-z/]+"
    r"|(?:[a-z]+_)?(?:access|api|auth|private|secret)_(?:key|token|secret|credentials?)"
    r"|[a-z_]+(?:\.[a-z_]+)*[\[(].*|[a-z_]+(?:\.[A-Za-z_]+)+"
    r"|(?i:none|null|nil|undefined|true|false|yes|no|str|string|secretstr|int|integer|number|bool|boolean"
    r"|bytes|text|any|optional|required|object|array)",
    re.DOTALL,
)
"""What stands where a secret will be: a variable, an expression, a mask, the name of a type."""
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://")
_LABEL: Final = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,2}")


def is_given(value: str) -> bool:
    """Tell whether a value is there at all, and no placeholder.

    >>> is_given("hunter"), is_given("${DB_PASSWORD}"), is_given("")
    (True, False, False)
    """
    value = value.strip()
    if not value or _PLACEHOLDER.fullmatch(value):
        return False
    # Where a secret is kept, `op://team/db`, or what a form calls it, `Passwort`.
    if "://" in value and _ADDRESS.match(value) and not is_random(value):
        return False
    return not (value[0].isupper() and value[1:].islower() and _is_label(value))


def _is_label(value: str) -> bool:
    """Tell whether a value is a name of a secret, written as the label of a field is."""
    short = len(value) <= _LONGEST_LABEL
    return short and _LABEL.fullmatch(value) is not None and rule_of(value) is not None


def is_mixed(value: str) -> bool:
    """Tell whether a value mixes letters with digits, signs or capitals, as no word does.

    >>> is_mixed("hunter2"), is_mixed("MUkgHUMHRxuR"), is_mixed("required"), is_mixed("JavaScript")
    (True, True, False, False)
    """
    if len(value) < 6 or not is_given(value):  # noqa: PLR2004
        return False
    letters = any(map(str.isalpha, value))
    signs = letters and any(sign.isdigit() or sign in "!#$%^*~@&+" for sign in value)
    return signs or (value.isalpha() and _jumps(value, 2))


def is_random(value: str) -> bool:
    """Tell whether a value looks drawn by lot, not written: its letters and digits alternate.

    >>> is_random("x7Gf02kQpl9s"), is_random("created_at_2026_descending"), is_random("cl100k_base")
    (True, False, False)
    """
    if len(value) < 10 or _TIME.fullmatch(value):  # noqa: PLR2004
        return False
    if value.isdigit():
        return len(value) >= 16  # noqa: PLR2004
    return _jumps(value, 3) or any(_jumps(run[0], 2) for run in _LONG_RUN.finditer(value))


def is_passphrase(line: str) -> bool:
    """Tell whether a line is four or more words drawn from a list, and no sentence.

    Lists for passphrases have no word under three letters. Hardly a sentence does without an
    article, a pronoun, an auxiliary or a preposition; a line with one of these stays.

    >>> is_passphrase("correct horse battery staple"), is_passphrase("ask your admin for it")
    (True, False)
    """
    words = line.lower().split(" ")
    return (
        len(words) >= 4  # noqa: PLR2004
        and all(len(word) >= 3 and word.isalnum() for word in words)  # noqa: PLR2004
        and not _FUNCTION.intersection(words)
    )


_FUNCTIONS: Final = (
    "the this that these those you your our their its his her she they who what which when where"
    " why how are was were has have had can could may might must shall should will would does did"
    " not and but for from with into onto over under than then there here per via any all each some"
    " only same both after before until while please"
)
_FUNCTION: Final = frozenset(_FUNCTIONS.split())


def is_key_body(value: str) -> bool:
    """Tell whether a value can be what follows the prefix of a key, not words with dashes.

    >>> is_key_body("abcdefgh1jklmnop"), is_key_body("learn-v2-contrib-tools")
    (True, False)
    """
    # A run that no word is as long as needs no more than a digit in it.
    return _UUID.search(value) is not None or any(
        _jumps(run[0], 1 + (len(run[0]) < _LONGER_THAN_WORDS)) for run in _RUN.finditer(value)
    )


_LONGER_THAN_WORDS: Final = 20
_RUN: Final = re.compile(r"[A-Za-z0-9]{10,}")
_UUID: Final = re.compile(r"(?<!\w)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:[\d:.,]{1,20}(?:Z|[+-][\d:]{2,5})?")
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9]{16,}")
# Where the kind of sign changes other than at the start of a word, capitals in a name included.
_JUMP: Final = re.compile(
    r"(?<=[a-z])(?:[0-9]|[A-Z](?![a-z]{2}))|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]"
)


def _jumps(value: str, least: int) -> bool:
    return sum(1 for _ in islice(_JUMP.finditer(value), least)) == least


def rule_of(name: str) -> Rule | None:
    """Return the test for values of this name, or `None` if the name says nothing.

    >>> rule_of("account_password") is is_given, rule_of("NEXTAUTH_SECRET") is is_given
    (True, True)
    >>> rule_of("resetToken") is is_random, rule_of("monkey"), rule_of("next_page_token")
    (True, None, None)
    """
    return _rule(name) if len(name) <= _LONGEST_NAME else _rule(name[-_LONGEST_NAME:])


@lru_cache(4096)
def _rule(name: str) -> Rule | None:
    if _SESSION.fullmatch(name):
        return is_random
    words = _words(name)
    # What identifies a key is no part of it; Vault's `secret_id` is a secret.
    if _PUBLIC.intersection(words) or words[-2:] in (["key", "id"], ["token", "id"]):
        return None
    best: Rule | None = None
    for at, word in enumerate(words):
        rule = _rule_at(words, at, word, capitals=name.isupper())
        if rule is not None and _ABOUT.intersection(words[at + 1 :]):
            rule = is_random
        if rule is is_given:
            return rule
        best = rule or best
    return best


def _rule_at(words: list[str], at: int, word: str, *, capitals: bool) -> Rule | None:
    before = words[at - 1] if at else ""
    # `OPENAI_KEY`: who writes a name in capitals names a setting, not a column or a word of a text.
    setting = capitals and bool(before)
    rule: Rule | None = None
    header = word in _HEADERS and at == len(words) - 1
    if word in _ALWAYS or header or (word in ("key", "token") and before in _OPENS):
        rule = is_given
    elif word == "token":
        # The tokens of a text have this name too, so the value decides.
        rule = None if _PLACES.intersection(words) else is_mixed if setting else is_random
    elif word == "key":
        rule = is_random if before in _ALSO_OPENS or setting else None
    elif word in ("pass", "passe"):
        rule = is_mixed
    elif word in ("auth", "jwt", "csrf") or (word == "pat" and setting):
        rule = is_random
    return rule


def _words(name: str) -> list[str]:
    """Split a name at signs and capitals; plurals and joined words are taken apart."""
    found = []
    for word in _WORD.findall(name):
        lowered = word.lower()
        joined = _JOINED.fullmatch(lowered)
        if joined is not None:
            found += [joined["before"]] if joined["before"] else []
            found += ["api", "key"] if joined["word"] == "apikey" else [joined["word"]]
        elif lowered in ("keys", "cookies"):
            found.append(lowered[:-1])
        else:
            found.append(lowered)
    return found
