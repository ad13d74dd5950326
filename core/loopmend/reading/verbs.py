"""The senses of verbs, as data: what one does with tools, with texts, and in place of a call.

`phrases` says how to add one.
"""

from __future__ import annotations

import re
from typing import Final

# What one does with tools. What a tool's own name says counts as well; any other verb may as well be
# one of saying, showing, leaving or putting off.
DOING: Final = frozenset(
    (
        "call run execute invoke use search look check find fetch get query retrieve make do start begin "
        "proceed go try perform delete remove clean clear write send create open read list load compute "
        "calculate book update add set schedule take handle process issue request pull gather verify "
        "review examine inspect analyze analyse investigate browse explore scan dig consult grab trigger "
        "launch submit apply fix resolve reset modify change exchange return transfer handoff hand delegate "
        "convert determine figure generate compile build install download upload save store move rename "
        "post publish order purchase buy pay refund lookup confirm access visit navigate click tap play "
        "enter log fill complete finish continue carry act tackle attempt help answer empty drop purge nuke "
        "erase kill kick fire hit ping test measure count sum record extract collect obtain work "
        "retry rerun resend reissue redo reattempt correct free tidy sort restore restart rebuild recreate "
        "sweep flush prune scrub replace edit insert import export"
    ).split()
)
# What a speaker does without any tool: stay, hope, help, say.
STAYING: Final = frozenset(
    (
        "be have help assist wait await keep stay remain always never love miss ensure support answer "
        "respond reply want like appreciate show explain describe tell say note mention point suggest "
        "recommend know let think hope remember leave share walk guide introduce summarize summarise "
        "break focus refer cherish strive stick stop end conclude assume illustrate outline"
    ).split()
)
# What a speaker only is at, if it says that it is at it.
STAYING_NOW: Final = frozenset("will ask go try wonder plan feel open do work".split())
# Verbs that lead to another one.
LIGHT: Final = frozenset("need have want try start begin proceed go use continue".split())
STAYING_PHRASE: Final = re.compile(
    r"(?:look(?:ing)? forward|make sure|make it|(?:try|do) my|do (?:everything|it again)|take care"
    r"|(?:start|begin|go) with|(?:need|give|provide|call) you|continue to|follow up|use the following"
    r"|writing to|sending this)\b"
)
# What one does in place of a call: nothing yet, or to show it.
HOLDING_BACK: Final = frozenset(
    (
        "stop cancel hold wait skip leave abort pause refuse decline avoid postpone defer delay quit "
        "withhold refrain back keep stay ask block reject ignore deny warn flag report suspend dismiss"
    ).split()
)
SHOWING: Final = frozenset(
    (
        "show quote cite paste copy reproduce repeat include attach share describe illustrate "
        "demonstrate explain print display mention summarize summarise translate"
    ).split()
)
# What one does with a result.
TELLING: Final = frozenset(
    "tell let give provide report know have update notify inform come respond reply see".split()
)
ADVERBS: Final = frozenset(
    (
        "now first then also just quickly simply next immediately again actually please definitely "
        "certainly gladly happily carefully only right away ahead directly straight therefore thus "
        "instead finally further promptly"
    ).split()
)
ADVERB_WORDS: Final = ADVERBS | frozenset(
    "and to go start by begin try need have want proceed use this that be".split()
)
# What makes a call where a text of one is the object; any other verb works on the text.
MAKING: Final = frozenset(
    "mak cal run execut invok us issu trigger send submit do perform start try".split()
)
# What one does to a text that stands here, if `it` or `this` is the object.
KEEPING: Final = frozenset(
    "writ post sav log record stor publish put add copy past not shar keep".split()
)
IT: Final = re.compile(r"^(?:\w+ ){1,3}?(?:it|this|that|these|them)\b", re.IGNORECASE)
TEXT_OF_A_CALL: Final = re.compile(
    r"\b(?:calls?|commands?|instructions?|snippets?|payload|line|message|text|quotes?|story|excerpt|passage|malware|poem"
    r"|transcript)\b",
    re.IGNORECASE,
)
# What somebody else did, as an object.
SOMEBODYS: Final = re.compile(
    r"\b(?:what|how|why) (?!i\b|you\b|we\b|comes\b|is\b|many\b|much\b|long\b|far\b)", re.IGNORECASE
)
# What the speaker has before it, not what it does.
PERCEIVES: Final = re.compile(
    r"[,;]\s*i (?:can |could )?(?:see|notice|find|found|saw)\b|\bi(?:'m| am) reading (?:from|out|this|that)\b",
    re.IGNORECASE,
)
PAST: Final = re.compile(r"\b(?:was|were|had|did|[^\W\d_]+ed)\b", re.IGNORECASE)
