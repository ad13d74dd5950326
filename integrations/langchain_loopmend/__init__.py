"""loopmend for LangChain. Needs the extra `langchain`: `pip install "loopmend[langchain]"`."""

from loopmend._extras import require_extra

require_extra("langchain_core", extra="langchain", needed_by="langchain_loopmend")

__all__: list[str] = []
