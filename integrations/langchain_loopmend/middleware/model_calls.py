"""Middleware around the calls of a model, written once for blocking and for async agents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, Union

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from typing_extensions import override

from loopmend.adapting import at_once

__all__ = ["Handler", "ModelCallMiddleware", "Response", "Result"]

Response = ModelResponse[Any]
Result = Union[ModelResponse[Any], ExtendedModelResponse[Any]]
Handler = Callable[[ModelRequest[Any]], Any]
"""What calls the model: its response, or an awaitable of it in an agent that waits."""
S = TypeVar("S", bound=Any)


class ModelCallMiddleware(AgentMiddleware[S, Any, Any]):
    """Middleware around the calls of a model."""

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Response]
    ) -> Result:
        return at_once(self._around(request, handler, waits=False))

    @override
    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Result:
        return await self._around(request, handler, waits=True)

    @abstractmethod
    def _around(
        self, request: ModelRequest[Any], handler: Handler, *, waits: bool
    ) -> Coroutine[Any, Any, Result]:
        """Call the model, or answer in its place."""
