"""Where in a text secrets stand: keys by their prefix, and values by the name before them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Final

from loopmend.traces.secret_names import (
    Rule,
    is_given,
    is_key_body,
    is_mixed,
    is_passphrase,
    is_random,
    rule_of,
)

__all__ = ["places_of_secrets"]

Place = tuple[int, int]

# What providers start their keys with, as they document it; at least 16 random signs follow. Of
# models, of clouds, of forges and what is built on them, of payment and chat.
_STARTS: Final = """
sk- sk_ rk_live_ rk_test_ sess- gsk_ hf_ r8_ pplx- xai- fw_ csk- nvapi- lsv2_ ls__ pcsk_ tvly- jina_
tgp_v1_ llx- wandb_v1_ rpa_ e2b_ fc- ABSK AIza
LTAI ya29. GOCSPX- dop_v1_ doo_v1_ dor_v1_ nfp_ HRKU- fm2_ fo1_ dp.pt. dp.st. hvs. hvb. hvr. dapi
rnd_ sbp_ pscale_ pul- ops_eyJ fm1a_ fm1r_ tk-us- v1.0- sha256~ s-s4t2ud- s-s4t2af-
ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- ATBB
ATATT3 ATCTT3 npm_ pypi- rubygems_ dckr_pat_ dckr_oat_ sqp_ squ_ sqa_ CCIPAT_ bkua_ AKCp sntrys_
sntryu_ PMAK- glsa_ glc_ NRAK- NRRA- lin_api_ secret_ ntn_ figd_ sgp_ CFPAT- dt0c01. dt0s01. pnu_
rdme_ phx_ A3- p8e- cmVmd CLOJARS_ glffct- glimt- gloas- GR1348941 api_org_ ico-
pat. sat. API- fio-u- eyJrIjoi
whsec_ shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp- EAA rzp_live_ rzp_test_ FLWSECK- FLWSECK_TEST-
xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- SG. xkeysib- xsmtpsib- re_
duffel_live_ duffel_test_ shippo_live_ shippo_test_ EZAK EZTK sm_aat_ sm_pat_ sm_sat_ xoxe.
"""
_PREFIXES: Final = _STARTS.split()
# That one of the first letters comes next is told quickly, and mostly false.
_PREFIXED: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?=[{''.join(sorted({prefix[0] for prefix in _PREFIXES}))}])"
    rf"(?:{'|'.join(map(re.escape, _PREFIXES))})(?P<body>[\w+/-][\w.+/=-]{{14,}}[\w+/=-])",
    re.ASCII,
)
# Shapes that are more than a prefix, with a word that the text holds then, in lower case.
_SHAPES: Final = tuple(
    (word, re.compile(pattern, re.ASCII))
    for word, pattern in (
        # A key that is cut off is one all the same.
        (
            "private key",
            (
                r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
                r"(?P<secret>[\w+/=\s\\:,.]*(?:-(?!----)[\w+/=\s\\:,.]*)*)"
            ),
        ),
        ("ia", r"(?<![A-Z0-9])(?P<secret>A(?:KI|SI|BI|CC)A[A-Z0-9]{16})(?![A-Z0-9])"),
        ("eyj", r"(?<![\w-])(?P<random>eyJ[\w-]{8,}(?:\.[\w-]+){1,4})"),
        ("bearer", r"(?i:\bbearer\s{1,8})(?P<random>[\w.~+/-]{16,}=*)"),
        # Postgres and its like: the password before the host, and a user that is a key itself.
        (
            "://",
            (
                r"(?<=://)(?:(?P<random>[^\s/:@\"'<>]{1,100})|[^\s/:@\"'<>]{0,100})"
                r":(?P<secret>[^\s/@\"'<>]{1,200})(?=@)"
            ),
        ),
        ("-u", r"(?<=\s)(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,100}:(?P<mixed>[^\s'\"]+)"),
        # A name and its password as two texts, as `requests` takes them.
        ("auth", r"\bauth ?= ?\( ?[\"'][^\"'\n]{0,100}[\"'], ?[\"'](?P<secret>[^\"'\n]+)[\"']"),
        (" -p", r"\b(?:sshpass|login)\b[^\n|;&]{0,100}? -p ?['\"]?(?P<secret>[^\s'\"]+)"),
        # The lines of .pgpass, what crypt(3) makes of a password, and Discord's bots: a number in
        # base64, which starts so, the time, and a signature.
        (":5432:", r"(?m:^)[\w.*-]{1,255}:5432(?::[^:\s]{1,64}){2}:(?P<random>[^:\s]+)(?m:$)"),
        ("$", r"(?P<random>\$(?:\d[abxy]?|y|apr1|argon2i?d?|scrypt)\$[\w./$=,+-]{20,})"),
        (".", r"(?<![\w.-])(?P<random>[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w.-])"),
        ("hooks.slack.com", r"hooks\.slack\.com/[a-z]+/(?P<secret>[\w+/]+)"),
        ("/webhooks/", r"/api/webhooks/[0-9]+/(?P<secret>[\w-]+)"),
        ("/webhookb2/", r"/webhookb2/(?P<secret>[\w@/-]+)"),
        (":aa", r"(?<![0-9])(?P<random>[0-9]{6,12}:AA[\w-]{30,35})(?![\w-])"),
        ("sk-lf-", r"(?<!\w)(?P<secret>sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?!\w)"),
        # All capitals, so no change of their kind tells chance from words.
        ("age-secret-key-1", r"(?P<secret>AGE-SECRET-KEY-1(?!X{9})[A-Z0-9]{16,})"),
        ("-us", r"(?<!\w)(?P<secret>[0-9a-f]{32}-us[0-9]{1,2})(?!\w)"),
        ("sk", r"(?<!\w)(?P<secret>SK[0-9a-fA-F]{32})(?!\w)"),
        ("key-", r"(?<![\w-])(?P<secret>key-[0-9a-f]{32})(?!\w)"),
        ("pat", r"(?<!\w)(?P<secret>pat[A-Za-z0-9]{14}\.[0-9a-f]{64})"),
        ("atlasv1", r"(?<!\w)(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,})"),
        ("q~", r"(?<![\w~.])(?P<secret>[\w~.]{3}[0-9]Q~[\w~.-]{31,34})"),
        ("access-", r"(?<!\w)access-(?:sandbox|development|production)-(?P<secret>[0-9a-f-]{36})"),
        ("access_token$", r"access_token\$\w+\$(?P<secret>\w+\$\w+)"),
    )
)
_MATCHED: Final = {"secret": is_given, "random": is_random, "mixed": is_mixed}

# What stands between a name and its value; Markdown's marks may stand around the sign. A pair is
# `{"name": …, "value": …}`, an argument the next text of a list, a cell the next one of a row.
_LINK: Final = re.compile(
    r"(?P<sign>(?:\\{0,7}[\"'`]\]?)?\*{0,2}\s{0,8}(?:=>|:=|==?|:)"
    r"(?:(?:\*{1,2}|__?)(?=[ \t]))?)\s{0,8}"
    r"|(?P<pair>\\{0,7}[\"']?,?\s{0,16}\\{0,7}[\"']?value\\{0,7}[\"']?\s{0,8}[:=]\s{0,8})"
    r"|(?P<next>\\{0,7}[\"']\s{0,8},\s{0,8})(?=\\{0,7}[\"'](?!-))"
    r"|(?P<cell>[*`]{0,3}[ \t]{0,40}\|[ \t]{0,40})"
    r"|(?P<close>>)|(?P<is>\s{1,4}(?:is|are|was|ist|lautet|est)\s{0,4}:?\s{1,4})"
    r"|(?P<gap>[ \t]{1,8})(?!-)"
)
_NAME: Final = re.compile(r"[\w.-]*", re.ASCII)
_SIGNS: Final = "-._" + string.ascii_letters + string.digits
# A name holds one of these.
_WORD: Final = re.compile(
    r"pass|pwd|secret|token|key|auth|cred|cookie|jwt|csrf|sig|_pat(?![a-z])|sess|kennwort|senha"
    r"|contrasena|wachtwoord"
)
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_LISTED: Final = re.compile(r"(?:name|key)\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}\\{0,7}[\"']?$")
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
    r"|[)}\]\"'`](?![\s,;.)}\]\"'`\\<]|$)"
    r"|\\(?![nrt\"'\\]))+"
)
_SETTING: Final = re.compile(r"[ \t]*(?:[\r\n,;}&)\"'<\\]|$)")
_SCHEME: Final = re.compile(
    r"(?i:bearer|basic|bot|digest|token|apikey|api-key|negotiate|aws4-hmac-sha256)\s{1,8}"
)
_TOKEN: Final = re.compile(r"[^\s\"'`\\]*")
_LINE: Final = re.compile(r"[^\r\n\"'`\\]*")
# One cookie that remembers a choice, not a person: a word, a language, a small number, a path.
_CHOICE: Final = re.compile(r"[A-Za-z]{1,12}(?:[-_][A-Za-z]{2})?|[0-9]{1,5}|/[\w/.-]*|")
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
    """Return where the secrets of a text stand, in order and apart from each other.

    >>> text = "DB_PASS=hunter2 and max_tokens=512"
    >>> [text[start:end] for start, end in places_of_secrets(text)]
    ['hunter2']
    """
    lowered = text.lower()
    lowered = lowered if len(lowered) == len(text) else text.translate(_LOWER)  # some become two
    found = [match.span() for match in _PREFIXED.finditer(text) if is_key_body(match["body"])]
    for word, pattern in _SHAPES:
        if word in lowered:
            found += [place for match in pattern.finditer(text) for place in _matched(match)]
    found += _Named(text, lowered).places()
    return merged(found)


def merged(places: list[Place]) -> list[Place]:
    """Return places in order, those that overlap as one; empty ones are dropped."""
    made: list[Place] = []
    for start, end in sorted(place for place in places if place[0] < place[1]):
        if made and start < made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _matched(match: re.Match[str]) -> Iterator[Place]:
    for group, test in _MATCHED.items():
        if match.re.groupindex.get(group) and match[group] and test(match[group]):
            yield match.span(group)


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
        quote = _QUOTE.match(text, start)
        if quote is not None:
            if text[begin - 1 : begin] == quote[0] and not link[0].startswith(quote[0]):
                return None  # it closes the text that the name begins: `input("Password: ")`
            place = quote.end(), self.closing(quote)
            return place if rule(text[slice(*place)]) else None
        if rule is is_given and link["sign"] and text.startswith(("{", "["), start):
            return self.nested(start)
        if block := _BLOCK.match(text, start):
            return self.block(block.end(), rule)
        if rule is is_given and link["sign"] and self.is_first(begin, _FIRST):
            line = _LINE.match(text, start, start + _PROBE)[0].rstrip()  # type: ignore[index]
            if is_passphrase(line):
                return start, start + len(line)
        return self.bare(name, link, rule)

    def block(self, start: int, rule: Rule) -> Place | None:
        """Return where the lines of a block stand."""
        lines = _LINES.match(self.text, start)
        if lines is None or not rule(lines["lines"]):
            return None
        return lines.start("lines"), start + len(lines[0].rstrip())

    def bare(self, name: str, link: re.Match[str], rule: Rule) -> Place | None:
        """Return where a value without quotes stands; its end is looked for if it is a secret."""
        text, start = self.text, link.end()
        probe = _BARE.match(text, start, start + _PROBE)
        if probe is None:
            return None
        if not is_given(probe[0]):
            return None
        value = probe[0].rstrip(".?:")
        if link["cell"]:
            value = value.partition("|")[0]
        end = start + len(value)
        if link["is"]:
            rule = is_mixed
        elif value.startswith("/") and "pwd" in name.lower():
            rule = is_random
        elif value.isalpha() and ":" in (link["sign"] or ""):
            # A word after a colon is a setting if nothing follows it, else a sentence goes on.
            rule = rule if _SETTING.match(text, end) else is_random
        if not rule(value):
            return None
        whole = _BARE.match(text, start)
        return start, end if whole is None or whole.end() == probe.end() else whole.end()

    def rule(self, name: str, begin: int, link: re.Match[str]) -> Rule | None:
        """Return the test for the value of a name as it stands in the text."""
        before = self.text[max(0, begin - 24) : begin]
        if link["close"] and before[-1:] != "<":
            return None
        if link["gap"] and not name.startswith("--"):
            # Only a value that no sentence goes on with.
            return None if rule_of(name) is None else is_random
        if name.lower() in ("key", "token", "keys", "tokens"):
            word = _BEFORE.search(before)
            name = f"{word[1]}_{name}" if word else name
        if link["cell"]:
            return (
                is_mixed
                if rule_of(name) is is_given and self.is_first(begin, _FIRST_CELL)
                else None
            )
        if link["pair"] and not _LISTED.search(before):
            return None
        if link["next"]:
            return rule_of(name) if name.startswith("--") and self.is_in_list(begin) else None
        queried = before.endswith(("?", "&"))
        if queried and (name.lower() == "key" or name.lower().endswith(_QUERIED)):
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
        value = value[scheme.end() :] if scheme else value
        if kind == "cookie":
            found = any(self.is_crumb(pair) for pair in value.split(";"))
        else:
            found = is_given(value) if scheme else is_random(value)
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
        return bool(sign) and (rule_of(name) is not None or _CHOICE.fullmatch(value) is None)

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
