"""Traces of runs: what happened, why it stopped, and what went wrong."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.errors import TraceFormatError
    from loopmend.traces.detectors import DETECTORS
    from loopmend.traces.finding import Detector, Finding
    from loopmend.traces.log import TraceLog
    from loopmend.traces.otel import export_spans
    from loopmend.traces.readers.formats import FORMATS
    from loopmend.traces.readers.loading import LoadedTraces, Skipped, load_traces
    from loopmend.traces.redaction import Redactor, redact_secrets
    from loopmend.traces.report import TraceReport, Verdict, classify_trace
    from loopmend.traces.stop import Stopped, StopReason, stop_of
    from loopmend.traces.store import TraceStore
    from loopmend.traces.trace import (
        Limits,
        Observation,
        Step,
        Tokens,
        Trace,
        TraceCall,
        TraceError,
    )

_HELD = {
    "loopmend.errors": "TraceFormatError",
    "loopmend.traces.detectors": "DETECTORS",
    "loopmend.traces.finding": "Detector Finding",
    "loopmend.traces.otel": "export_spans",
    "loopmend.traces.redaction": "Redactor redact_secrets",
    "loopmend.traces.readers.formats": "FORMATS",
    "loopmend.traces.readers.loading": "LoadedTraces Skipped load_traces",
    "loopmend.traces.report": "TraceReport Verdict classify_trace",
    "loopmend.traces.stop": "StopReason Stopped stop_of",
    "loopmend.traces.log": "TraceLog",
    "loopmend.traces.store": "TraceStore",
    "loopmend.traces.trace": "Limits Observation Step Tokens Trace TraceCall TraceError",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "DETECTORS",
    "FORMATS",
    "Detector",
    "Finding",
    "Limits",
    "LoadedTraces",
    "Observation",
    "Redactor",
    "Skipped",
    "Step",
    "StopReason",
    "Stopped",
    "Tokens",
    "Trace",
    "TraceCall",
    "TraceError",
    "TraceFormatError",
    "TraceLog",
    "TraceReport",
    "TraceStore",
    "Verdict",
    "classify_trace",
    "export_spans",
    "load_traces",
    "redact_secrets",
    "stop_of",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
