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
# Who says so may do it.
INTENDS: Final = (
    r"i(?: want to| should|'d like to| would like to| can(?: now)?|'ve decided to| have decided to)"
    r"|let's|let us|we(?:'ll| will| need to| should| can| have to| must)|i'm ready to|i am ready to|happy to"
)
SUBJECT: Final = rf"(?:{COMMITS}|{BARELY}|{INTENDS})"
CLAUSE: Final = r"(?:^|^(?:(?:in order )?to|before|after|since|now that)\b[^,.;:]{1,80}?\s|[,;:\u2013\u2014-]\s*|\b(?:so|then|and|but|now|first|next|okay|ok|sure|therefore|thus|hence|because|which|that|what|means)\s+)"
THIS_IS: Final = re.compile(
    r"(?:so )?(?:this|that|these)(?:'s| is| are) (?:what|how)\b", re.IGNORECASE
)
# What an act goes by: nobody does anything in it.
ACCORDING_TO: Final = re.compile(
    r"(?:as )?(?:per|according to|based on|in line with|because of|due to)\b", re.IGNORECASE
)
# What is left alone, and what is not.
SPARES: Final = re.compile(
    r"(?:keep|leav|skip)\w*\b.{1,100}\band (?:then |only |just )?(?P<rest>.*)", re.IGNORECASE
)
FIRST_WORD: Final = re.compile(r"([^\W\d_]+) (?=\S)")
SELF: Final = re.compile(
    r"\b(?:i|me|we|us|my|ich|mich|wir|je|nous|yo|eu|io|ik|я|мне)\b|我|私|제가", re.IGNORECASE
)
QUOTED: Final = re.compile(
    r"[\"\u201c][^\"\u201c\u201d\n]{1,80}[\"\u201d]|(?<!\w)'[^'\n]{2,60}'(?!\w)"
)
TO_DO_SO: Final = re.compile(
    r"^(?:to do (?:this|that|so)|for (?:this|that)|with (?:this|that)|in this case|because of this|after (?:this|that)|based on this)\b,?",
    re.IGNORECASE,
)
PLAN: Final = re.compile(rf"{CLAUSE}{SUBJECT}\s+(?P<rest>.+)", re.IGNORECASE | re.DOTALL)
COMING: Final = re.compile(rf"\b{SUBJECT}\s+(?P<rest>.+)", re.IGNORECASE | re.DOTALL)
PROMISE: Final = re.compile(
    r"(?:(?:^|[,;:]\s*|\b(?:so|then|and|but|now|first|next|okay|ok|sure|since|because)\s+)"
    rf"(?:{COMMITS})|^(?:(?:okay|ok|sure|alright|so|now)[,.!]?\s+)?(?:{BARELY}))\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
# What is done now, as people say who do not say `I am doing`.
PRESENT: Final = re.compile(
    rf"{CLAUSE}(?<!\bthat )(?<!\bwhat )(?<!\bwhich )i\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
PROGRESS: Final = re.compile(
    rf"(?:{CLAUSE}i(?:'m| am)|\band am)\s+(?P<rest>.+)"
    r"|\b(?:moment|second|minute|on|wait|me),?(?: please,?)? while i(?:'m)?\s+(?P<while>.+)",
    re.IGNORECASE | re.DOTALL,
)

# Of `it`, in the past or in the third person.
REPORTS: Final = re.compile(
    r"\b(?:it|this|that)\b.{0,40}\b(?:was|were|came|had|comes|stood|stands|yesterday|earlier|ago)\b"
    r"|\b(?:\w+(?:ed|ote|id|ent|ame|ound)|ran|began)\b.{0,20}\b(?:it|this)\b",
    re.IGNORECASE,
)
# What somebody did to something, as in a story: a verb in the past with its object, or `had done`.
_OBJECT: Final = (
    r"(?:the|an?|this|that|these|those|it|its|his|her|their|them|him|every|each|all|both|one|some|another|two|three"
    r"|several|whatever|everything|[\"'`/~]\S*)"
)
NARRATES: Final = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bbeen )(?<!\bhas )(?<!\bhave )"
    r"\b(?:(?!need)[^\W\d_]{2,}ed|took|ran|sent|wrote|made|told|gave|left|got|saw|said|built|brought|broke|began|chose"
    rf"|threw|kept|lost|stole|went|came|found|held|did|shut|let|drove|hid) (?:[^\W\d_]+ly |up |down |off |out )?{_OBJECT}\b"
    r"|\b(?:was|were|got|been) [^\W\d_]+(?:ed|en|ne|nt|pt) by\b|\bhad (?:\w+ly |never |just |already |once )?[^\W\d_]+(?:ed|en|wn|ne|nt|it|un|ade)\b"
    r"|\b(?:hat|haben|hatte|hatten|wurde|wurden)\b.{0,80}?\b(?:\w*ge\w+(?:t|en)|\w+iert)\b"
    r"|\b(?:a|ont|avait|avaient) (?:\w+ment )?[^\W\d_]+(?:é|és|ée|ées|i|u|is|it|ert) (?:le|la|les|l'|un|une|ce|cette|son|sa)"
    r"|\b(?:ha|han|había|habían|hanno|aveva|tinha|teve) [^\W\d_]+(?:[ai]do|[aiu]to)\b|\b[^\W\d_]{2,}ó\b"
    r"|\b[^\W\d_]{2,}(?:ал|ил|ел|ыл|ул|ала|ила|ела|ула|али|или|ели|ули)\b|ました|していた|했습니다|했다|把.{1,20}了",
    re.IGNORECASE,
)
# What comes of a step is no story: it leads to the next one.
OUTCOME: Final = re.compile(
    r"\b(?:returned|showed|gave|found|confirmed|revealed|listed|contained|included|reported|turned up|came back|left)\b",
    re.IGNORECASE,
)
# How the things at hand stand, as one says who works on them: `the`, `your` or `no` thing is somehow,
# not a thing of some kind, and not somebody else's.
STATES: Final = re.compile(
    r"(?:^|[,;:\u2013\u2014]\s*|\b(?:and|but|so|since|because|that|now|as)\s+)"
    r"(?:(?:the|your|our|my|all|both|no|every|each)\s[^,;:.']{1,80}?\s"
    r"|(?:everything|everyone|nothing|nobody|no one|it|they|there)(?:\s|(?='(?:s|re)\b)))"
    r"(?:is|are|ha(?:s|ve) been|'s|'re)\s"
    r"(?!an?\b|the\b|what\b|how\b|why\b|who\b|where\b|one of\b|for\b|from\b|used\b|called\b|by\b)",
    re.IGNORECASE,
)
# A sentence of who talks: its subject, at the start of a clause, is the speaker, the partner or the task.
CONVERSES: Final = re.compile(
    r"(?:^|[,;:\u2013\u2014]\s*|\b(?:and|but|so|then|because|since|that|now|as|if|while|which|what|where|like)\s+)"
    r"(?:i|we|you|users?|(?:the|this|my|our) (?:user|customer|client|human)s?|let|here goes|this (?:needs|requires|calls for))\b|\bi'(?:m|ll|ve)\b",
    re.IGNORECASE,
)
# Who takes part in the conversation.
INVOLVED: Final = re.compile(
    r"\b(?:i|me|my|we|us|our|you|your|users?|ich|mich|mir|wir|uns|sie|ihr|du|dich|nutzer\w*|benutzer\w*|je|j'|me|nous|vous|tu"
    r"|utilisat\w+|yo|usted|usuari\w+|eu|você|io|utente|ik|gebruiker|я|мне|мы|вы|пользовател\w+)\b"
    r"|我|您|你|用户|私|ユーザー|제가|사용자",
    re.IGNORECASE,
)
# The call is what a preposition before a colon is about.
HANGS: Final = re.compile(
    r"\b(?:about|of|from|via|through|against|at)\s*[:\uff1a]\s*$", re.IGNORECASE
)
# Words that nothing ends with.
UNFINISHED: Final = re.compile(
    r"\b(?:is|are|was|were|be|been|with|to|that|of|as|by|like|and|or|than|the|an?|from|for|into|says|reads?|would \w{1,20}|could \w{1,20}"
    r"|ist|sind|war|mit|zu|dass|wie|und|oder|der|die|das|von|est|sont|avec|que|de|comme|et|ou|le|la|es|son"
    r"|con|como|y|o|el)\s*$|[がをはにでとの是为]\s*$",
    re.IGNORECASE,
)
# Who speaks, and to whom.
PARTNER: Final = re.compile(r"\b(?:i|we|you|your|my|our)\b", re.IGNORECASE)
QUESTION: Final = re.compile(r"[?\uff1f\u061f][\"')\]\u201d*_]{0,3}\s*\Z")
# Words for the call itself, for a text, and for pointing at either.
REFERENCE: Final = re.compile(
    r"\b(?:this|these|those)(?=\s*(?:[?.!,:;]|$)|\s+(?:is|was|are|were|call|command|action|one|text"
    r"|instruction|line|snippet|code|block|way|form|format|message|output|string|payload|request))"
    r"|\bis (?:this|that|it) (?:how|what)\b|\b(?:the following|following|below|as follows|like (?:this|so)|such as|e\.g\b|for example"
    r"|examples?|snippets?|instructions?|(?<!/)logs?|transcript|payload|injection|syntax|commands?"
    r"|tool calls?|function calls?|the calls?|a call|calls? (?:that|which)|invocation"
    r"|said|wrote|emitted|ran|executed|invoked|attempted|tried|suggested|proposed|quot\w+"
    r"|documentation|docs|manual|tutorial|reads|says|contains|contained|looks? like|verbatim|attacker"
    r"|(?:what|this is what)(?:'s| is| was| were) (?:in|on|written)"
    r"|folgend\w*|aufruf|befehl|beispiel|enthält|lautet|steht"
    r"|suivant\w*|exemple|appel|commande|contient"
    r"|siguiente|ejemplo|llamada|comando|contiene|seguinte|exemplo|chamada|contém"
    r"|seguente|esempio|chiamata|volgende|voorbeeld|aanroep|bevat"
    r"|следующ\w+|пример|вызов|команд\w*|содержит)\b"
    r"|\b(?:esto|isto|questo|ceci|cela|dies|это|bunu|şunu)\b"
    r"|这样|以下|下面|如下|例子|示例|调用|命令|包含|写着|次の|コマンド|呼び出し|例えば|다음|예시|호출",
    re.IGNORECASE,
)
# What a finished sentence points with at a text that follows it.
POINTS: Final = re.compile(
    r"(?<!for )(?<!with )(?<!about )(?<!do )(?<!does )(?<!exactly )(?<!just )(?<!doing )(?<!on )(?<!of )\b(?:this|these|those)(?=\s{0,3}[?.!:;]?\s{0,3}$"
    r"|\s+(?:is|was|are|were) (?:an?|the|what|how|from|one|just|only|taken|copied|quoted)\b|\s+(?:in|into|inside|under|onto) (?:the|an?|your|our|its|their)\b)"
    r"|^what (?:you|they|he|she)\b.{1,80}?\b(?:is|was|are|were) (?:only|just|merely|an?)\b"
    r"|\b(?:the following|below(?! (?:it|the|that|this)\b)|as follows|like (?:this|so)|such as|for example|examples?|verbatim"
    r"|folgend\w*|beispiel|(?<!étape )(?<!tâche )suivant\w*|exemple|siguiente|ejemplo|seguinte|exemplo|seguente|esempio|volgende"
    r"|voorbeeld|следующ\w+|пример)\b"
    r"|onderstaand\w*|这样|以下|下面|如下|例子|示例|次の|例です|このように|다음|예시|이렇게",
    re.IGNORECASE,
)
# What a colon hands over: a text, not a call.
HANDS_OVER: Final = re.compile(
    r"\b(?:string|text|line|message|instruction|snippet|payload|prompt|sentence|example|output|log|entry"
    r"|words|pattern|reply|answer|email|comment|paragraph|passage)s?\s*[:\uff1a]\s*$",
    re.IGNORECASE,
)
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
EXPLAINS: Final = re.compile(
    r"^(?:(?:explanation|reasoning|reason|rationale|purpose)\s*:|(?:note\s*[:\u2013-]\s*)?"
    r"(?:(?:(?:this|these|that|it|which|here,?)"
    r"(?:\s+(?:function|tool|call|code|line|query|request|command|search|action))*|the (?:above|call|calls|function|functions|tool|tools|command|code|action"
    r"|query|search|request|line|lines|api|result|results|output|response|parameters?|arguments?)"
    r"(?:\s+[`'\"]?[\w.]+[`'\"]?)*?)\s+"
    r"(?:will|should(?! be\b)|is going to|is used to|are used to|uses?|calls|returns?|gets?|fetch\w*|retriev\w*"
    r"|search\w*|finds?|calculat\w*|comput\w*|looks?|checks?|gives?|provides?|tells?|does|do|removes?"
    r"|deletes?|cleans?|clears?|sends?|runs?|invok\w*|quer\w*|takes?|specif\w*|represents?|sets?|requests?"
    r"|is (?:called|for (?!you\b|training|testing|tests|reference|illustration)|needed|necessary|required)|are (?:set|the))\b"
    r"|i(?:'m| am) (?:using|calling|searching|running|looking|requesting|passing|setting)\b|i(?:'ve| have) (?:just |now )?(?:started|initiated|requested|triggered|begun|sent the (?:request|call))\b|i (?:chose|picked|selected)\b"
    r"|(?:dies|das|dieser aufruf|cela|ceci|cet appel|esto|esta llamada|isso|questo|dit|это)\s+\w+))",
    re.IGNORECASE,
)
# What a call beside it does, by a verb of doing.
DOES: Final = re.compile(
    r"^(?:this|that|it|which)\s+(?:just |simply |also |only )?(?P<verb>[a-z]+s)\b", re.IGNORECASE
)
CLOSES: Final = re.compile(
    r"^(?:here (?:is|are) the (?:result|output)s?\W*$|that(?:'s| is) (?:all|it)\W*$|(?:please|kindly) (?:wait|hold|stay|sit|be patient|stand by|bear with me|give me)|hold on|hang on|one (?:moment|second|sec|minute)|just a (?:moment|second|sec|minute)|a moment"
    r"|stand ?by|thank(?:s| you)|thanks|(?:i(?:'m| am) )?(?:now )?a?waiting(?: for)? (?:the |its |your )?(?:\w+ )?(?:results?|response|output|tool|reply|answer)|(?:now )?waiting for (?:that|it|this|the \w+) to (?:finish|complete|return|run)"
    r"|back in a|be right back|brb|this (?:may|might|should|will) (?:only )?take|bear with me|in progress|working on it|on it(?=\W*$)|let me know if (?:you (?:need|have|want (?!me\b|this\b|that\b|it\b|to\b))|there(?:'s| is)|anything)"
    r"|feel free to ask|hope (?:this|that) helps|i(?:'ll| will) (?:wait|be right back|be back|let you know|get back|report|update|keep you)"
    r"|ich (?:melde mich|gebe bescheid|warte)|je (?:reviens|vous tiens|te tiens)|(?:te |le |les )?avis(?:o|aré|arei|erò)\b|volto já|ti (?:aggiorno|faccio sapere)"
    r"|einen moment|bitte warten|moment bitte|un instant|un moment|veuillez patienter|un momento|espera|espere"
    r"|um momento|aguarde|attendi|attenda|een moment|минут|подожд|секунд|请稍|稍等|请等|少々お待ち|お待ち|잠시만|chwil|bir dakika|ett ögonblick)",
    re.IGNORECASE,
)
# When something is done, not when somebody agrees.
WHEN_DONE: Final = re.compile(
    r"(?:as soon as|once(?! more| again)|when|sobald|wenn|dès que|quand|en cuanto|cuando|quando|assim que|appena|zodra|как только|gdy|jak tylko)\b",
    re.IGNORECASE,
)
WHEN_IT_WAS: Final = re.compile(
    r"when [^,;:]{0,80}?\b(?:was|were|did|had|i \w+ed)\b", re.IGNORECASE
)
OUTLOOK: Final = re.compile(
    r"^(?:(?:next|then|after (?:this|that)|afterwards)\s*:|(?:if (?!you|that's|that is|this is|it is|it's)|once|when|while|after|as soon as|then|afterwards|from there|next|based on|with (?:the|this|that|those)|depending on)\b.{0,120}\b"
    r"(?:i(?:'ll| will| can| am going to|'m going to)|we(?:'ll| will| can))\b"
    r"|(?:then,?\s+|and then,?\s+|next,?\s+|after (?:that|this),?\s+|afterwards,?\s+)?(?:i(?:'ll| will| am going to|'m going to)|let me(?! know)|we(?:'ll| will))\b"
    r"|(?:danach|dann|anschließend|sobald)\b.{0,80}\b(?:ich|wir)\b|(?:ensuite|puis)\b.{0,20}\bje\b|(?:luego|después|daarna|poi|dopo|depois|potem|następnie|потом|затем|sonra|ardından)\b|然后|之后|接着|その後)",
    re.IGNORECASE,
)
# Behind a colon goes on what was announced before it.
GOES_ON: Final = re.compile(r":\s+(?!(?:i|let)\b)\S", re.IGNORECASE)
# After the call, and so in its place.
LATER: Final = re.compile(
    r"\b(?:as soon as|once|after|when|while) (?:it|this|that|the)\b", re.IGNORECASE
)
# After the call itself.
AFTER_IT: Final = re.compile(
    r"\b(?:as soon as|once|after|when|while) (?:it|this|that)(?:'s)?\b", re.IGNORECASE
)
NEXT: Final = re.compile(r"^(?:then|afterwards|after that)\b|\bnext\W*$", re.IGNORECASE)
# What only who holds the thread says.
GOES_AHEAD: Final = re.compile(
    r"(?:going ahead|moving on|carrying on|proceeding with|trying again|retrying now)\b"
    r"|(?:retrying|proceeding)\W*$",
    re.IGNORECASE,
)
# Something is said of doing it, as in `Deleting it was a mistake`.
GERUND: Final = re.compile(
    r"\w+(?: (?!(?:where|how|what|which|that|who|when|why|whether|if|you|i|we|they|he|she|it's|and|because|as|so)\b)"
    r"[\w/.\-]{1,40}){0,4} (?:was|were|had|did|would)\b",
    re.IGNORECASE,
)
# What comes after a call, told as it will be.
AFTERWARDS: Final = re.compile(
    r"(?:and )?(?:then|next|after (?:this|that)(?: one)?)\b", re.IGNORECASE
)
# An item of a list that says whether it is done, or any line that says that something is being done.
PROGRESS_MARK: Final = re.compile(
    r"[ \t]{0,20}(?:[-*+\u2022]|\d{1,2}[.)])?[ \t]{0,3}\[[ xX\u2713\u2714]\]"
    r"|[ \t]{0,20}(?:[-*+\u2022]|\d{1,2}[.)])[ \t].{0,200}?(?:[\u2713\u2714\u2705\u2611]|\((?:done|now)\)|(?:\u2190|<-+) ?(?:now|next|doing|here|current))"
    r"|.{0,200}?[\u23f3\u231b\U0001f504]",
    re.IGNORECASE,
)
ITEM: Final = re.compile(r"[ \t]{0,20}(?:[-*+\u2022]|\d{1,2}[.)]|\[[ xX]\])[ \t]")
# Signs that somebody does not want what follows.
UNWANTED: Final = re.compile("[\u2717\u2718\u2716\u274c\u274e\u26d4\U0001f6ab\U0001f44e\U0001f6d1]")
# End tags that are left over behind a call: a value of it held them.
BROKEN_OUT: Final = re.compile(
    r"\s{0,20}</(?:parameter|param|arg_value|arg)>\s{0,20}</", re.IGNORECASE
)
# Where a speaker is on its way: what comes next, or again.
NEXT_UP: Final = re.compile(
    r"^(?:(?:next|last|final) (?:step|action|task|thing)|(?:next|first)(?: up)?|up next|now|finally|last(?: one)?|remaining|left(?: to do)?|still to do"
    r"|(?:second|third|another|one more|new) (?:try|attempt|go)|trying again|once more)\s*[,:\u2013\u2014-]"
    r"|^(?:next|last|final) (?:step|action|task|thing|up) is (?:to \w|\w+ing\b)|^(?:so |then )?(?:the|your|my|our|/)[^,;:.]{1,40} (?:goes|comes|is) (?:first|next)\b|^(?:time for|now for|first(?:,? (?:the|your|my|our))|back to(?: what)? (?:you|your|the|our|my)|here it (?:is|goes) again)\b",
    re.IGNORECASE,
)
# The next thing, which the partner asked for.
NEXT_THING: Final = re.compile(
    r"^(?:and |so )?(?:now|next|then),? (?:for )?(?:the|your|my|our) [^,;:.]{1,60}?"
    r"\byou (?:asked|wanted?|named|mentioned|requested|gave|chose)\b",
    re.IGNORECASE,
)
# The next thing in two words or three, as a heading has it.
NEXT_HEADING: Final = re.compile(
    r"^(?:and |so )?(?:now|next|then),? (?:the|your|my|our) [^\W\d_]+(?: [^\W\d_]+)?\s*[:.]?$",
    re.IGNORECASE,
)
# What work is cut into.
ITEM_OF_WORK: Final = re.compile(
    r"\b(?:steps?|(?:sub-?)?tasks?|items?|phases?|stages?|to-?dos?"
    r"|schritt|aufgabe|étape|tâche|paso|tarea|etapa|passo|tappa|stap|taak|шаг|задача|krok)\b|步骤|任务|ステップ|단계",
    re.IGNORECASE,
)
# Something else comes first.
SETS_A_TIME: Final = re.compile(r"\b(?:once|when|as soon as|after|before|if|by)\b", re.IGNORECASE)
# Somebody's: the doer may be somebody else.
THEIRS: Final = re.compile(
    r"(?<!\bit)(?<!\bthat)(?<!\bthere)(?<!\bhere)(?<!\blet)'s\s", re.IGNORECASE
)
# What its speaker is at and is no plan, or a colon after words that say no more than what stands behind it.
POINTS_ON: Final = re.compile(
    r"\b(?:i'm|i am|we're|we are) (?:\w{1,20}ly |just |now ){0,3}\w{1,20}ing\b"
    r"|^(?:(?:it|this)\b|(?:i|we)\b(?! need)).{0,300}[:\uff1a]$|\byou \w{1,20}[^,;]{0,80}[:\uff1a]$",
    re.IGNORECASE,
)
# Somebody who is not here may act.
OTHERS: Final = re.compile(
    r"\b(?:some|any)(?:one|body)\b.{0,60}?\b(?:can|could|should|must|may|might|will|has to|needs to)\b",
    re.IGNORECASE,
)
# The partner is to act.
YOUR_TURN: Final = re.compile(
    r"^(?:\w+,? )?(?:you|the users?|users?) (?!ask|want|said|gave|need|request|named|mention|told|chose)",
    re.IGNORECASE,
)
# What is being done, as of now.
UNDER_WAY: Final = re.compile(
    r"(?:\b(?:is|are|now)\s|:\s{0,3})being [^\W\d_]+(?:ed|en|wn|t)\b(?!.{0,200}\bby\b)"
    r"|\b(?:in progress|under ?way)\W*$",
    re.IGNORECASE | re.DOTALL,
)
# A step by its number, and what is done in it.
STEP: Final = re.compile(
    r"^(?:step|phase|task)\s*#?\d{1,2}(?:\s*(?:/|of)\s*\d{1,2})?[*_]{0,3}\s*[-:.)|\u2013\u2014]+\s*(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
# A sentence of somebody or something else.
OF_OTHERS: Final = re.compile(r"^(?:this|that|these|those|the|it|which|here)\b", re.IGNORECASE)
# A numbered caption, such as `Figure 3:`.
CAPTION: Final = re.compile(r"^[^\W\d_]{1,20} \d{1,3}(?:\.\d{1,3})?[.:] ")
# Where a clause begins within a sentence.
WITHIN: Final = re.compile(r"[,;:]\s+|\s[\u2013\u2014-]\s+|(?:->|<-|=>|[\u2190-\u21ff])\s*")
PURPOSE: Final = re.compile(
    r"\s(?:to|for|that)\s[^.,;:?]{0,40}\b(?:your|the|this) (?:request|task|question|query)\s*:?$"
    r"|\s(?:to|that will) do (?:that|this|so)(?: for you)?\s*:?$|\sfor (?:that|this|you)\s*:?$"
    r"|\s(?:i(?:'ll| will| am going to)|we(?:'ll| will)) (?:make|send|use|run|execute)\s*:?$",
    re.IGNORECASE,
)
START: Final = re.compile(r"([^,.!:;]{1,30})[,.!]\s+")
LONGEST_LABEL: Final = 7
# A verb stands so near the start of its clause.
NEAR: Final = 80
SHORT: Final = 4
NEXT_TO_NOTHING: Final = 2
