"""Middleware for `langchain.agents.create_agent`. Needs the extra `agents`.

Install it with `pip install "loopmend[agents]"`.
"""

from loopmend.adapting import require_extra

require_extra("langchain.agents", extra="agents", needed_by="langchain_loopmend.middleware")

from langchain_loopmend.middleware.loops import (  # noqa: E402
    CapAnswerMiddleware,
    LoopGuardMiddleware,
)
from langchain_loopmend.middleware.normalization import (  # noqa: E402
    NormalizationMiddleware,
    ToolCallingMiddleware,
)
from langchain_loopmend.middleware.planner import PlannerMiddleware  # noqa: E402
from langchain_loopmend.middleware.signals import MetaSignalMiddleware  # noqa: E402

__all__ = [
    "CapAnswerMiddleware",
    "LoopGuardMiddleware",
    "MetaSignalMiddleware",
    "NormalizationMiddleware",
    "PlannerMiddleware",
    "ToolCallingMiddleware",
]
