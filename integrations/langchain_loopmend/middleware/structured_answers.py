"""What `response_format` asks an agent for, and what a reply gives of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Final

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
from loopmend import Failure, FailurePattern, JsonReading, read_json
from loopmend.mending import FORMS, signature, value_correction
from loopmend.reading import Toolbox, fit_value, schema_of

__all__ = ["Complaint", "StructuredAnswers"]

P: Final = FailurePattern
_GIVEN: Final = "Returning structured response: {}"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with a structured answer, for people and for the model."""

    failure: Failure
    words: str


class StructuredAnswers:
    """The structured answers that an agent may end with."""

    def __init__(self, response_format: Any) -> None:
        self.response_format = response_format
        self.by_provider = isinstance(response_format, ProviderStrategy)
        """Whether the provider decodes by the schema; else the model calls a tool."""
        strategy = response_format
        if isinstance(strategy, ProviderStrategy):
            specs = [strategy.schema_spec]
        else:
            if not isinstance(strategy, ToolStrategy):  # LangChain chooses by the model
                auto = isinstance(strategy, AutoStrategy)
                strategy = ToolStrategy(strategy.schema if auto else strategy)
            specs = strategy.schema_specs
        self.schemas: dict[str, Any] = {spec.name: spec.schema for spec in specs}
        self.tools: list[BaseTool] = [OutputToolBinding.from_schema_spec(s).tool for s in specs]
        self._content: str | None = getattr(strategy, "tool_message_content", None)

    @property
    def schema(self) -> Any:
        """What the provider decodes by."""
        return next(iter(self.schemas.values()))

    def own_words(self, response: ModelResponse[Any]) -> str | None:
        """Return the user's own words for a bad answer, if there are any."""
        handles = getattr(self.response_format, "handle_errors", None)
        if not isinstance(handles, str) and (isinstance(handles, type) or not callable(handles)):
            return None
        told = [m for m in response.result if isinstance(m, ToolMessage)]
        return text_of(told[0]) if told else None

    def response(self, reply: AIMessage, toolbox: Toolbox) -> ModelResponse[Any] | Complaint | None:
        """Return what a reply gives as the answer, or what is wrong; `None` if it calls tools."""
        calls = [call for call in reply.tool_calls if call["name"] in self.schemas]
        if not calls:
            return None if reply.tool_calls else self._written(reply, toolbox)
        if len(calls) > 1:
            message = "The reply gives several structured answers."
            failure = Failure(P.MALFORMED, message, (0, 0), calls[0]["name"])
            return Complaint(failure, f"You gave several answers. Give one.\n{FORMS['native']}.")
        [call] = calls
        schema = self.schemas[call["name"]]
        reading = fit_value(call["args"], schema)
        if reading.failure is None:
            return self._ended(reply, call["name"], str(call["id"]), reading)
        known: Any = schema_of(schema)
        words = value_correction(reading.failure, known).partition("\n")[0]
        failure = Failure(
            P.BAD_VALUE,
            reading.failure.message,
            (0, 0),
            call["name"],
            problems=reading.failure.problems,
        )
        return Complaint(failure, f"{words}\n{FORMS['native']}.")

    def _written(self, reply: AIMessage, toolbox: Toolbox) -> ModelResponse[Any] | Complaint:
        """Return the answer that a reply writes as JSON, or tell which tool takes it."""
        for name, schema in self.schemas.items():
            reading = read_json(text_of(reply), schema)
            if reading.failure is None and isinstance(reading.data, dict):
                return self._ended(reply, name, f"call_{uuid.uuid4().hex}", reading)
        specs = [toolbox.tools[name] for name in self.schemas]
        taken = "; ".join(signature(spec) for spec in specs)
        names = ", ".join(f"`{name}`" for name in self.schemas)
        message = f"The reply does not give its answer by calling {names}."
        words = f"Give your answer by calling {names}. Signature: {taken}.\n{FORMS['native']}."
        return Complaint(Failure(P.NO_ACTION, message, (0, len(text_of(reply)))), words)

    def _ended(
        self, reply: AIMessage, name: str, call_id: str, reading: JsonReading
    ) -> ModelResponse[Any]:
        """Return what LangChain makes of a structured answer."""
        content = self._content or _GIVEN.format(reading.value)
        call = {"name": name, "args": reading.data, "id": call_id, "type": "tool_call"}
        answer = reply if reading.fidelity == "exact" and reply.tool_calls else None
        return ModelResponse(
            result=[
                answer or with_calls(reply, "", [call]),
                ToolMessage(content, tool_call_id=call_id, name=name),
            ],
            structured_response=reading.value,
        )
