"""Telling a plain answer from a plan that was told instead of carried out."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig

__all__ = ["find_fault", "has_markup", "is_plain"]

# What an agent does with its tools. Everyday verbs count only with an object that is work.
_VERBS: Final = "|".join(
    (
        *("search", "look(?! forward)", "check", "run", "use", "invoke", "execute", "fetch"),
        *("call(?! (?:you|it|him|her|them|back|me)\\b)", "read", "open", "review", "examine"),
        *("find(?! (?:no|that|it)\\b)", "analy[sz]e", "diagnose", "investigate", "inspect"),
        *("query", "retrieve", "hand(?: this| it)? ?off", "hand over", "transfer", "delegate"),
        *("browse", "gather", "compute", "calculate", "verify", "pull", "scan", "load", "explore"),
        *("dig", "create", "proceed", "consult", "take a look", "see (?:what|if|whether)"),
        *("get (?:the|that|this|some|more)\\b", "do (?:a|some)\\b", "start by", "begin by"),
    )
)
_DOING: Final = (
    "search|look|check|runn|us|invok|execut|fetch|read|open|review|examin|find|analy[sz]|diagnos"
    "|investigat|inspect|query|retriev|brows|gather|comput|calculat|verify|pull|scann|load|explor"
    "|call|process|gett"
)
_SUBJECTS: Final = (
    r"I(?:['\u2019]ll| will| am going to|['\u2019]m going to| shall| need to| should)|let me"
    r"|let['\u2019]s|allow me to|we (?:will|need to)|\A\W{0,5}(?:going|time) to"
)
_FILLERS: Final = r"(?: (?:now|first|then|also|just|quickly|go ahead and|need to|have to|try to))"
_INTENT: Final = re.compile(
    rf"\b(?:{_SUBJECTS}){_FILLERS}{{0,3}}\s{{1,5}}(?:{_VERBS})\b"
    rf"|\bI(?:['\u2019]m| am)(?: now| currently| just)? (?:{_DOING})ing\b(?! forward)"
    r"|\b(?:one moment|hold on|please wait|(?:just )?a (?:moment|second|minute))\b[^.!?]{0,20}"
    r"\bwhile I\b"
    r"|\bI(?: can| could| would|['\u2019]d)(?: now| first)? (?:use|call|invoke) (?:the )?"
    r"[`'\"]?[\w.\-]{1,60}[`'\"]? tool\b",
    re.IGNORECASE,
)
_WOULD_USE: Final = re.compile(
    r"\bI(?: would|['\u2019]d)(?: now| first)? (?:use|call)\b", re.IGNORECASE
)
# Work that is under way ends in dots, a colon or a word of haste; a sentence about work does not.
_GERUND: Final = re.compile(
    rf"\W{{0,10}}(?:Now |Currently |Hold on, )?(?:{_DOING})ing\b[^.!?\n]{{0,90}}"
    r"(?:\.\.\.|\u2026|:|\bnow|\bfor you)[.!]?\s*\Z",
    re.IGNORECASE,
)
_FOREIGN: Final = re.compile(
    "我(?:将|会|来|要|需要|先)(?:使用|调用|搜索|查询|检查|运行|查找|看|读取)"
    "|让我(?:来)?(?:使用|调用|搜索|查询|检查|运行|查找|看)"
    "|(?:正在|开始)(?:搜索|查询|调用|检查|读取)|(?:検索|確認|実行)します"
    "|\\b(?:Ich werde|Lass mich)\\b[^.!?]{0,60}"
    "\\b(?:such|prüf|nachs|verwend|nutz|aufruf|ausführ|les)"
    "|\\b(?:Voy a|Déjame) (?:\\w+ )?(?:busc|consult|us|utiliz|verific|comprob|revis|ejecut|mir)"
    "|\\b(?:Je vais|Laissez-moi) (?:\\w+ )?"
    "(?:cherch|recherch|vérifi|utilis|consult|appel|regard|lanc)"
    "|Я (?:сейчас )?(?:воспользуюсь|использую|проверю|найду|поищу)"
)
_ANSWERED: Final = re.compile(
    r"\b(?:answer is|result is|here(?: is| are|['\u2019]s)|therefore|in summary|to summari[sz]e"
    r"|because|means that|so,? (?:the|it)|thus)\b|[=:\u2248]\s{0,3}[-$\u20ac\u00a3]?\d",
    re.IGNORECASE,
)
# Put off, or made to depend on the user: then it is a promise or an offer.
_LATER: Final = re.compile(
    r"\b(?:if|when|once|unless|later|tomorrow|tonight|monday|tuesday|wednesday|thursday|friday"
    r"|next (?:week|time|month)|before I can|just ask|would you like|as soon as|from now on"
    r"|in (?:the )?future|going forward|let me know|let you know|si|wenn|falls|sobald)\b"
    r"|\bplease (?!wait|hold|stand)|\b(?:send|tell|give) me\b|\u5982\u679c|\u4ee5\u540e|если",
    re.IGNORECASE,
)
# Said of what both do, as in a lesson: only what names a tool or breaks off there is a plan.
_WE: Final = re.compile(r"let['\u2019]s|we ", re.IGNORECASE)
_BREAKS_OFF: Final = re.compile(r"(?:\.\.\.|\u2026|:|\bnow[.!]?)\s*\Z", re.IGNORECASE)
_LEAD_IN: Final = 30
_CLAIM: Final = re.compile(
    r"\b(?:let me|I['\u2019]ll)\b.{0,80}?\b"
    r"(?:created|confirmed|deleted|updated|sent|executed|pulled)\b",
    re.IGNORECASE | re.DOTALL,
)
_OBSERVED: Final = re.compile(
    r"\W{0,10}(?:Observation|Tool (?:output|response))\s{0,3}:", re.IGNORECASE
)
_RESULT_TAG: Final = re.compile(r"</?tool_(?:response|result|output)s?>", re.IGNORECASE)
_CODE: Final = re.compile(
    r"(?:[A-Za-z_]\w{0,60}\s{0,3}=\s{0,3}(?:\[|\{|\"\"\"|'''|\w{1,60}\()|import \w"
    r"|from \w{1,60} import|def \w{1,60}\(|for \w{1,60} in [^\n]{1,80}:)"
)
_TEMPLATE: Final = re.compile(
    r"<(yield|stuck|uncertain|answer)>\s{0,5}(?:\.\.\.|…)\s{0,5}</\1>|can repeat N times"
    r"|\{tool_names?\}|the action to take, should be one of",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(
    r"</?(?:tool_calls?|function_call|invoke|parameter)\b|<[\uff5c|](?:tool|DSML)"
    r"|<\|(?:tool|python_tag|im_start|assistant|start_header|eot_id)|\[TOOL_CALLS\]|<function="
    r"|\"tool_calls\"\s{0,3}:",
    re.IGNORECASE,
)
_ONLY_THOUGHT: Final = re.compile(
    r"\{\s*\"(?:thoughts?|reasoning|reflection|thoughts_and_reasoning)\"\s*:\s*\"[^\"]*\"\s*\}"
)
_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|(?<!\w)'[^'\n]{3,}'(?!\w)"
    r"|^[ \t]*>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_BACKTICKS: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
# Whatever any pattern here, any dialect or any tag needs to be found: most answers have none
# of it, and one search is cheaper than all of them.
_SUSPECT: Final = re.compile(
    r"[^ -~\s]|[<{\[(:=`]|\.\.\.|\b(?:I['\u2019]"
    r"|I\s+(?:will|am|shall|need|should|would|can|could)\b"
    r"|let(?:['\u2019]|\s+me\b)|allow\s+me\b|we\s+(?:will|need)\b"
    r"|while I\b|(?:now|for you|import|from|def|for|tool|repeat|action)\b)"
    r"|\A\W{0,5}(?:going|time)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?…。])\s")
_SHORT: Final = 400
_LONGEST_WORDLESS: Final = 3


def is_plain(text: str) -> bool:
    """Tell quickly whether a text is prose beyond doubt: no dialect, no tag, no intent."""
    return _SUSPECT.search(text) is None and not text.isspace() and text != ""


def find_fault(
    said: str, tools: Toolbox | None, length: int, config: ReadingConfig
) -> Failure | None:
    """Return why a text without any action is not an answer either, or `None` if it is one.

    Args:
        said: What the text says without thinking and template tokens.
        tools: What is on offer, if known.
        length: The length of the whole text.
        config: Whether calls go through the interface, and what came before.
    """
    whole = (0, length)
    if _TEMPLATE.search(said):
        message = "The prompt's template came back unfilled."
        return Failure(FailurePattern.TEMPLATE_ECHO, message, whole)
    if not config.native and _ONLY_THOUGHT.fullmatch(said):
        message = "The thought leads to neither an action nor an answer."
        return Failure(FailurePattern.NO_ACTION, message, whole)
    if has_markup(said, native=config.native):
        message = "There is tool markup, but no call that can be read."
        return Failure(FailurePattern.MALFORMED, message, whole)
    if _RESULT_TAG.search(said) or (not config.native and _OBSERVED.match(said)):
        message = "A tool's output is written down, but no tool was called."
        return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
    if len(said) < _SHORT and not said.endswith(("?", "\uff1f")):
        if not config.native and _CODE.match(said):
            message = "There is only code, neither a call nor an answer."
            return Failure(FailurePattern.MALFORMED, message, whole)
        if not config.after_tool_result and _CLAIM.search(said):
            message = "It is claimed that something was done, but nothing was called."
            return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
    return _narrated(said, tools, whole, after_result=config.after_tool_result)


def has_markup(said: str, *, native: bool) -> bool:
    """Tell whether the remains of a call stand in a text; an answer may well talk of them."""
    if not native:
        return _MARKUP.search(said) is not None
    plain = _BACKTICKS.sub(lambda m: " " * len(m[0]), said)
    return any(
        plain.rfind("\n", 0, found.start()) == found.start() - 1
        or not plain[: found.start()].strip()
        or not plain[found.end() :].strip(" \n>")
        for found in _MARKUP.finditer(plain)
    )


def _narrated(
    said: str, tools: Toolbox | None, whole: tuple[int, int], *, after_result: bool
) -> Failure | None:
    if said.endswith(("?", "\uff1f")):
        return None
    plain = _QUOTED.sub(_blank_or_name, said)
    intent = _INTENT.search(plain) or _GERUND.match(plain) or _FOREIGN.search(plain)
    named = tools.mentioned(plain) if tools is not None else []
    if intent is None:
        would = _WOULD_USE.search(plain) if named else None
        if would is None or _ANSWERED.search(plain) or _LATER.search(plain):
            return None
    elif not _is_only_intent(plain, intent) or (
        not named and not _BREAKS_OFF.search(plain) and _may_be_said(intent, after_result)
    ):
        return None
    tool = named[0] if named else None
    what = f" with `{tool}`" if tool else ""
    message = f"It is told what will be done{what}, but nothing is called."
    return Failure(FailurePattern.NARRATED, message, whole, tool)


def _may_be_said(intent: re.Match[str], after_result: bool) -> bool:  # noqa: FBT001 - a fact
    """Tell whether an intent may be part of an answer that is going on, or of a lesson."""
    return _WE.match(intent[0]) is not None or (after_result and intent.start() > _LEAD_IN)


def _blank_or_name(quoted: re.Match[str]) -> str:
    """Blank out what is quoted, but keep a lone word: tools are named in quotes."""
    inner = quoted[0].strip("`\"'")
    is_name = inner.replace("_", "").replace("-", "").isalnum()
    return quoted[0] if is_name else " " * len(quoted[0])


def _is_only_intent(said: str, intent: re.Match[str]) -> bool:
    """Tell whether the text ends with the intent, is short, and gives no answer besides."""
    if len(said) > _SHORT or _ANSWERED.search(said):
        return False
    begin = max(said.rfind(mark, 0, intent.start()) for mark in (". ", "! ", "? ", "\n", "; "))
    rest = said[begin + 1 :].strip()
    if _LATER.search(rest):
        return False
    sentences = _SENTENCE.split(rest)
    after = [sentence for sentence in sentences[1:] if len(sentence) > _LONGEST_WORDLESS]
    return all(_INTENT.search(s) or _GERUND.match(s) or len(s) < 40 for s in after)  # noqa: PLR2004
