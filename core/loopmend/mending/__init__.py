"""What to do about a reply: use it, ask again in these words, or give up."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.mending.action_replies import beside, is_clean
    from loopmend.mending.call_results import CallResult
    from loopmend.mending.caps import (
        CapAnswer,
        CapError,
        OnCap,
        answer_at_cap,
        ask_before_cap,
        check_on_cap,
    )
    from loopmend.mending.constraint import constrained
    from loopmend.mending.corrections import FORMS, Form, correction, signature
    from loopmend.mending.instructions import cut_reason, form_instructions, parser_correction
    from loopmend.mending.loop import Mending
    from loopmend.mending.loops import GoOn, LoopDecision, LoopKind, LoopPolicy, Nudge, Stop
    from loopmend.mending.made_calls import MadeCalls, calls_made, calls_of
    from loopmend.mending.messages import Message, NativeCall, Reply
    from loopmend.mending.policy import OnFailure, RetryPolicy, check_on_failure
    from loopmend.mending.provider_errors import is_protocol_error, refuses_schema
    from loopmend.mending.quotations import asks_to_see
    from loopmend.mending.schemas import action_schema, value_schema
    from loopmend.mending.steps import Ask, Done, GaveUp, NormalizationError, Retry, Step
    from loopmend.mending.value_corrections import value_correction

_HELD = {
    "loopmend.mending.action_replies": "beside is_clean",
    "loopmend.mending.call_results": "CallResult",
    "loopmend.mending.caps": ("CapAnswer CapError OnCap answer_at_cap ask_before_cap check_on_cap"),
    "loopmend.mending.constraint": "constrained",
    "loopmend.mending.corrections": "FORMS Form correction signature",
    "loopmend.mending.instructions": "cut_reason form_instructions parser_correction",
    "loopmend.mending.loop": "Mending",
    "loopmend.mending.loops": "GoOn LoopDecision LoopKind LoopPolicy Nudge Stop",
    "loopmend.mending.made_calls": "MadeCalls calls_made calls_of",
    "loopmend.mending.messages": "Message NativeCall Reply",
    "loopmend.mending.policy": "OnFailure RetryPolicy check_on_failure",
    "loopmend.mending.provider_errors": "is_protocol_error refuses_schema",
    "loopmend.mending.quotations": "asks_to_see",
    "loopmend.mending.schemas": "action_schema value_schema",
    "loopmend.mending.steps": "Ask Done GaveUp NormalizationError Retry Step",
    "loopmend.mending.value_corrections": "value_correction",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "FORMS",
    "Ask",
    "CallResult",
    "CapAnswer",
    "CapError",
    "Done",
    "Form",
    "GaveUp",
    "GoOn",
    "LoopDecision",
    "LoopKind",
    "LoopPolicy",
    "MadeCalls",
    "Mending",
    "Message",
    "NativeCall",
    "NormalizationError",
    "Nudge",
    "OnCap",
    "OnFailure",
    "Reply",
    "Retry",
    "RetryPolicy",
    "Step",
    "Stop",
    "action_schema",
    "answer_at_cap",
    "ask_before_cap",
    "asks_to_see",
    "beside",
    "calls_made",
    "calls_of",
    "check_on_cap",
    "check_on_failure",
    "constrained",
    "correction",
    "cut_reason",
    "form_instructions",
    "is_clean",
    "is_protocol_error",
    "parser_correction",
    "refuses_schema",
    "signature",
    "value_correction",
    "value_schema",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
