"""loopmend for LlamaIndex. Needs the extra `llama-index`: `pip install "loopmend[llama-index]"`."""

from loopmend._extras import require_extra

require_extra("llama_index.core", extra="llama-index", needed_by="llama_index_loopmend")

__all__: list[str] = []
