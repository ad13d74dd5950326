"""The words of speech, as data: how people announce, point, refuse, ask and close.

Each pattern is a table of phrases by sense, with a row for each language that is known. `speech`
says what they mean. Whoever adds a phrase adds a sentence that needs it, and one that it must not
catch, to tests/core/reading/test_speech.py.
"""

from __future__ import annotations

import re
from typing import Final

SENTENCE: Final = re.compile(
    r"(?<=[.!?\u2026\u3002\uff01\uff1f\u0964])[\"')\]*_\u201d]{0,3}(?:\s+|(?=[\u4e00-\u9fff\u3040-\u30ff]))|\n+|(?<=[\u3002\uff01\uff1f])"
)
# Short forms without their apostrophe, as one types in haste.
CONTRACTED: Final = re.compile(
    r"\b(let)(s)\b|\b(i)(m|ve)\b|(?:^|(?<=[.,!?;] )|(?<=\bso )|(?<=\band )|(?<=\bok ))(i)(ll)(?= )"
    r"|\b(don|doesn|didn|won|can|isn|aren|wasn|wouldn|couldn|shouldn|hasn|haven|mustn)(t)\b",
    re.IGNORECASE | re.MULTILINE,
)
DECORATION: Final = (
    " \t\n*_~`#>|-\u2013\u2014\u2192\u21d2\u25b6\u25ba\u2022\u00b7\"'\u201c\u201d()[]"
)
EMOJI: Final = re.compile(
    "[\u20e3\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f]+"
)

# Who says so does it; the later ones say no more than that if they begin what is said.
COMMITS: Final = (
    r"i(?:'ll| will| shall|(?:'m| am)(?: only| just| now| also| simply)? going to| need to| must| have to"
    r"|'m about to| am about to|'m gonna)|let me|lemme|allow me to"
)
BARELY: Final = r"going to|gonna|gotta|time to|need to|about to"
CLAUSE: Final = r"(?:^|^(?:(?:in order )?to|before|after|since|now that)\b[^,.;:]{1,80}?\s|[,;:\u2013\u2014-]\s*|\b(?:so|then|and|but|now|first|next|okay|ok|sure|therefore|thus|hence|because|which|that|what|means)\s+)"
QUOTED: Final = re.compile(
    r"[\"\u201c][^\"\u201c\u201d\n]{1,80}[\"\u201d]|(?<!\w)'[^'\n]{2,60}'(?!\w)"
)
PROMISE: Final = re.compile(
    r"(?:(?:^|[,;:]\s*|\b(?:so|then|and|but|now|first|next|okay|ok|sure|since|because)\s+)"
    rf"(?:{COMMITS})|^(?:(?:okay|ok|sure|alright|so|now)[,.!]?\s+)?(?:{BARELY}))\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
PROGRESS: Final = re.compile(
    rf"(?:{CLAUSE}i(?:'m| am)|\band am)\s+(?P<rest>.+)"
    r"|\b(?:moment|second|minute|on|wait|me),?(?: please,?)? while i(?:'m)?\s+(?P<while>.+)",
    re.IGNORECASE | re.DOTALL,
)

# Who takes part in the conversation.
INVOLVED: Final = re.compile(
    r"\b(?:i|me|my|we|us|our|you|your|users?|ich|mich|mir|wir|uns|sie|ihr|du|dich|nutzer\w*|benutzer\w*|je|j'|me|nous|vous|tu"
    r"|utilisat\w+|yo|usted|usuari\w+|eu|você|io|utente|ik|gebruiker|я|мне|мы|вы|пользовател\w+)\b"
    r"|我|您|你|用户|私|ユーザー|제가|사용자",
    re.IGNORECASE,
)
QUESTION: Final = re.compile(r"[?\uff1f\u061f][\"')\]\u201d*_]{0,3}\s*\Z")
INTERJECTION: Final = frozenset(
    (
        "sure thing ok okay gotcha alright all right great certainly absolutely of course yes yeah yep "
        "got it understood right away on it perfect good well hi hello hey thanks thank you hmm "
        "so then now next first finally fine done cool nice excellent awesome gladly my pleasure "
        "for that you this as requested problem sounds happy to help with lets see here we go "
        "ready course goes sorry apologies indeed please will do done one more and again greetings welcome natürlich "
        "gerne klar sicher alles verstanden gern jawohl ja bien sûr d'accord oui très claro por "
        "supuesto vale sí entendido perfecto certo va bene sì ótimo sim natuurlijk prima конечно "
        "хорошо да отлично 好的 好 没问题 当然 了解 明白 明白了 はい かしこまりました 承知しました 네 알겠습니다 oczywiście jasne "
        "tamam tabii favor bitte plaît hallo bonjour hola olá ciao привет 你好 こんにちは 안녕하세요"
    ).split()
)
# Who may be named before what a model says.
SPEAKERS: Final = frozenset({"assistant", "model", "ai", "bot", "agent"})
LABEL_WORDS: Final = frozenset(
    (
        "status progress here here's that's is are the this my our your now corrected right proper updated calling executing running invoking using making "
        "sending tool call function json request query search action command "
        "response answer input step steps plan todo tasks checklist next s it goes we go api to therefore thus hence accordingly"
    ).split()
)
# Behind a colon goes on what was announced before it.
GOES_ON: Final = re.compile(r":\s+(?!(?:i|let)\b)\S", re.IGNORECASE)
# The partner is to act.
YOUR_TURN: Final = re.compile(
    r"^(?:\w+,? )?(?:you|the users?|users?) (?!ask|want|said|gave|need|request|named|mention|told|chose)",
    re.IGNORECASE,
)
PURPOSE: Final = re.compile(
    r"\s(?:to|for|that)\s[^.,;:?]{0,40}\b(?:your|the|this) (?:request|task|question|query)\s*:?$"
    r"|\s(?:to|that will) do (?:that|this|so)(?: for you)?\s*:?$|\sfor (?:that|this|you)\s*:?$"
    r"|\s(?:i(?:'ll| will| am going to)|we(?:'ll| will)) (?:make|send|use|run|execute)\s*:?$",
    re.IGNORECASE,
)
LONGEST_LABEL: Final = 7
# A verb stands so near the start of its clause.
NEAR: Final = 80
SHORT: Final = 4
