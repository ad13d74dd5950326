"""Secrets that are known by their own shape, whatever is said about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from loopmend.traces.secret_names import is_given, is_key_body, is_mixed, is_random

__all__ = ["Place", "places_of_keys"]

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
pat. pat-na1- pat-eu1- sat. API- fio-u- eyJrIjoi
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
# Commands that are told a password by a letter; after `mysql -p` a blank asks for one.
_OPTIONS: Final = (
    *(("sshpass", "-p ?"), ("login", "-p ?"), ("mysql", "-p"), ("mariadb", "-p")),
    *(("redis-cli", "-a "), ("zip", "-P ?"), ("ssh-keygen", "-[NP] ?")),
)
_TEXT: Final = r"[\"'][^\"'\n]{0,100}[\"']"
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
        ("private-lines", r"Private-Lines: [0-9]+(?P<secret>(?:\s+[\w+/=]+(?![\w+/=:-]))+)"),
        ("ia", r"(?<![A-Z0-9])(?P<secret>A(?:KI|SI|BI|CC)A[A-Z0-9]{16})(?![A-Z0-9])"),
        ("eyj", r"(?<![\w-])(?P<random>eyJ[\w-]{8,}(?:\.[\w-]+){1,4})"),
        ("bearer", r"(?i:\bbearer\s{1,8})(?P<random>[\w.~+/-]{16,}=*)"),
        # The password before a host, and a user that is a key itself.
        (
            "://",
            (
                r"(?<=://)(?:(?P<random>[^\s/:@\"'<>]{1,100})|[^\s/:@\"'<>]{0,100})"
                # which may hold the sign itself: the last one stands before the host
                r"(?::(?P<secret>[^\s/@\"'<>]{1,200}(?:@[^\s/@?,\"'<>]{0,200}){0,8}))?(?=@)"
            ),
        ),
        ("-u", r"(?<=\s)(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,100}:(?P<mixed>[^\s'\"]+)"),
        # A name and its password as two texts, as `requests` takes them.
        ("auth", rf"\bauth ?= ?\( ?{_TEXT}, ?[\"'](?P<secret>[^\"'\n]+)[\"']"),
        # What a client of a service takes without a name: its key, or its number and its key.
        (
            "client",
            (
                rf"Client\w{{0,20}}\(\s{{0,8}}(?:{_TEXT},\s{{0,8}})?"
                r"[\"'](?P<random>[\w+/=-]{24,})[\"']"
            ),
        ),
        ("identified", r"(?i:\bidentified (?:with \S{1,60} )?by )['\"](?P<secret>[^'\"\n]+)"),
        (
            "password",
            (
                r"(?i:\b(?:alter|create)\s{1,8}(?:user|role)\b[^\n;']{0,200}?\bpassword\s{1,8})"
                r"'(?P<secret>[^'\n]+)"
            ),
        ),
        ("requirepass", r"\brequirepass ['\"]?(?P<mixed>[^\s'\"]+)"),
        # How Go's drivers write what `://` begins elsewhere.
        ("@tcp(", r"(?<![\w.-])[\w.-]{1,64}:(?P<secret>[^\s@\"'<>]{1,200})@tcp\("),
        # `-----BEGIN ` in base64, if neither `CERT` nor `PUBL` comes next.
        ("ls0tls1crudjti", r"(?P<random>LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[\w+/=-]{16,})"),
        *(
            (word, rf"{word}[a-z-]{{0,8}}\b[^\n|;&]{{0,100}}? {option}['\"]?(?P<secret>[^\s'\"]+)")
            for word, option in _OPTIONS
        ),
        ("login", r"(?<=\blogin )(?P<random>[\w.~+/=-]{20,})"),
        ("-securestring", r"-SecureString(?: -String)? ['\"](?P<secret>[^\n'\"]+)"),
        # The lines of .pgpass, what crypt(3) makes of a password, and Discord's bots: a number in
        # base64, which starts so, the time, and a signature.
        (":5432:", r"(?<!\S)[\w.*-]{1,255}:5432(?::[^:\s]{1,64}){2}:(?P<random>[^:\s]+)(?!\S)"),
        ("$", r"(?P<random>\$(?:\d[abxy]?|y|apr1|argon2i?d?|scrypt)\$[\w./$=,+-]{20,})"),
        (".", r"(?<![\w.-])(?P<random>[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w.-])"),
        ("hooks.slack.com", r"hooks\.slack\.com/[a-z]+/(?P<secret>[\w+/]+)"),
        ("/webhooks/", r"/api/webhooks/[0-9]+/(?P<secret>[\w-]+)"),
        ("/webhookb2/", r"/webhookb2/(?P<secret>[\w@/-]+)"),
        (":aa", r"(?<![0-9])(?P<random>[0-9]{6,12}:AA[\w-]{30,35})(?![\w-])"),
        # All capitals, so no change of their kind tells chance from words.
        ("age-secret-key-1", r"(?P<secret>AGE-SECRET-KEY-1(?!X{9})[A-Z0-9]{16,})"),
        ("-us", r"(?<!\w)(?P<secret>[0-9a-f]{32}-us[0-9]{1,2})(?!\w)"),
        ("sk", r"(?<!\w)(?P<secret>SK[0-9a-fA-F]{32})(?!\w)"),
        ("key-", r"(?<![\w-])(?P<secret>key-[0-9a-f]{32})(?!\w)"),
        ("cio", r"(?<!\w)(?P<random>cio[A-Za-z0-9]{32})(?!\w)"),
        ("pat", r"(?<!\w)(?P<secret>pat[A-Za-z0-9]{14}\.[0-9a-f]{64})"),
        ("atlasv1", r"(?<!\w)(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,})"),
        ("q~", r"(?<![\w~.])(?P<secret>[\w~.]{3}[0-9]Q~[\w~.-]{31,34})"),
        ("access-", r"(?<!\w)access-(?:sandbox|development|production)-(?P<secret>[0-9a-f-]{36})"),
        ("access_token$", r"access_token\$\w+\$(?P<secret>\w+\$\w+)"),
    )
)
_BY_WORD: Final[dict[str, list[re.Pattern[str]]]] = {}
for _word, _pattern in _SHAPES:
    _BY_WORD.setdefault(_word, []).append(_pattern)
_MATCHED: Final = {"secret": is_given, "random": is_random, "mixed": is_mixed}


def places_of_keys(text: str, lowered: str) -> Iterator[Place]:
    """Yield where keys stand that a provider's prefix or a form of writing gives away.

    >>> text = "curl -u ann:hunter2 ftp.example.com"
    >>> [text[start:end] for start, end in places_of_keys(text, text)]
    ['hunter2']
    """
    for match in _PREFIXED.finditer(text):
        if is_key_body(match["body"]):
            yield match.span()
    for word in filter(lowered.__contains__, _BY_WORD):
        for pattern in _BY_WORD[word]:
            for match in pattern.finditer(text):
                yield from _matched(match)


def _matched(match: re.Match[str]) -> Iterator[Place]:
    for group, test in _MATCHED.items():
        if match.re.groupindex.get(group) and match[group] and test(match[group]):
            yield match.span(group)
