"""The words of attitudes, as data: how people deny, suppose, forbid, ask leave and wait.

`phrases` says how to add one.
"""

from __future__ import annotations

import re
from typing import Final

# How other languages deny.
FOREIGN_NOT: Final = (
    r"\b(?:nichts?|nada|rien|niente|niets|ничего|kein\w*|nie|niemals|keinesfalls|pas|jamais|aucun\w*|não|nunca|jamás|ningún|niet|geen"
    r"|non|mai|не|нельзя|никогда|inte|ikke|değil|tidak|jangan|không|đừng)\b|[不没沒別别勿未莫]|ません|ない|ずに|せず"
    r"|않|못|말고|नहीं|\bमत\b|\bلا\b|\bلن\b|\bلم\b|ไม่"
)
NEGATION: Final = re.compile(
    r"\b(?:not|never|no|nor|none|nothing|nobody|cannot|without|neither|instead|rather than)\b"
    rf"|n't\b|\bne\s|\bn'|{FOREIGN_NOT}"
    r"|\b(?:refus|declin|forbid|forbidden|prohibit|avoid|ignor|reject|unsafe|dangerous|harmful"
    r"|suspicious|malicious|injection|injected|hostile|phishing|attacker|hypothetical|pretend)\w*",
    re.IGNORECASE,
)
SUPPOSES: Final = re.compile(
    r"\b(?:if|unless|would|could|might|may|when|whenever|in case|provided|assuming|suppose|were to"
    r"|wenn|falls|würde\w*|könnte\w*|sofern|si|sauf|pourrai\w*|se|podría|seria|caso|als|zou"
    r"|если|бы|jeśli|eğer)\b|\b\w+(?:seniz|sanız|[ıiuü]rsa|[ei]rse)\b|如果|假如|若|的话|もし|たら|れば|만약|면\s",
    re.IGNORECASE,
)
NOT_SUPPOSED: Final = re.compile(
    r"\bwould (?:like|love|be happy) to\b|'d (?:like|love) to\b"
    r"|\b(?:see|check|verify|determine|know|confirm|find out|tell|ask|wonder|sure|whether or not) if\b",
    re.IGNORECASE,
)
LEAVE: Final = re.compile(
    r"\b(?:(?:your|for|need|needs|await|awaiting|requires?|pending|without) confirmation|(?:please|can you|could you|must|should|you) confirm|(?<!i'll )(?<!will )confirm (?:first|that|if|whether|before|this|it|with)|permission|approv(?:e|al)|authori[sz]\w*|consent|go ahead\?|proceed\?|continue\?"
    r"|shall i|should i|may i|can i|could i|do you want|would you like|want me to|like me to"
    r"|is (?:this|that|it) (?:ok|okay|fine|right|correct|what you)|sound good|okay with you|ok with you"
    r"|are you sure|say the word|waiting for your|await\w* your|your (?:go-ahead|ok|okay|call|decision)"
    r"|bestätig\w*|soll ich|darf ich|möchten sie|einverstanden|confirme[zr]?|confirma|souhaitez|voulez-vous"
    r"|dois-je|puis-je|debo|quieres que|quiere que|confirma|posso|devo|quer que|vuoi che|zal ik"
    r"|mag ik|подтверд\w*|можно|ister mi\w+|onay\w*|czy mam|potwierdź|vill du|ska jag|skal jeg)\b|هل تريد|موافقتك|确认|可以吗|是否|好吗|よろしい|確認|でしょうか|ますか|ましょうか|할까요|확인",
    re.IGNORECASE,
)
# Leave that is there, and that was given.
GIVEN: Final = re.compile(
    r"(?<!n't )(?<!not )\b(?:have|has|got|received|given|covers?)\b[^.?!]{0,60}\b(?:approval|confirmation|permission|consent|go-ahead)\b",
    re.IGNORECASE,
)
THANKS: Final = re.compile(
    r"(?:thank|danke|merci|gracias|obrigad|grazie|dank|dzięk|спасибо|teşekkür|tack)|谢谢|ありがとう|감사",
    re.IGNORECASE,
)
CONDITION: Final = re.compile(
    r"^\w+ed$|\b(?:only|after|before|until|unless|later|preview|dry|test|simulat\w*|example|draft|skip\w*|later)\b",
    re.IGNORECASE,
)
# What a plan leaves alone is not what it is about.
NOT_THE_REST: Final = re.compile(
    r"\b(?:ones?|that|which|what|\w+s) you (?:don't|do not|no longer) (?:need|use|want)\b(?! me| to)"
    r"|\b(?:i |we )?(?:won't|will not|don't|do not)\b[^.;,]{0,40}(?:\b(?:else|others?|rest)\b|[,;] (?:only|just) (?=the\b|your\b|my\b|our\b|/))",
    re.IGNORECASE,
)
ACT: Final = (
    "run|execut|do|doing|call|follow|compl|perform|mak|send|us(?:e|ing)|invok|obey|act|trust|proceed"
    "|touch|delet|wip|carry|go|go ahead|try|issue|submit|trigger|emit|honou?r|process|allow"
)
REFUSES: Final = re.compile(
    rf"(?:\bnot|n't|\bcannot|\bnever|\bwithout)\s+(?:\w+\s+){{0,2}}(?:{ACT})\w*"
    r"|\b(?:no (?:\w+ )?(?:action|call|command|tool)s?|refus\w*|declin\w*|ignor\w*|forbidden|(?<!nothing )forbid\w*|prohibited|unsafe|dangerous|harmful"
    r"|suspicious|malicious|inject\w*|hostile|phishing|attacker\w*|hypothetical\w*|pretend\w*|suppose"
    rf"|imagine|verboten)\b|\bnobody (?:may|must|should|shall|is allowed)\b|{FOREIGN_NOT}",
    re.IGNORECASE,
)
# A refusal in so few words that what is refused is not said: its negation comes last.
DECLINES: Final = re.compile(
    r"(?:\b(?:no|not|never|nope|cannot|nein|non|nie|niet|нет)|n't)(?:[ ,]+(?:it|that|this|so|yet|now|today|here"
    r"|thanks|thank you))*[.!]*$",
    re.IGNORECASE,
)
# A word that takes back what was said before it.
STOPS: Final = re.compile(
    r"(?:(?:no|nope|wait|stop)(?=\s*[,.!]|$)|scratch that|never ?mind)", re.IGNORECASE
)
# What a label says of what it is for.
NOT_REAL: Final = frozenset("dry preview draft sample template mock simulation demo".split())
NO_PROBLEM: Final = re.compile(
    r"\b(?:no problem|no worries|not a problem|why not|nothing else|no time)\b", re.IGNORECASE
)
