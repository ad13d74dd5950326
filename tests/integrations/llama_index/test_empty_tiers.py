"""Which blocks of a memory have nothing to say."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.memory import (
    BaseMemoryBlock,
    ChatMemoryBuffer,
    Memory,
    StaticMemoryBlock,
)

from llama_index_loopmend.recall import empty_tiers

from .memories import memory_of, vector_block


def test_empty_tiers() -> None:
    """Blocks that have nothing to say about the messages are named."""

    async def once() -> list[tuple[str, ...] | None]:
        known = StaticMemoryBlock(name="rules", static_content=[TextBlock(text="Be kind.")])
        blank = StaticMemoryBlock(name="profile", static_content=[TextBlock(text=" \n")])
        full, bare = vector_block(name="full"), vector_block(name="bare")
        asked = [ChatMessage(role="user", content="cats?")]
        async with memory_of(known, blank, full, bare) as memory:
            await full.aput([ChatMessage(content="cats")], session_id=memory.session_id)
            told = [await empty_tiers(memory, asked), await empty_tiers(memory)]
            await memory.aput(asked[0])
            return [*told, await empty_tiers(memory)]

    assert asyncio.run(once()) == [
        ("profile", "bare"),
        ("profile", "full", "bare"),
        ("profile", "bare"),
    ]


def test_blocks_of_messages() -> None:
    """A block may return messages, or nothing at all."""

    class Said(BaseMemoryBlock[Any]):
        said: Any = None

        async def _aget(self, messages: Any = None, **block_kwargs: Any) -> Any:
            return self.said

        async def _aput(self, messages: list[ChatMessage]) -> None:
            """Take nothing."""

    hi = ChatMessage(content="hi")
    blocks = [Said(name="a", said=[hi]), Said(name="b", said=[]), Said(name="c")]
    memory = Memory.from_defaults(memory_blocks=[*blocks])
    assert asyncio.run(empty_tiers(memory, [hi])) == ("b", "c")


def test_memories_without_blocks() -> None:
    """A memory without blocks has no empty ones: that is unknown, not a gap."""
    for memory in (ChatMemoryBuffer.from_defaults(token_limit=100), Memory.from_defaults()):
        assert asyncio.run(empty_tiers(memory)) is None
