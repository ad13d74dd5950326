"""The headers of ReAct text, in the words and the typography that models use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Section", "split"]

# Models translate the keywords together with the prompt; these are the usual translations.
_LABELS: Final = {
    "thought": "Thought|Gedanke|Pensée|Pensamiento|思考|想法|Мысль",
    "input": r"Action[ _]?Input|Tool[ _]Input|Tool Arguments|Aktionseingabe|Entrada de acción"
    "|动作输入|行动输入|操作输入|Ввод действия",
    "action": "Action|Tool Name|Aktion|Acción|动作|行动|操作|Действие",
    "observation": "Observation|Beobachtung|Observación|观察结果|观察|Наблюдение|Tool Output"
    "|Tool Response",
    "final": "Final[ _]Answer|Endgültige Antwort|Respuesta final|最终答案|Окончательный ответ",
    "answer": "Answer|AI|Antwort|Respuesta|答案|回答",
    "question": "Question|Frage|Pregunta|问题",
    "followup": "Follow[ -]?up",
}
_WORDS: Final = "|".join(f"(?P<{kind}>{words})" for kind, words in _LABELS.items())
# A header starts a line, perhaps numbered, bold or quoted. The lead is matched in a
# look-ahead so that the engine never goes back into it. U+FF1A is the full-width colon.
_HEADER: Final = re.compile(
    rf"^(?=(?P<lead>[ \t>*_#`\-]*))(?P=lead)(?:{_WORDS})"
    r"[ \t]*(?:\d{1,3}|\[\d{1,3}\])?[ \t*_`]*[:\uff1a][*_]*",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """One header and what follows it."""

    kind: str
    header: int
    start: int
    end: int


def split(text: str) -> list[Section]:
    """Return the sections of a text in order."""
    marks = [(m.lastgroup or "", m.start(), m.end()) for m in _HEADER.finditer(text)]
    ends = [*(header for _, header, _ in marks[1:]), len(text)]
    return [
        Section(kind, header, start, end)
        for (kind, header, start), end in zip(marks, ends, strict=False)
    ]
