"""Tools and helpers for agents in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from langchain_core.prompts import PromptTemplate
from langchain_core.tools import Tool, tool

T = TypeVar("T")

REACT = PromptTemplate.from_template(
    "Tools:\n{tools}\nUse one of [{tool_names}].\n\nQuestion: {input}\nThought:{agent_scratchpad}"
)


@tool
def search(query: str) -> str:
    """Search the web."""
    return f"about {query}"


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


echo = Tool(name="echo", func=lambda text: f"echo: {text}", description="Takes one text.")

TOOLS = [search, add, echo]


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    return asyncio.run(coroutine)
