"""One table of words: what a tag, a key, a header or a fence's info calls the parts of a turn.

A name is split into its words, at case, `_`, `-`, blanks and digits, and without case. Each word
has a sense; the senses of all words give the name its role. Whoever reads a spelling that is not
here adds a word, not a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Final

__all__ = ["Polarity", "Role", "polarity_of", "role_of", "words_of"]


class Role(Enum):
    """What a name says of what stands under it.

    >>> role_of("Werkzeugaufruf") is Role.CALL
    True
    """

    CALL = "call"
    NAME = "name"
    ARGUMENTS = "arguments"
    KEY = "key"
    VALUE = "value"
    ID = "id"
    TYPE = "type"
    THINK = "think"
    ANSWER = "answer"
    SAY = "say"
    ASK = "ask"
    OBSERVATION = "observation"
    SPEAKER = "speaker"
    CHANNEL = "channel"
    SEPARATOR = "separator"
    END = "end"
    NOISE = "noise"
    SHOWN = "shown"
    FORMAT = "format"
    FILLER = "filler"


class Polarity(Enum):
    """Whether a token opens or closes what it names."""

    OPEN = "open"
    CLOSE = "close"


# Each row is a sense and the words that have it. A word stands in one row only.
_ROWS: Final[tuple[tuple[Role, str], ...]] = (
    (
        Role.CALL,
        "tool tools function functions func call calls calling invoke invocation action actions"
        " command api plugin uses functools python execute run"
        " aktion werkzeug funktion aufruf acción accion herramienta outil appel ação ferramenta"
        " azione strumento действие инструмент actie hulpmiddel",
    ),
    (Role.NAME, "name recipient nombre nom nome naam имя"),
    (
        Role.ARGUMENTS,
        "arguments args argument arg parameters parameter params param input inputs kwargs"
        " eingabe aktionseingabe argumente entrada entrée entree ввод вход invoer argomenti"
        " argumentos parametri",
    ),
    (Role.KEY, "key"),
    (Role.VALUE, "value val"),
    (Role.ID, "id ids uuid index idx number seq step version timestamp"),
    (Role.TYPE, "type kind role"),
    (
        Role.THINK,
        "think thinking thought thoughts reasoning reason reflection rationale scratchpad scratch analysis"
        " plan gedanke überlegung pensamiento pensée pensee pensamento pensiero мысль gedachte"
        " inner criticism explanation",
    ),
    (
        Role.ANSWER,
        "answer final finish antwort respuesta réponse reponse resposta risposta ответ antwoord"
        " ai endgültige finale окончательный",
    ),
    (Role.SAY, "response respond reply content message text say speak"),
    (Role.ASK, "ask question clarify clarification frage pregunta"),
    (
        Role.OBSERVATION,
        "observation observations result results output outputs error errors returned beobachtung observación"
        " observacion observação osservazione наблюдение resultado ergebnis",
    ),
    (Role.SPEAKER, "user human system assistant nutzer benutzer usuario"),
    (Role.CHANNEL, "channel"),
    (Role.SEPARATOR, "sep separator"),
    (Role.END, "eos eot eom endoftext return"),
    (Role.NOISE, "s im bos inst header"),
    (
        Role.SHOWN,
        "example examples sample proposed suggested hypothetical previous past last old former"
        " rejected refused denied forbidden blocked quoted quote log history instead bad wrong"
        " incorrect fake dummy demo template draft never not without possible potential injected"
        " untrusted cancelled canceled available unsafe mock malicious would failed skipped pending simulated expected invalid broken no unused"
        " if unless when until before after otherwise else dont cannot option options alternative alternatives"
        " choice choices dry strike declined disallowed ignored aborted deferred executed approved confirmation",
    ),
    (
        Role.FORMAT,
        "json jsonc jsonl ndjson javascript js typescript ts py xml yaml plaintext txt plain react code",
    ),
    (
        Role.FILLER,
        "the a an my your next new now current section list block of to in on for de la le l"
        " do da and data payload body fields details settings request object structured tag with item items use"
        " aus der des die das и на",
    ),
)
_POLES: Final = {
    **dict.fromkeys(("begin", "start", "open", "prefix"), Polarity.OPEN),
    **dict.fromkeys(("end", "stop", "close", "suffix"), Polarity.CLOSE),
}
# Scripts without blanks between words: whole names.
_WHOLE: Final[tuple[tuple[Role, str], ...]] = (
    (Role.THINK, "思考 想法 思考过程 考え"),
    (Role.CALL, "行动 动作 工具 操作 行動 アクション ツール 工具调用"),
    (Role.ARGUMENTS, "行动输入 动作输入 工具输入 输入 行動入力 アクション入力 入力 参数"),
    (Role.ANSWER, "最终答案 答案 回答 最终回答 最終回答 答え"),
    (Role.OBSERVATION, "观察 结果 観察 观察结果"),
)
WORDS: Final[dict[str, Role]] = {
    word: role for rows in (_ROWS, _WHOLE) for role, words in rows for word in words.split()
}
_SPLIT: Final = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[^\W\d_]?[^\W\d_A-Z]+")
# When words of several senses meet, the first of these decides.
_PRIORITY: Final = (
    *(Role.KEY, Role.ID, Role.SEPARATOR, Role.VALUE, Role.CHANNEL, Role.TYPE),
    *(Role.THINK, Role.ASK, Role.ANSWER, Role.ARGUMENTS, Role.OBSERVATION),
    *(Role.CALL, Role.SAY, Role.END, Role.SPEAKER, Role.NOISE, Role.FORMAT),
)
_SHORTEST_PART: Final = 3
_LONGEST_PART: Final = 20
_LONGEST_JOINED: Final = 60


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case and without numbers.

    >>> words_of("toolCall_ID 2"), words_of("ACTIONINPUT")
    (('tool', 'call', 'id'), ('action', 'input'))
    """
    if name.isupper() or name.islower():
        parts: Iterable[str] = re.findall(r"[^\W\d_]+", name.lower())
    else:
        parts = [part.lower() for part in _SPLIT.findall(name)]
    return tuple(word for part in parts for word in _parts(part))


def _parts(word: str) -> tuple[str, ...]:
    """Take apart what is written as one word, if all of it is known."""
    if word in WORDS or word in _POLES or len(word) > _LONGEST_JOINED:
        return (word,)
    for cut in range(_SHORTEST_PART, min(len(word) - 1, _LONGEST_PART)):
        head, rest = word[:cut], word[cut:]
        if head in WORDS or head in _POLES:
            parts = _parts(rest)
            if all(part in WORDS or part in _POLES for part in parts):
                return (head, *parts)
    return (word,)


@lru_cache(maxsize=4096)
def polarity_of(name: str) -> Polarity | None:
    """Tell whether a token's own name says that it opens or closes.

    >>> polarity_of("tool_call_end").value, polarity_of("tool_call")
    ('close', None)
    """
    return next((_POLES[word] for word in words_of(name) if word in _POLES), None)


@lru_cache(maxsize=4096)
def role_of(name: str, *, every: bool = True) -> Role | None:
    """Return the role that a name's words give it, or `None`.

    Args:
        name: A tag's name, a key, a header's words or a fence's info.
        every: Whether one word that is not in the table is too many. Tags may be qualified
            by a model's or a vendor's name; keys and headers may not.

    >>> role_of("tool_call_id"), role_of("Action Input"), role_of("toolName")
    (<Role.ID: 'id'>, <Role.ARGUMENTS: 'arguments'>, <Role.NAME: 'name'>)
    >>> role_of("Course of Action"), role_of("longcat_tool_call", every=False)
    (None, <Role.CALL: 'call'>)
    """
    words = [word for word in words_of(name) if word not in _POLES]
    senses = [WORDS.get(word) for word in words]
    if not words or (every and None in senses):
        return None
    known = {sense for sense in senses if sense is not None}
    if Role.SHOWN in known:
        return Role.SHOWN
    if Role.NAME in known:
        return Role.KEY if Role.ARGUMENTS in known else Role.NAME
    if Role.CALL in known and (Role.OBSERVATION in known or "response" in words):
        return Role.OBSERVATION
    for role in _PRIORITY:
        if role in known:
            return role
    return Role.FILLER if known else None
