"""The senses of verbs, as data: what one does with tools, with texts, and in place of a call.

`phrases` says how to add one.
"""

from __future__ import annotations

import re
from typing import Final

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
