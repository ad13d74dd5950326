"""The marks of markup: tags, tokens, fences, and what opens a value or a call."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from loopmend.reading.lexicon import WORDS, Role

# The sign stands before what kind of mark it is, so that the engine looks for nothing but signs.
_MARKUP: Final = (
    r"(?<=`)(?P<fence>``)|(?<=`)(?P<tick>)|(?<=~)(?P<waves>~~)|(?<=\])(?P<noise><\]\w{1,20}\[>\[)"
    r"|(?<=<)(?P<tag>(?=[\w/|\uff5c\u00a6\s][^<>]{0,2200}(?:>|</)|!--|function=\w))"
)
# What opens a value or a call is looked at only if what stands next to it may belong to one.
MARK: Final = re.compile(
    rf"[`~\]<\[{{(](?:{_MARKUP}|(?<=\[)(?P<square>(?=\s*(?:[{{\[\"'\]/]|[^\W\d]|\Z)))"
    r"|(?<=\{)(?P<brace>(?=\s*(?:[\"'\w}<\u201c\u2018/#$]|\Z)))|(?<=\w\()(?P<paren>))"
)
# Where no more tries at values are left.
MARK_OF_NO_VALUE: Final = re.compile(
    rf"[`~\]<\[{{](?:{_MARKUP}|(?<=\[)(?P<square>(?=/?[A-Za-z]))|(?<=\{{)(?P<brace>(?=\}})))"
)
NAME: Final = r"[^\W\d][\w.:\-\u2581\\]{0,60}?"
BAR: Final = "[|\uff5c\u00a6]"
# `<name>`, `</name>`, `<name=value>`, `<name key="value">`, `<name/>`, `<|name|>`, `<name|>`.
TAG: Final = re.compile(
    rf"<(?P<slash>/?)\s{{0,3}}(?P<bar>{BAR}(?:\w{{1,20}}{BAR})?)?(?P<slash2>/?)(?P<name>{NAME})"
    r"(?:[\s\u0120]*(?:name\s*)?=\s*(?P<value>[\"\u201c][^\"\u201d<>\n]{0,200}[\"\u201d]?|'[^'<>\n]{0,200}'?|[^\s<>\"']{1,200}))?"
    r"(?P<attributes>[\s\u0120][^<>]{0,400}?)?\s{0,3}(?P<void>/?)"
    rf"(?P<bar2>{BAR})?>"
)
HALF: Final = re.compile(
    r"<(?P<name>parameter|param|arg|argument)=(?P<key>[^\W\d][\w\-]{0,60})=(?P<value>[^<>]{0,2000})"
    r"</(?P=name)>",
    re.IGNORECASE,
)
# Llama writes `<function=f{…}</function>` and `<function(f)>{…}</function>`.
BENT: Final = re.compile(
    r"<(?P<name>function)(?:=(?P<open>[\w.\-]{1,64})(?=\s{0,3}\{)|\((?P<called>[\w.\-]{1,64})\)>)"
)
# Kimi writes a tag's name and attributes between two tokens.
SPREAD: Final = re.compile(
    r"<\|(?P<pole>open|close)\|>(?P<name>\w{1,40})(?P<attributes>[^<>]{0,400})<\|sep\|>"
)
SQUARE: Final = re.compile(r"\[(?P<slash>/?)(?P<name>[A-Za-z][A-Za-z_]*(?:[ _][A-Za-z]+){0,3})\]")
ATTRIBUTE: Final = re.compile(
    r"([\w\-]{1,40})[\s\u0120]*=[\s\u0120]*(?:[\"\u201c\u201d]([^\"\u201c\u201d]*)[\"\u201c\u201d]|['\u2018\u2019]([^'\u2018\u2019]*)['\u2018\u2019]|([^\s\"'>]+))"
)
LIST_OF_CALLS: Final = re.compile(r"\[\s*[\"']?[^\W\d][\w.\\\-]{0,100}\(")
NAMED: Final = re.compile(
    r"[\[\s]{0,4}\{\s*[\"']?(?P<key>\w{1,40})[\"']?\s*:\s*[\"'](?P<name>[^\"'\n]{1,80})[\"']"
)
LIST_START: Final = re.compile(r"\[\s*(?://[^\n]{0,80}\n\s*)?(?:[{\[\"'\]]|\Z)")
COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
FENCES: Final = {mark: re.compile(mark) for mark in ("```", "~~~")}
INFO: Final = re.compile(r"[^\S\n]*([\w+\-.]{0,30})[^\S\n]*")
BLANK: Final = re.compile(r"\s*")
THINK_END: Final = re.compile(
    rf"</[\w:]{{0,20}}?(?:{'|'.join(w for w, r in WORDS.items() if r is Role.THINK and w.isascii())})(?:_\w{{1,20}})?\s*>"
    r"|\[/THINK\]|<\|END_THINKING\|>|<channel\|>|<\|close\|>think<\|sep\|>|<\|end_of_thought\|>",
    re.IGNORECASE,
)
LEAVES: Final = frozenset({Role.KEY, Role.VALUE, Role.NAME, Role.ARGUMENTS, Role.ID})
OPAQUE: Final = frozenset({Role.OBSERVATION, Role.ANSWER, Role.SAY, Role.ASK})
THOUGHT_CHANNEL: Final = re.compile(r"\s{0,3}thought\b")
ENDS: Final = re.compile(
    r"<\|(?:im_end|call|eot_id|eom_id|eot|eom|end|endoftext|end_of_text|return|end_of_turn"
    r"|END_OF_TURN_TOKEN|end_message)\|>|</s>|<end_of_turn>|<eos>|\[\|endofturn\|\]",
    re.IGNORECASE,
)
END_OF_TEXT: Final = re.compile(rf"(?:\s{{0,20}}(?:{ENDS.pattern}))+\s{{0,20}}\Z", re.IGNORECASE)


@lru_cache(maxsize=512)
def closing(name: str) -> re.Pattern[str]:
    """Return the pattern of an element's end tag."""
    words = r"[\s_\-\\]{0,2}".join(re.escape(word) for word in re.split(r"[\s_\-]+", name))
    return re.compile(
        rf"</\s{{0,3}}(?:{BAR}\w{{0,20}}{BAR}|[\w.]{{1,20}}:)?{words}(?::[\w.]{{1,20}})?\s{{0,3}}{BAR}?>|<{words}\|>"
        rf"|<\|close\|>{words}<\|sep\|>",
        re.IGNORECASE,
    )


@lru_cache(maxsize=512)
def argument_start(name: str) -> re.Pattern[str]:
    """Return the pattern of the next argument's start."""
    kin = {"arg_key": "arg_value", "arg_value": "arg_key"}
    names = "|".join(re.escape(each) for each in {name, kin.get(name, name)})
    return re.compile(
        rf"<(?:{BAR}\w{{0,20}}{BAR}|[\w.]{{1,20}}:|\|open\|>)?(?:{names})\b", re.IGNORECASE
    )
