"""Step hooks: each does one thing for an agent, and works alone or with the others."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from llama_index_loopmend.hooks.loops import LoopGuardHook
    from llama_index_loopmend.hooks.matching import embedding_match
    from llama_index_loopmend.hooks.normalization import NormalizationHook
    from llama_index_loopmend.hooks.planner import PlannerStepHook
    from llama_index_loopmend.hooks.protocol import (
        Accept,
        Answer,
        AskAgain,
        HandOver,
        Proceed,
        StepHook,
    )
    from llama_index_loopmend.hooks.signals import MetaSignalHook

_HELD = {
    "loops": "LoopGuardHook",
    "matching": "embedding_match",
    "normalization": "NormalizationHook",
    "planner": "PlannerStepHook",
    "protocol": "Accept Answer AskAgain HandOver Proceed StepHook",
    "signals": "MetaSignalHook",
}
_LATE = {
    name: f"llama_index_loopmend.hooks.{module}"
    for module, names in _HELD.items()
    for name in names.split()
}

__all__ = [
    "Accept",
    "Answer",
    "AskAgain",
    "HandOver",
    "LoopGuardHook",
    "MetaSignalHook",
    "NormalizationHook",
    "PlannerStepHook",
    "Proceed",
    "StepHook",
    "embedding_match",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
