"""A step of a chain that asks a model, in each way in which a step can be run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Annotated, Any, TypeVar

from langchain_core.language_models import LanguageModelInput
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from pydantic import ConfigDict, Field, SkipValidation
from typing_extensions import override

from loopmend import MAX_NORMALIZATION_RETRIES

__all__ = ["Asking"]

T = TypeVar("T")


class Asking(RunnableSerializable[LanguageModelInput, T]):
    """Runs `_run` or `_arun`, once for all that is asked; a stream yields the one result."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    llm: Annotated[Runnable[Any, Any], SkipValidation()]
    """The model."""
    max_retries: int = Field(default=MAX_NORMALIZATION_RETRIES, ge=0)
    """How often the model is asked again; never exceeded."""

    @override
    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        """Ask; other keyword arguments go to the model."""
        return self._call_with_config(partial(self._run, passed=kwargs), input, config)

    @override
    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        """Ask without blocking."""
        return await self._acall_with_config(partial(self._arun, passed=kwargs), input, config)

    @override
    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[T]:
        """Ask with streaming and yield the one result."""
        run = partial(self._run, passed=kwargs, streaming=True)
        yield self._call_with_config(run, input, config)

    @override
    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[T]:
        """Ask with streaming and yield the one result, without blocking."""
        run = partial(self._arun, passed=kwargs, streaming=True)
        yield await self._acall_with_config(run, input, config)

    @abstractmethod
    def _run(
        self,
        input: LanguageModelInput,
        config: RunnableConfig,
        *,
        passed: dict[str, Any],
        streaming: bool = False,
    ) -> T:
        """Ask until there is a result; `passed` goes to the model."""

    @abstractmethod
    async def _arun(
        self,
        input: LanguageModelInput,
        config: RunnableConfig,
        *,
        passed: dict[str, Any],
        streaming: bool = False,
    ) -> T:
        """Do the same without blocking."""
