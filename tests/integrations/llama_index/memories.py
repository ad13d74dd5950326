"""Memories over real vector stores, with an embedding that needs no model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.memory import Memory, VectorMemoryBlock
from llama_index.core.vector_stores import SimpleVectorStore
from sqlalchemy.ext.asyncio import create_async_engine

WORDS = ("oslo", "bergen", "cats", "dogs")


class Words(BaseEmbedding):
    """Texts are as similar as the few words that it knows."""

    def _vector(self, text: str) -> list[float]:
        return [*(float(text.lower().count(word)) for word in WORDS), 0.001]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        await asyncio.sleep(0)
        return self._vector(query)


class StoringText(SimpleVectorStore):
    """Keeps nodes as well as vectors, as memory blocks want it."""

    stores_text: bool = True
    kept: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies defaults

    def add(self, nodes: Any, **kwargs: Any) -> list[str]:
        """Keep nodes."""
        self.kept.update({node.node_id: node for node in nodes})
        return super().add(nodes, **kwargs)

    def query(self, query: Any, **kwargs: Any) -> Any:
        """Find nodes, with their texts."""
        found = super().query(query, **kwargs)
        found.nodes = [self.kept[id] for id in found.ids or ()]
        return found


def vector_block(**options: Any) -> VectorMemoryBlock:
    """Return a memory block over a real vector store."""
    return VectorMemoryBlock(vector_store=StoringText(kept={}), embed_model=Words(), **options)


@asynccontextmanager
async def memory_of(*blocks: Any) -> AsyncIterator[Memory]:
    """Lend a memory of some blocks, and close its database afterwards."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    try:
        yield Memory.from_defaults(memory_blocks=list(blocks), async_engine=engine)
    finally:
        await engine.dispose()
