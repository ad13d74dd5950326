"""Hooks by their options, whichever hook takes which."""

from __future__ import annotations

from typing import Any

from llama_index_loopmend import LoopGuardHook, NormalizationHook, PlannerStepHook, StepHook

_LOOPS = {"warn_after", "stop_after", "window", "exclude_tools", "on_cap"}
_NORMALIZATION = {"max_retries", "salvage", "constrain", "patterns", "on_failure"}


def hooks(**options: Any) -> list[StepHook]:
    """Return the hooks of a planned agent with these options."""
    if options.get("mode", "enforce") != "enforce":
        return [PlannerStepHook(**options)]
    loops = {name: options.pop(name) for name in _LOOPS & options.keys()}
    normalization = {name: options.pop(name) for name in _NORMALIZATION & options.keys()}
    return [
        PlannerStepHook(**options),
        LoopGuardHook(**loops),
        NormalizationHook(**normalization),
    ]
