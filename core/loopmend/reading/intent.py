"""Telling a plain answer from a plan that was told instead of carried out."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern

__all__ = ["find_fault", "is_plain"]

_VERBS: Final = "|".join(
    (
        *("search", "look", "check", "run", "use", "call", "invoke", "execute", "fetch", "read"),
        *("open", "review", "create", "find", "examine", "analy[sz]e", "diagnose", "investigate"),
        *("inspect", "query", "retrieve", "hand(?: this| it)? ?off", "hand over", "transfer"),
        *("delegate", "browse", "get", "gather", "start", "begin", "proceed", "compute"),
        *("calculate", "verify", "test", "write", "update", "list", "dig", "do", "see"),
        *("take a look", "pull", "scan", "load", "explore"),
    )
)
_SUBJECTS: Final = (
    r"I(?:['\u2019]ll| will| am going to|['\u2019]m going to| shall| need to| should| would"
    r"| can(?: now)?|['\u2019]d)|let me|let['\u2019]s|we (?:will|need to|should)"
)
_FILLERS: Final = r"(?: (?:now|first|then|also|just|quickly|go ahead and|need to|have to|try to))"
_INTENT: Final = re.compile(
    rf"\b(?:{_SUBJECTS}){_FILLERS}{{0,3}}\s{{1,5}}(?:{_VERBS})\b", re.IGNORECASE
)
_GERUND: Final = re.compile(
    r"\W{0,10}(?:Now |Currently )?(?:Checking|Running|Reading|Searching|Executing|Looking|Fetching"
    r"|Opening|Analy[sz]ing|Calling|Querying|Retrieving|Loading|Scanning|Inspecting|Reviewing"
    r"|Calculating|Processing|Using|Invoking)\b"
)
_FOREIGN: Final = re.compile(
    "我(?:将|会|来|要|需要|先)(?:使用|调用|搜索|查询|检查|运行|查找|看|读取)"
    "|让我(?:来)?(?:使用|调用|搜索|查询|检查|运行|查找|看)"
    "|(?:正在|开始)(?:搜索|查询|调用|检查|读取)|(?:検索|確認|実行)します"
    "|\\b(?:Ich werde|Lass mich|Voy a|Déjame|Je vais|Laissez-moi)\\b"
    "|Я (?:сейчас )?(?:воспользуюсь|использую|проверю|найду|поищу)"
)
_ANSWERED: Final = re.compile(
    r"\b(?:answer is|result is|here(?: is| are|['\u2019]s)|therefore|in summary|to summari[sz]e"
    r"|because|means that|so,? (?:the|it)|thus)\b",
    re.IGNORECASE,
)
_CLAIM: Final = re.compile(
    r"\b(?:let me|I['\u2019]ll|now)\b.{0,80}?\b"
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
# Whatever any pattern here, any dialect or any tag needs to be found: most answers have none
# of it, and one search is cheaper than all of them.
_SUSPECT: Final = re.compile(
    r"[^ -~\s]|[<{\[(:=`]|\b(?:I['\u2019]|I\s+(?:will|am|shall|need|should|would|can)\b"
    r"|let(?:['\u2019]|\s+me\b)|we\s+(?:will|need|should)\b"
    r"|(?:now|import|from|def|for|tool|repeat|action)\b)"
    r"|\A\W{0,10}(?:Currently )?[a-z]+ing\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!…。])\s")
_SHORT: Final = 400
_LONGEST_WORDLESS: Final = 3
_MOST_SENTENCES: Final = 2


def is_plain(text: str) -> bool:
    """Tell quickly whether a text is prose beyond doubt: no dialect, no tag, no intent."""
    return _SUSPECT.search(text) is None and not text.isspace() and text != ""


def find_fault(said: str, tools: Toolbox | None, length: int) -> Failure | None:
    """Return why a text without any action is not an answer either, or `None` if it is one.

    Args:
        said: What the text says without thinking and template tokens.
        tools: What is on offer, if known.
        length: The length of the whole text.
    """
    whole = (0, length)
    if _TEMPLATE.search(said):
        message = "The prompt's template came back unfilled."
        return Failure(FailurePattern.TEMPLATE_ECHO, message, whole)
    if _MARKUP.search(said):
        message = "There is tool markup, but no call that can be read."
        return Failure(FailurePattern.MALFORMED, message, whole)
    if _OBSERVED.match(said) or _RESULT_TAG.search(said):
        message = "A tool's output is written down, but no tool was called."
        return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
    if len(said) < _SHORT and not said.endswith(("?", "\uff1f")):
        if _CODE.match(said):
            message = "There is only code, neither a call nor an answer."
            return Failure(FailurePattern.MALFORMED, message, whole)
        if _CLAIM.search(said):
            message = "It is claimed that something was done, but nothing was called."
            return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
    return _narrated(said, tools, whole)


def _narrated(said: str, tools: Toolbox | None, whole: tuple[int, int]) -> Failure | None:
    intent = _INTENT.search(said) or _GERUND.match(said) or _FOREIGN.search(said)
    if intent is None or said.endswith(("?", "\uff1f")):
        return None
    named = tools.mentioned(said[intent.start() :]) if tools is not None else []
    if not named and not _is_only_intent(said, intent):
        return None
    tool = named[0] if named else None
    what = f" with `{tool}`" if tool else ""
    message = f"It is told what will be done{what}, but nothing is called."
    return Failure(FailurePattern.NARRATED, message, whole, tool)


def _is_only_intent(said: str, intent: re.Match[str]) -> bool:
    """Tell whether the text is short and gives no answer besides."""
    if len(said) > _SHORT or _ANSWERED.search(said):
        return False
    sentences = _SENTENCE.split(said[intent.end() :].strip())
    return sum(len(s) > _LONGEST_WORDLESS for s in sentences) <= _MOST_SENTENCES
