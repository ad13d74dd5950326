"""Where loopmend differs from the Rust code on purpose.

Each deviation says what the answer must be, from the row or by asking again with what
is at fault taken out of it. A row that falls under none must match to the letter.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loopmend.contracts import I06_REASON_EXIT
from tests.conformance.calls import Answer, ask
from tests.conformance.rows import Row, function_of

DEFAULT_CONFIDENCE = 0.800000011920929
_MARK = "\ue000"
_PANICKING_ELEMENT = {
    78: "answer",
    87: "answer",
    114: "uncertain",
    134: "stuck",
    178: "yield",
    195: "thinking",
    205: "thinking",
}
_INNER_ELEMENTS = ("partial", "hypothesis", "request")


@dataclass(frozen=True)
class Deviation:
    """One agreed difference."""

    name: str
    applies: Callable[[Row], bool]
    """Whether a row falls under it."""
    accepts: Callable[[Row, Answer], bool]
    """Whether an answer is the agreed one."""


def _accepts_absent_element(row: Row, answer: Answer) -> bool:
    """Where Rust panics, the element is not there: hide its tag and ask again."""
    output = row["args"]["output"]
    line = int(row["at"].rpartition(":")[2])
    for tag in [_PANICKING_ELEMENT[line]] if line in _PANICKING_ELEMENT else _torn_inner(output):
        output = output.replace(f"<{tag}", f"<{_MARK}{tag}")
    hidden = ask("detect_meta_signal", {**row["args"], "output": output})
    return bool(answer == json.loads(json.dumps(hidden).replace("\\ue000", "")))


def _torn_inner(output: str) -> list[str]:
    """Name the elements inside a signal whose closing tag comes first."""
    outer = next(
        tag
        for tag in ("uncertain", "stuck", "yield")
        if f"<{tag}>" in output and f"</{tag}>" in output
    )
    inner = output[output.find(f"<{outer}>") : output.find(f"</{outer}>")]
    places = {tag: (inner.find(f"</{tag}>"), inner.find(f"<{tag}>")) for tag in _INNER_ELEMENTS}
    return [tag for tag, (close, opening) in places.items() if -1 < close < opening]


def _is_wide_exit_code(row: Row) -> bool:
    body = row["args"].get("body")
    code = body.get("exit_code") if isinstance(body, dict) else None
    return (
        function_of(row) == "classify_termination"
        and type(code) is int
        and -(2**63) <= code < 2**63
        and not -(2**31) <= code < 2**31
    )


def _accepts_whole_exit_code(row: Row, answer: Answer) -> bool:
    """No exit code of the table is that wide: it is a mismatch, or its reason is unknown."""
    body = row["args"]["body"]
    reason = body.get("reason") if isinstance(body.get("reason"), str) else "<missing>"
    if reason in I06_REASON_EXIT:
        expected: dict[str, Any] = {
            "kind": "ExitCodeMismatch",
            "reason": reason,
            "got": body["exit_code"],
            "expected": I06_REASON_EXIT[reason],
        }
    else:
        expected = {"kind": "UnknownReason", "got": reason}
    return answer == {"result": expected}


def _is_nan_confidence(row: Row) -> bool:
    result = row.get("result")
    return (
        function_of(row) == "detect_meta_signal"
        and isinstance(result, dict)
        and result.get("confidence") == "NaN"
    )


def _accepts_default_confidence(row: Row, answer: Answer) -> bool:
    expected = {k: v for k, v in row["result"].items() if k != "confidence_str"}
    return answer == {"result": {**expected, "confidence": DEFAULT_CONFIDENCE}}


def _accepts_last_place(row: Row, answer: Answer) -> bool:
    return "result" in answer and _nearly_equal(row["result"], answer["result"])


def _nearly_equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        # serde_json is seldom off by more than one unit in the last place, but it happens.
        return abs(left - right) <= 4 * math.ulp(max(abs(left), abs(right)))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_nearly_equal(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_nearly_equal, left, right))
    return type(left) is type(right) and bool(left == right)


def _accepts_older_unicode(row: Row, answer: Answer) -> bool:
    """An interpreter whose tables lack the character sees no word there."""
    is_older = tuple(map(int, unicodedata.unidata_version.split("."))) < (16,)
    return answer == {"result": None if is_older else row["result"]}


def _is_shouted_intent(row: Row) -> bool:
    intents = row["args"].get("intents", [])
    return function_of(row) == "synthesize_task_state" and any(i != i.lower() for i in intents)


def _accepts_task_whatever_case(row: Row, answer: Answer) -> bool:
    folded = {**row["args"], "intents": [intent.lower() for intent in row["args"]["intents"]]}
    return answer == ask("synthesize_task_state", folded)


DEVIATIONS = (
    Deviation("panic: the element is not there", lambda r: "panic" in r, _accepts_absent_element),
    Deviation("exit_code is not truncated", _is_wide_exit_code, _accepts_whole_exit_code),
    Deviation("NaN confidence is the default", _is_nan_confidence, _accepts_default_confidence),
    Deviation("floats are CPython's", lambda r: r.get("ulp", False), _accepts_last_place),
    Deviation(
        "Unicode tables are the interpreter's",
        lambda r: r.get("unicode16", False),
        _accepts_older_unicode,
    ),
    Deviation("intents compare without case", _is_shouted_intent, _accepts_task_whatever_case),
)
