"""loopmend keeps LLM agents to their protocol.

The core is pure: functions over frozen values, without a framework, a model or I/O. It answers
five questions about a turn or a run, each a *contract*:

- `parse_action`: which action did the model ask for?
- `detect_normalization_failure`: did the turn break the tool protocol?
- `detect_meta_signal`: what does the model say about its own progress?
- `classify_termination`, `classify_scratchpad_grammar`, `classify_iteration_bound`:
  how did a run stop, is its scratchpad grammatical, did it keep its budget?
- `synthesize_task_state`, `plan`: what should happen next?

The reader builds on them and copes with what models really write: `read_turn` and, for streams,
`TurnReader`; `read_response` reads a provider's whole response. `read_json` reads a reply into a
value of a schema, and `JsonReader` does so while it arrives. `Mending` decides whether to use a
reply or ask again, and in what words, within the limits of `RetryPolicy`; `LoopPolicy` decides if
a run goes in circles. `Planner` adds your own rules and lists its departures from `plan`;
`explain` puts a plan into words.

A `Trace` is a run, read from logs, messages or spans; `classify_trace` says why it stopped
and what went wrong. `TraceStore` and `TraceLog` keep traces in files.
In a notebook, turns, traces, reports and plans render themselves; `show_turn` marks in the text
what the reader found.
"""

from typing import TYPE_CHECKING

from loopmend._late import late
from loopmend._version import __version__

if TYPE_CHECKING:
    from loopmend.contracts.actions import AskUser, FinalAnswer, ToolCall
    from loopmend.errors import LoopmendError
    from loopmend.mending.loop import Mending
    from loopmend.mending.loops import LoopPolicy
    from loopmend.mending.messages import Reply
    from loopmend.mending.policy import RetryPolicy
    from loopmend.mending.schemas import action_schema
    from loopmend.mending.steps import Ask, Done, GaveUp, NormalizationError
    from loopmend.planning.advised import AdvisedPlan
    from loopmend.planning.explanation import explain
    from loopmend.planning.planner import Planner
    from loopmend.reading.json_reading import JsonReading, read_json
    from loopmend.reading.json_streaming import JsonReader
    from loopmend.reading.reader import read_turn
    from loopmend.reading.response import read_response
    from loopmend.reading.streaming import TurnReader
    from loopmend.reading.tools import ToolSpec
    from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Repair, Turn
    from loopmend.traces.finding import Finding
    from loopmend.traces.readers.loading import load_traces
    from loopmend.traces.report import TraceReport, classify_trace
    from loopmend.traces.stop import StopReason
    from loopmend.traces.trace import Trace

# Loaded when first asked for: who needs only the contracts does not pay for the reader.
_HELD = {
    "loopmend.contracts.actions": "AskUser FinalAnswer ToolCall",
    "loopmend.errors": "LoopmendError",
    "loopmend.mending.loop": "Mending",
    "loopmend.mending.loops": "LoopPolicy",
    "loopmend.mending.messages": "Reply",
    "loopmend.mending.policy": "RetryPolicy",
    "loopmend.mending.schemas": "action_schema",
    "loopmend.mending.steps": "Ask Done GaveUp NormalizationError",
    "loopmend.planning.advised": "AdvisedPlan",
    "loopmend.planning.explanation": "explain",
    "loopmend.planning.planner": "Planner",
    "loopmend.reading.json_reading": "JsonReading read_json",
    "loopmend.reading.json_streaming": "JsonReader",
    "loopmend.reading.reader": "read_turn",
    "loopmend.reading.response": "read_response",
    "loopmend.reading.streaming": "TurnReader",
    "loopmend.reading.tools": "ToolSpec",
    "loopmend.reading.turn": "Failure FailurePattern ReadingConfig Repair Turn",
    "loopmend.traces.finding": "Finding",
    "loopmend.traces.readers.loading": "load_traces",
    "loopmend.traces.report": "TraceReport classify_trace",
    "loopmend.traces.stop": "StopReason",
    "loopmend.traces.trace": "Trace",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "AdvisedPlan",
    "Ask",
    "AskUser",
    "Done",
    "Failure",
    "FailurePattern",
    "FinalAnswer",
    "Finding",
    "GaveUp",
    "JsonReader",
    "JsonReading",
    "LoopPolicy",
    "LoopmendError",
    "Mending",
    "NormalizationError",
    "Planner",
    "ReadingConfig",
    "Repair",
    "Reply",
    "RetryPolicy",
    "StopReason",
    "ToolCall",
    "ToolSpec",
    "Trace",
    "TraceReport",
    "Turn",
    "TurnReader",
    "__version__",
    "action_schema",
    "classify_trace",
    "explain",
    "load_traces",
    "read_json",
    "read_response",
    "read_turn",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
