"""loopmend for LlamaIndex. Needs the extra `llama-index`: `pip install "loopmend[llama-index]"`.

Importing this package imports no framework; each name loads what it needs when it is first
asked for.
"""

from typing import TYPE_CHECKING

from loopmend._extras import require_extra
from loopmend._late import late

require_extra("llama_index.core", extra="llama-index", needed_by="llama_index_loopmend")

if TYPE_CHECKING:
    from llama_index_loopmend.recorder import TraceRecorder, record_traces

_LATE = {
    "TraceRecorder": "llama_index_loopmend.recorder",
    "record_traces": "llama_index_loopmend.recorder",
}

__all__ = ["TraceRecorder", "record_traces"]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
