"""Contract 3, values: what a model says about its own progress."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Final, Literal, Union

from loopmend.wire import Tagged

__all__ = [
    "Answer",
    "AttemptSummary",
    "Clarification",
    "DetectionConfig",
    "DifferentTools",
    "HumanIntervention",
    "MetaSignal",
    "MoreContext",
    "Stuck",
    "StuckRequest",
    "Thinking",
    "Uncertain",
    "Yield",
]


DEFAULT_CONFIDENCE: Final = 0.800000011920929
"""0.8 in 32 bits, as every confidence is."""


@dataclass(frozen=True, slots=True)
class DetectionConfig:
    """What `detect_meta_signal` looks for.

    >>> DetectionConfig(detect_implicit=False).detect_implicit
    False
    """

    detect_implicit: bool = True
    """Also look for phrases such as "I'm stuck" when no tag is found."""
    implicit_threshold: float = 0.7
    """Kept for the wire format; the contract never reads it."""


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """One thing that a stuck model says it has tried.

    >>> AttemptSummary("searched the docs").outcome
    ''
    """

    description: str
    """What was tried."""
    outcome: str = ""
    """The outcome; the contract always leaves it empty."""


@dataclass(frozen=True, slots=True)
class Clarification:
    """A stuck model asks what was meant.

    >>> Clarification(("please clarify the format",)).kind
    'Clarification'
    """

    questions: tuple[str, ...]
    """The questions, in order."""
    _: KW_ONLY
    kind: Literal["Clarification"] = "Clarification"


@dataclass(frozen=True, slots=True)
class MoreContext:
    """A stuck model asks for more context.

    >>> MoreContext("more context on the schema").kind
    'MoreContext'
    """

    about: str
    """What the context should be about."""
    _: KW_ONLY
    kind: Literal["MoreContext"] = "MoreContext"


@dataclass(frozen=True, slots=True)
class DifferentTools:
    """A stuck model asks for other tools.

    >>> DifferentTools(("a tool that reads PDF",)).kind
    'DifferentTools'
    """

    need: tuple[str, ...]
    """What the tools should do."""
    _: KW_ONLY
    kind: Literal["DifferentTools"] = "DifferentTools"


@dataclass(frozen=True, slots=True)
class HumanIntervention:
    """A stuck model needs a person.

    >>> HumanIntervention("no permission").kind
    'HumanIntervention'
    """

    reason: str
    """Why."""
    _: KW_ONLY
    kind: Literal["HumanIntervention"] = "HumanIntervention"


StuckRequest = Annotated[
    Union[Clarification, MoreContext, DifferentTools, HumanIntervention], Tagged("kind")
]
"""What a stuck model asks for, told apart by `kind`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The model gives its answer.

    >>> Answer("42", confidence=0.9, caveats=("standard arithmetic",)).kind
    'Answer'
    """

    content: str
    """The answer, without its caveats."""
    confidence: float = DEFAULT_CONFIDENCE
    """From 0 to 1, rounded to a 32-bit float; 0.8 where none or no number is given."""
    caveats: tuple[str, ...] = ()
    """What the model says may be wrong with the answer."""
    _: KW_ONLY
    kind: Literal["Answer"] = "Answer"


@dataclass(frozen=True, slots=True)
class Uncertain:
    """The model is uncertain.

    >>> Uncertain(missing_information=("the year",)).partial_answer is None
    True
    """

    partial_answer: str | None = None
    """The partial answer; the whole text if only a phrase matched."""
    missing_information: tuple[str, ...] = ()
    """What it does not know."""
    would_help: tuple[str, ...] = ()
    """What would help."""
    _: KW_ONLY
    kind: Literal["Uncertain"] = "Uncertain"


@dataclass(frozen=True, slots=True)
class Stuck:
    """The model cannot go on without help.

    >>> Stuck(request=MoreContext("context about the API")).attempts
    ()
    """

    attempts: tuple[AttemptSummary, ...] = ()
    """The attempts that it reports."""
    hypothesis: str | None = None
    """Why it thinks it is stuck."""
    request: StuckRequest = HumanIntervention("Agent is stuck")
    """What it asks for."""
    _: KW_ONLY
    kind: Literal["Stuck"] = "Stuck"


@dataclass(frozen=True, slots=True)
class Yield:
    """The model hands over to someone better suited.

    >>> Yield(suggested_expertise=("law",)).partial_progress is None
    True
    """

    partial_progress: str | None = None
    """What it has done so far."""
    suggested_expertise: tuple[str, ...] = ()
    """Who should take over."""
    _: KW_ONLY
    kind: Literal["Yield"] = "Yield"


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is still working.

    >>> Thinking("compare the two tables", estimated_steps=3).kind
    'Thinking'
    """

    direction: str
    """The direction of its thoughts."""
    estimated_steps: int | None = None
    """How many steps it expects to need."""
    _: KW_ONLY
    kind: Literal["Thinking"] = "Thinking"


MetaSignal = Annotated[Union[Answer, Uncertain, Stuck, Yield, Thinking], Tagged("kind")]
"""What a model says about its own progress, told apart by `kind`."""
