"""What should happen next: plans, with reasons."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.planning.advised import AdvisedPlan, PlanDifference
    from loopmend.planning.conversation import observe_conversation, response_skeleton
    from loopmend.planning.explanation import Explanation, action_in_words, explain
    from loopmend.planning.hints import plan_correction, plan_hints
    from loopmend.planning.planner import Planner, PlanRule
    from loopmend.planning.roster import RosterMatch, match_specialists

_HELD = {
    "loopmend.planning.advised": "AdvisedPlan PlanDifference",
    "loopmend.planning.conversation": "observe_conversation response_skeleton",
    "loopmend.planning.explanation": "Explanation action_in_words explain",
    "loopmend.planning.hints": "plan_correction plan_hints",
    "loopmend.planning.planner": "PlanRule Planner",
    "loopmend.planning.roster": "RosterMatch match_specialists",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "AdvisedPlan",
    "Explanation",
    "PlanDifference",
    "PlanRule",
    "Planner",
    "RosterMatch",
    "action_in_words",
    "explain",
    "match_specialists",
    "observe_conversation",
    "plan_correction",
    "plan_hints",
    "response_skeleton",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
