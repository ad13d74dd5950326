"""The structured answers that an agent may end with, as LangChain describes them."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from langchain.agents.middleware.types import ModelResponse
from langchain.agents.structured_output import (
    AutoStrategy,
    OutputToolBinding,
    ProviderStrategy,
    ToolStrategy,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool

from langchain_loopmend.messages import text_of, with_calls
from loopmend import Done

__all__ = ["StructuredAnswers"]

_GIVEN: Final = "Returning structured response: {}"


class StructuredAnswers:
    """The structured answers that an agent may end with; without a response format, none."""

    def __init__(self, response_format: Any) -> None:
        self.by_provider = isinstance(response_format, ProviderStrategy)
        """Whether the provider decodes by the schema; else the model calls a tool."""
        strategy = response_format
        specs: list[Any] = []
        if isinstance(strategy, ProviderStrategy):
            specs = [strategy.schema_spec]
        elif strategy is not None:
            if not isinstance(strategy, ToolStrategy):  # LangChain chooses by the model
                auto = isinstance(strategy, AutoStrategy)
                strategy = ToolStrategy(strategy.schema if auto else strategy)
            specs = strategy.schema_specs
        self.schemas: dict[str, Any] = {spec.name: spec.schema for spec in specs}
        self.tools: list[BaseTool] = [OutputToolBinding.from_schema_spec(s).tool for s in specs]
        self._handles = getattr(response_format, "handle_errors", True)
        self._content: str | None = getattr(strategy, "tool_message_content", None)

    @property
    def raises(self) -> bool:
        """Whether the user wants LangChain's own error for an answer that does not fit."""
        return self._handles is False

    def own_words(self, response: ModelResponse[Any]) -> str | None:
        """Return the user's own words for a bad answer, if there are any."""
        handles = self._handles
        if not isinstance(handles, str) and (isinstance(handles, type) or not callable(handles)):
            return None
        told = [m for m in response.result if isinstance(m, ToolMessage)]
        return text_of(told[0]) if told else None

    def response(self, reply: AIMessage, done: Done) -> ModelResponse[Any]:
        """Return what LangChain makes of a structured answer."""
        result: list[Any] = [reply]
        call = next((c for c in reply.tool_calls if c["name"] in self.schemas), None)
        if self.by_provider and reply.tool_calls and done.reading is not None:
            # There it is a text; calls that were not read as such only held it.
            others = [each for each in reply.tool_calls if done.turn.calls and each is not call]
            said = json.dumps(done.reading.data, ensure_ascii=False, default=str)
            result = [with_calls(reply, others, said)]
        elif call is not None:
            content, id = self._content or _GIVEN.format(done.value), cast("str", call["id"])
            result.append(ToolMessage(content, tool_call_id=id, name=call["name"]))
        return ModelResponse(result=result, structured_response=done.value)
