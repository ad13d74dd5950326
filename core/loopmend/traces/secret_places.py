"""Where in a text secrets stand: by their own shape, and by the name before them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Final

from loopmend.traces.secret_names import (
    Rule,
    is_given,
    is_mixed,
    is_passphrase,
    is_random,
    rule_of,
)
from loopmend.traces.secret_shapes import Place, places_of_keys

__all__ = ["places_of_secrets"]

# What stands between a name and its value; Markdown's marks may stand around the sign. A pair is
# `{"name": …, "value": …}`, an argument the next text of a list, a cell the next one of a row.
_LINK: Final = re.compile(
    r"(?P<sign>(?:\\{0,7}[\"'`]\]?|[ \t]#?[0-9]{1,3})?\*{0,2}\s{0,8}(?:=>|:=|==?|:|%3[Dd])"
    r"(?:(?:\*{1,2}|__?)(?=[ \t]))?)\s{0,8}"
    # What pydantic says of a field that it refuses.
    r"|(?P<told>\n  [^\n]{1,200}\binput_value=)"
    r"|(?P<pair>\\{0,7}[\"']?,?\s{0,16}\\{0,7}[\"']?value\\{0,7}[\"']?\s{0,8}[:=]\s{0,8})"
    r"|(?P<next>\\{0,7}[\"']\s{0,8},\s{0,8})(?=\\{0,7}[\"'](?!-))"
    r"|(?P<cell>[*`]{0,3}[ \t]{0,40}\|[ \t]{0,40})"
    r"|(?P<close>>)|(?P<call>\(\s{0,8})(?=[\"'])"
    r"|(?P<is>(?:\s{1,4}(?:for|of|to|on|at)\s[^\s.,;:!?][^\n.,;:!?]{0,60}?)?"
    r"\s{1,4}(?:is|are|was|ist|lautet|est|→|->)\s{0,4}:?\s{1,4}"
    # `was changed to`, `is now set to`
    r"(?:(?:[a-z]{1,12}\s{1,4}){0,2}[a-z]{1,12}(?:ed|et)\s{1,4}to\s{1,4}|now\s{1,4})?)"
    r"|(?P<gap>[ \t]{1,8}(?:to[ \t]{1,8})?)(?!-)"
)
_NAME: Final = re.compile(r"[\w.-]*", re.ASCII)
_SIGNS: Final = "-._" + string.ascii_letters + string.digits
# A name holds one of these.
_WORD: Final = re.compile(
    r"pass|pw|secret|token|key|auth|cred|cookie|psk|jwt|csrf|sig|otp|_pat(?![a-z])|sess|kennwort|senha"
    r"|contrasena|wachtwoord|code(?==)"
)
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_LISTED: Final = re.compile(
    r"(?:name|key|field|selector)\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}\\{0,7}[\"']?#?$"
)
_FIRST_CELL: Final = re.compile(r"(?:^|[\r\n])[ \t]*\|[ \t*`]*(?:[A-Za-z]+ )?$")
_FIRST: Final = re.compile(r"(?:^|[\r\n])[ \t>*_#-]*(?:[A-Za-z]+ )?$")
# A block of YAML: all lines that are indented as the first is.
_BLOCK: Final = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:\r?\n|$)")
_LINES: Final = re.compile(
    r"(?P<indent>[ \t]+)(?P<lines>[^\r\n]+(?:\r?\n(?:(?P=indent)[^\r\n]*|(?=\r?\n)))*)"
)
_BEFORE: Final = re.compile(r"(?<![A-Za-z])([A-Za-z]+) $")
_QUOTE: Final = re.compile(r"(\\{0,7})([\"'`])")
_PAIR_AFTER: Final = r"\s|$|\\{0,7}[\"']?[\w.-]+\\{0,7}[\"']?\s?[=:]"
_BARE: Final = re.compile(
    r"(?:[^\s,;&)}\]<\"'`\\]"
    rf"|[,;&](?!{_PAIR_AFTER})"
    r"|[)}\]\"'`](?![\s,;.)}\]\"'`\\<]|$|:\s|:$)"
    r"|\\(?![nrt\"'\\]))+"
)
# A line that is a pair of its own, so the one before it has no value.
_NEXT_PAIR: Final = re.compile(r"[\w.-]{1,200}[ \t]?[=:][ \t]*[^\s=]")
# A call in a program: what makes the secret, or, of a class, what holds it.
_CALLED: Final = re.compile(
    r"(?:[A-Za-z_]\w{0,60}(?:\.|::|->|\?\.)){0,8}(?P<made>[A-Za-z_]\w{0,60})[!?]?"
    # or what is looked up.
    r"(?:\[(?:\\{0,7}[\"'`]|[0-9]{1,9}\]|[A-Za-z_]\w{0,60}[],.\[])|\("
    r"(?:(?P<quote>\\{0,7}[\"'`])|[).:&*\[{$]|[0-9]{1,9}\)|[A-Za-z_]\w{0,60}[\s,)=.(\[]))"
)
_NAME_AND_SECRET: Final = re.compile(
    r"\(\s?[\"'][^\"'\n]{0,100}[\"'],\s?[\"'](?P<secret>[^\"'\n]+)[\"']"
)
_SPLIT: Final = re.compile(r"[^a-z0-9]+")
_SETTING: Final = re.compile(r"[ \t]*(?:[\r\n,;}&)\"'<\\]|$)")
# After a scheme that is known anything is a secret, after another word what looks random.
_SCHEME: Final = re.compile(
    r"(?:(?P<known>(?i:bearer|basic|bot|digest|token|apikey|api-key|negotiate|aws4-hmac-sha256))"
    r"|[A-Za-z-]{2,16})\s{1,8}(?=\S)"
)
# A plural names a collection, which no lone word is.
_PLURAL: Final = re.compile(r"(?i:.*[^s]s)")
_TOKEN: Final = re.compile(r"[^\s\"'`\\]*")
_LINE: Final = re.compile(r"[^\r\n\"'`\\]*")
# What `Digest` says: pairs of which some are in quotes, `realm="x", response="…"`.
_PART: Final = r"[\w-]{1,60}=(?:\\{0,7}\"[^\"\\\r\n]*\\{0,7}\"|[^\s,;\"'`\\]*)"
_PARTS: Final = re.compile(rf"{_PART}(?:,\s{{0,8}}{_PART})+")
# What a server asks for: it says where, not who.
_CHALLENGE: Final = re.compile(
    r"realm=(?:\\{0,7}\"[^\"\\\r\n]*\\{0,7}\"|[^\s,;\"'`\\]*)(?!\s{0,8},)"
)
# One cookie that remembers a choice, not a person: a word, a language, a small number, a path, a
# time zone.
_CHOICE: Final = re.compile(
    r"[A-Za-z]{1,12}(?:[-_][A-Za-z]{2})?|[0-9]{1,5}|/[\w/.-]*|[A-Z][a-z]{1,12}(?:[/_][A-Z][a-z]{1,12}){1,4}|"
)
_COOKIE: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
# What RFC 6265 and its drafts let a server say about a cookie.
_ATTRIBUTE: Final = re.compile(r"(?i:expires|max-age|domain|path|samesite|priority)")
_QUERIED: Final = ("sig", "signature")
_SCHEMA: Final = re.compile(r"[\"'](?:type|\$ref|anyOf|oneOf|allOf)\\{0,7}[\"']\s*:")
_LONGEST_NAME: Final = 200
_INDENT: Final = 40
_PROBE: Final = 128
"""So much of a value without quotes is looked at to tell whether it is a secret."""
_MASK: Final = re.compile(r"\[[A-Za-z_ -]+\]")
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_HEADER: Final = re.compile(r"(?i:.*\b(authorization|cookie))")


def places_of_secrets(text: str) -> list[Place]:
    """Return where the secrets of a text stand, in any order; some may overlap.

    >>> text = "DB_PASS=hunter2 and max_tokens=512"
    >>> [text[start:end] for start, end in places_of_secrets(text)]
    ['hunter2']
    """
    lowered = text.lower()
    lowered = lowered if len(lowered) == len(text) else text.translate(_LOWER)  # some become two
    return [*places_of_keys(text, lowered), *_Named(text, lowered).places()]


class _Named:
    """The values of a text that have the name of a secret."""

    def __init__(self, text: str, lowered: str) -> None:
        self.text = text
        self.lowered = lowered

    def places(self) -> Iterator[Place]:
        """Go from name to name; a run of letters is gone through once."""
        text, at = self.text, 0
        while word := _WORD.search(self.lowered, at):
            before = text[max(at, word.start() - _LONGEST_NAME) : word.start()]
            start = word.start() - len(before) + len(before.rstrip(_SIGNS))
            if text[start - 1 : start] == "%":  # `%3Fapi_key%3D`: the sign before it, escaped
                start = min(start + 2, word.start())
            end = _NAME.match(text, word.end()).end()  # type: ignore[union-attr]
            link = _LINK.match(text, end)
            place = None if link is None else self.place(text[start:end], start, link)
            at = end if place is None else place[1]
            if place is not None:
                yield place

    def place(self, name: str, begin: int, link: re.Match[str]) -> Place | None:
        """Return where the value of a name stands, if it is a secret."""
        text, start = self.text, link.end()
        rule = self.rule(name, begin, link)
        if rule is None:
            return None
        header = _HEADER.fullmatch(name)
        if header is not None and link["sign"]:
            return self.header(header[1].lower(), start)
        if "\n" in link[0] and _NEXT_PAIR.match(text, start):
            return None
        quote = _QUOTE.match(text, start)
        if quote is not None:
            if text[begin - 1 : begin] == quote[0] and not link[0].startswith(quote[0]):
                return None  # it closes the text that the name begins: `input("Password: ")`
            return self.quoted(name, quote, rule)
        nests = rule is is_given and (link["sign"] or link["told"])
        if nests and text.startswith(("{", "["), start):
            return self.nested(start)
        if block := _BLOCK.match(text, start):
            return self.block(block.end(), rule)
        if rule is is_given and link["sign"] and self.is_first(begin, _FIRST):
            line = _LINE.match(text, start, start + _PROBE)[0].rstrip()  # type: ignore[index]
            if is_passphrase(line):
                return start, start + len(line)
        return self.bare(name, link, rule)

    def quoted(self, name: str, quote: re.Match[str] | None, rule: Rule) -> Place | None:
        """Return where a value in quotes stands."""
        if quote is None:
            return None
        place = quote.end(), self.closing(quote)
        value = self.text[place[0] : place[1]]
        return place if rule(value) and not _is_again(name, value, bare=False) else None

    def block(self, start: int, rule: Rule) -> Place | None:
        """Return where the lines of a block stand."""
        lines = _LINES.match(self.text, start)
        if lines is None or not rule(lines["lines"]):
            return None
        return lines.start("lines"), start + len(lines[0].rstrip())

    def bare(self, name: str, link: re.Match[str], rule: Rule) -> Place | None:
        """Return where a value without quotes stands; its end is looked for if it is a secret."""
        text, start = self.text, link.end()
        if (link["sign"] or link["is"]) and (called := _CALLED.match(text, start)):
            quote = _QUOTE.match(text, called.end() - len(called["quote"] or ""))
            # `SecretStr("…")` holds a secret, `getenv("…")` is told where to look.
            return self.quoted(name, quote, rule if called["made"][0].isupper() else is_random)
        probe = _BARE.match(text, start, start + _PROBE)
        if probe is None:
            return None
        if pair := _NAME_AND_SECRET.match(text, start):
            return pair.span("secret") if rule(pair["secret"]) else None
        if not is_given(probe[0].lstrip("(")):
            return None
        value = probe[0].rstrip(".?:")
        if link["cell"]:
            value = value.partition("|")[0]
        end = start + len(value)
        if link["is"] or "==" in (link["sign"] or ""):
            rule = is_mixed  # nor is the variable that a program compares with
        elif value.startswith("/") and "pwd" in name.lower():
            rule = is_random
        elif value.isalpha() and ":" in (link["sign"] or ""):
            # A word after a colon is a setting if nothing follows it, else a sentence goes on.
            alone = _SETTING.match(text, end) and not _PLURAL.fullmatch(name)
            rule = rule if alone else is_random
        if not rule(value) or not any(map(str.isalnum, value)) or _is_again(name, value, bare=True):
            return None
        whole = _BARE.match(text, start)
        return start, end if whole is None or whole.end() == probe.end() else whole.end()

    def rule(self, name: str, begin: int, link: re.Match[str]) -> Rule | None:
        """Return the test for the value of a name as it stands in the text."""
        before = self.text[max(0, begin - 24) : begin]
        if link["close"] and before[-1:] != "<":
            return None
        if before.endswith("${") and self.text.startswith(("?", "+"), link.end()):
            return None  # `${DB_PASSWORD:?must be set}`: what a shell says if there is none
        if name.lower() in ("key", "token", "keys", "tokens"):
            word = _BEFORE.search(before)
            name = f"{word[1]}_{name}" if word else name
        if link["call"] or (link["gap"] and not name.startswith("--")) or before.endswith(":"):
            # Only a value that no sentence and no path goes on with.
            return None if rule_of(name) is None else is_random
        if link["cell"]:
            return (
                is_mixed
                if rule_of(name) is is_given and self.is_first(begin, _FIRST_CELL)
                else None
            )
        if link["pair"] and not _LISTED.search(before):
            return None
        if link["next"]:
            if self.is_in_list(begin):
                return rule_of(name) if name.startswith("--") else None
            # `define("DB_PASSWORD", "…")`: who writes a name in capitals names a setting.
            capitals = is_mixed if name.isupper() else is_random
            return None if rule_of(name) is None else capitals
        queried = before.endswith(("?", "&"))
        if queried and (name.lower() in ("key", "code") or name.lower().endswith(_QUERIED)):
            return is_random
        return rule_of(name)

    def is_first(self, begin: int, pattern: re.Pattern[str]) -> bool:
        """Tell whether a name begins a line or a row, with marks or a word before it at most."""
        before = self.text[max(0, begin - _INDENT) : begin]
        return pattern.search(before if begin <= _INDENT else f"…{before}") is not None

    def is_in_list(self, begin: int) -> bool:
        """Tell whether the bracket before is that of a list, not of a call: that declares."""
        before = self.text[max(0, begin - _LONGEST_NAME) : begin]
        return before.rfind("[") > before.rfind("(")

    def header(self, kind: str, start: int) -> Place | None:
        """Return where a header's secret stands: all cookies, or what follows the scheme."""
        quote = _QUOTE.match(self.text, start)
        start = quote.end() if quote else start
        value = _LINE.match(self.text, start, start + _PROBE)[0]  # type: ignore[index]
        scheme = _SCHEME.match(value)
        start += scheme.end() if scheme else 0
        if scheme and _CHALLENGE.match(self.text, start):
            return None
        if scheme and (parts := _PARTS.match(self.text, start)):
            return parts.span()
        value = value[scheme.end() :] if scheme else value
        if kind == "cookie":
            found = any(self.is_crumb(pair) for pair in value.split(";"))
        else:
            found = is_given(value) if scheme and scheme["known"] else is_random(value)
        if not found:
            return None
        # A header that holds pairs is one to its end, else it is one word.
        rest = _LINE if "=" in value.rstrip("= \t") else _TOKEN
        end = rest.match(self.text, start).end()  # type: ignore[union-attr]
        return start, self.closing(quote) if quote else end

    @staticmethod
    def is_crumb(pair: str) -> bool:
        """Tell whether a cookie is more than a choice of its user's."""
        name, sign, value = pair.strip().partition("=")
        given = sign and _COOKIE.fullmatch(name) and not _ATTRIBUTE.fullmatch(name)
        return bool(given) and (rule_of(name) is not None or _CHOICE.fullmatch(value) is None)

    def closing(self, quote: re.Match[str]) -> int:
        """Return where the quoted text ends: at the same quote, escaped as often; else the line."""
        escapes, sign = len(quote[1]), quote[2]
        at = quote.end()
        # Only one quote of a kind is never closed: the next of its kind would close it.
        while (at := self.text.find(sign, at)) >= 0:
            before = at
            while before > quote.end() and self.text[before - 1] == "\\":
                before -= 1
            if (at - before) % (2 * escapes + 2) == escapes:
                return at - escapes
            at += 1
        end = self.text.find("\n", quote.end())
        return len(self.text) if end < 0 else end

    def nested(self, start: int) -> Place | None:
        """Return where the inside of brackets stands, unless it is a schema: that holds none."""
        head = self.text[start : start + _PROBE]
        if head.startswith("{{") or _MASK.match(head) or _SCHEMA.search(head):
            return None
        depth, end = 0, len(self.text)
        for bracket in _BRACKETS.finditer(self.text, start):
            depth += 1 if bracket[0] in "[{" else -1
            if depth == 0:
                end = bracket.start()
                break
        return (start + 1, end) if any(map(str.isalnum, self.text[start + 1 : end])) else None


def _is_again(name: str, value: str, *, bare: bool) -> bool:
    """Tell whether a value is the name once more: `api_key=key`, `"x-api-key": "X-API-Key"`.

    Without quotes it is a variable, which may have words of its own before two that are the same.

    >>> _is_again("self.api_key", "aws_api_key", bare=True), _is_again("pw", "my_pw", bare=True)
    (True, False)
    """
    if value[-1:].lower() != name[-1:].lower() or len(value) > _LONGEST_NAME:
        return False
    names, values = (_SPLIT.split(words.lower().strip("_")) for words in (name, value))
    least = min(len(values), 2) if bare else len(values)
    return names[-least:] == values[-least:]
