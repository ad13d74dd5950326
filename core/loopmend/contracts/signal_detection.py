"""Contract 3, detection: find the one meta-signal in a model's output.

Tags are found by plain text search, the first opening and the first closing one, in a
fixed order of kinds. Where the closing tag comes before the opening one, or the opening
tag has no `>` of its own, the Rust original panics; here that element is not there.
"""

from __future__ import annotations

from typing import Final

from loopmend._arguments import not_text, wrong_type
from loopmend._text import parse_f32, parse_u32, trim
from loopmend.contracts.signals import (
    DEFAULT_CONFIDENCE,
    Answer,
    AttemptSummary,
    Clarification,
    DetectionConfig,
    DifferentTools,
    HumanIntervention,
    MetaSignal,
    MoreContext,
    Stuck,
    StuckRequest,
    Thinking,
    Uncertain,
    Yield,
)

__all__ = ["detect_meta_signal"]

UNCERTAINTY_PHRASES: Final = (
    "i'm not certain",
    "i couldn't find definitive",
    "this might be",
    "i would need",
    "without access to",
    "i'm not sure",
    "it's unclear",
    "i don't have enough information",
)
STUCK_PHRASES: Final = (
    "i've tried several approaches",
    "i'm not making progress",
    "i'm going in circles",
    "i need clarification",
    "i'm stuck",
    "i can't figure out",
    "i've exhausted",
)
# Most of them are short for something: without an apostrophe, few are left to look for.
_UNCERTAINTY_WRITTEN_OUT: Final = tuple(p for p in UNCERTAINTY_PHRASES if "'" not in p)
_STUCK_WRITTEN_OUT: Final = tuple(p for p in STUCK_PHRASES if "'" not in p)
_CAVEAT_OPEN: Final = "<caveat>"
_CAVEAT_CLOSE: Final = "</caveat>"
# One replacement per caveat over the whole text, as the contract has it, costs their
# product. This many character steps take some 25 ms at the worst; beyond them deletions
# that touch each other are no longer followed, see `_remove_caveats`.
_REPLACEMENT_BUDGET: Final = 2**24

_DEFAULT_CONFIG: Final = DetectionConfig()
IMPLICITLY_STUCK: Final = Stuck(request=HumanIntervention("Implicit stuck signal detected"))


def detect_meta_signal(output: str, config: DetectionConfig | None = None) -> MetaSignal | None:
    """Return the meta-signal in `output`, or `None`.

    Tags win over phrases. The order of kinds decides, not the place in the text:
    answer, uncertain, stuck, yield, thinking; then stuck and uncertain phrases.

    Raises:
        TypeError: `output` is not a `str`, or `config` not a `DetectionConfig`.

    >>> detect_meta_signal('<answer confidence="0.5">Paris</answer>')
    Answer(content='Paris', confidence=0.5, caveats=(), kind='Answer')
    >>> detect_meta_signal("<stuck><request>a tool that reads PDF</request></stuck>").request
    DifferentTools(need=('a tool that reads PDF',), kind='DifferentTools')
    >>> detect_meta_signal("I'm stuck.", DetectionConfig(detect_implicit=False)) is None
    True
    """
    if not isinstance(output, str):
        raise not_text(output, "output")
    if config is None:
        config = _DEFAULT_CONFIG
    elif not isinstance(config, DetectionConfig):
        raise wrong_type(config, "config", DetectionConfig)
    if "<" in output and (signal := _explicit(output)) is not None:
        return signal
    return implied_signal(output) if config.detect_implicit else None


def _explicit(output: str) -> MetaSignal | None:
    return (
        _answer(output)
        or _uncertain(output)
        or _stuck(output)
        or _yielded(output)
        or _thinking(output)
    )


def implied_signal(output: str) -> Stuck | Uncertain | None:
    """Return what a phrase says without a tag.

    >>> implied_signal("I'm stuck.").kind
    'Stuck'
    """
    folded = output.lower()
    short = "'" in folded
    for phrase in STUCK_PHRASES if short else _STUCK_WRITTEN_OUT:
        if phrase in folded:
            return IMPLICITLY_STUCK
    for phrase in UNCERTAINTY_PHRASES if short else _UNCERTAINTY_WRITTEN_OUT:
        if phrase in folded:
            return Uncertain(partial_answer=output)
    return None


def _answer(output: str) -> Answer | None:
    element = _attributed_element(output, "<answer", "</answer>")
    if element is None:
        return None
    inner = _inner_text(element, "</answer>")
    if inner is None:
        return None
    content, caveats = _remove_caveats(inner)
    return Answer(trim(content), _confidence(element), caveats)


def _uncertain(output: str) -> Uncertain | None:
    inner = _between(output, "uncertain")
    if inner is None:
        return None
    return Uncertain(_content(inner, "partial"), _all(inner, "missing"), _all(inner, "would_help"))


def _stuck(output: str) -> Stuck | None:
    inner = _between(output, "stuck")
    if inner is None:
        return None
    attempts = tuple(AttemptSummary(description) for description in _all(inner, "attempt"))
    return Stuck(attempts, _content(inner, "hypothesis"), _request(_content(inner, "request")))


def _request(text: str | None) -> StuckRequest:
    if text is None:
        return HumanIntervention("Agent is stuck")
    if "clarif" in text:
        return Clarification((text,))
    if "context" in text:
        return MoreContext(text)
    if "tool" in text:
        return DifferentTools((text,))
    return HumanIntervention(text)


def _yielded(output: str) -> Yield | None:
    inner = _between(output, "yield")
    if inner is None:
        return None
    return Yield(_content(inner, "partial"), _all(inner, "expertise"))


def _thinking(output: str) -> Thinking | None:
    element = _attributed_element(output, "<thinking", "</thinking>")
    if element is None:
        return None
    direction = _attribute(element, "direction") or trim(_inner_text(element, "</thinking>") or "")
    if not direction:
        return None
    steps = _attribute(element, "steps")
    return Thinking(direction, None if steps is None else parse_u32(steps))


def _confidence(element: str) -> float:
    text = _attribute(element, "confidence")
    number = None if text is None else parse_f32(text)
    if number is None or number != number:
        return DEFAULT_CONFIDENCE
    return 0.0 if number < 0.0 else min(number, 1.0)


def _attributed_element(output: str, opening: str, closing: str) -> str | None:
    """Return the element from its opening tag, which may have attributes, to its end."""
    start = output.find(opening)
    end = output.find(closing) if start != -1 else -1
    return output[start : end + len(closing)] if end > start else None


def _inner_text(element: str, closing: str) -> str | None:
    start = element.find(">") + 1
    end = len(element) - len(closing)
    return element[start:end] if start <= end else None


def _attribute(element: str, name: str) -> str | None:
    """Return what follows `name="`, which may stand anywhere in the element."""
    _, found, rest = element.partition(f'{name}="')
    value, quote, _ = rest.partition('"')
    return value if found and quote else None


def _between(text: str, tag: str) -> str | None:
    """Return what stands between the first opening and the first closing tag."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>") if start != -1 else -1
    return text[start + len(tag) + 2 : end] if end > start else None


def _content(text: str, tag: str) -> str | None:
    inner = _between(text, tag)
    return None if inner is None else trim(inner)


def _all(text: str, tag: str) -> tuple[str, ...]:
    """Return the trimmed contents of every such element, each up to the next closing tag."""
    opening = f"<{tag}>"
    pieces = [piece.partition(opening) for piece in text.split(f"</{tag}>")[:-1]]
    return tuple(trim(content) for _, found, content in pieces if found)


def _remove_caveats(inner: str) -> tuple[str, tuple[str, ...]]:
    """Take the caveats out of an answer in one pass.

    The contract lists the trimmed caveats, then deletes each `<caveat>trimmed</caveat>`
    from the text, one after the other. An element that is not trimmed thus stays. One
    pass gives the same text unless a caveat holds another opening tag, or the deletion
    joins the pieces of one (`<cav<caveat>a</caveat>eat>`): then, and only then, the
    deletions can touch each other and are done one after the other, as far as the budget
    goes.
    """
    if _CAVEAT_CLOSE not in inner:
        return inner, ()
    *pieces, tail = inner.split(_CAVEAT_CLOSE)
    kept: list[str] = []
    caveats: list[str] = []
    left_alone = 0
    for piece in pieces:
        before, found, raw = piece.partition(_CAVEAT_OPEN)
        if found:
            caveat = trim(raw)
            caveats.append(caveat)
            if caveat == raw:
                kept.append(before)
                continue
            left_alone += 1
        kept += (piece, _CAVEAT_CLOSE)
    kept.append(tail)
    content = "".join(kept)
    unclosed = tail.count(_CAVEAT_OPEN)
    flat = inner.count(_CAVEAT_OPEN) == len(caveats) + unclosed
    if not flat or content.count(_CAVEAT_OPEN) != left_alone + unclosed:
        content = _replace_in_turn(inner, caveats, otherwise=content)
    return content, tuple(caveats)


def _replace_in_turn(inner: str, caveats: list[str], *, otherwise: str) -> str:
    if len(inner) * len(caveats) > _REPLACEMENT_BUDGET:
        return otherwise
    for caveat in caveats:
        inner = inner.replace(f"{_CAVEAT_OPEN}{caveat}{_CAVEAT_CLOSE}", "")
    return inner
