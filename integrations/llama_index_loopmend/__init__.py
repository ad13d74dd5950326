"""loopmend for LlamaIndex. Needs the extra `llama-index`: `pip install "loopmend[llama-index]"`.

Importing this package imports no framework; each name loads what it needs when it is first
asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loopmend._extras import require_extra

require_extra("llama_index.core", extra="llama-index", needed_by="llama_index_loopmend")

if TYPE_CHECKING:
    from llama_index_loopmend.recorder import TraceRecorder, record_traces

_LATE = {"TraceRecorder": "recorder", "record_traces": "recorder"}

__all__ = ["TraceRecorder", "record_traces"]


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for, because LlamaIndex takes time to import."""
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, also those that are not loaded yet."""
    return sorted(__all__)
