"""What adapters need besides the rules: values of hosts, records of runs, late imports, arguments.

`docs/adapters.md` shows how to write an adapter. Each name loads what it needs at its first use.
"""

from typing import TYPE_CHECKING

from loopmend._arguments import require_int, require_several
from loopmend._beside import Beside
from loopmend._extras import require_extra
from loopmend._late import late
from loopmend._repr import written
from loopmend._waiting import at_once, each_at_once

if TYPE_CHECKING:
    from loopmend.mending.action_replies import read_action_reply
    from loopmend.mending.caps import Pace, answer_said_at_cap, is_last_round, paced
    from loopmend.mending.value_replies import read_value_reply
    from loopmend.planning.conduct import Mode
    from loopmend.planning.conversation import latest_issue
    from loopmend.planning.facts import Facts, best_similarity
    from loopmend.planning.notes import Issue, Notes
    from loopmend.planning.step_planner import Match, StepPlanner
    from loopmend.reading.loose_react import read_react
    from loopmend.reading.quick import fits
    from loopmend.reading.response import is_unusual
    from loopmend.reading.signals import read_signal
    from loopmend.traces.exceptions import ending_of, is_fault
    from loopmend.traces.kept import KeptTraces
    from loopmend.traces.live_run import LiveRun, as_data, turn_of
    from loopmend.traces.open_runs import Finish, Kind, ModelReply, OpenRuns, Recording, Run
    from loopmend.traces.readers.values import finish_in, finish_of, get, tokens_in, tokens_of
    from loopmend.traces.recorded_runs import trace_of
    from loopmend.traces.stop import is_cap_sentence

_HELD = {
    "loopmend.mending.action_replies": "read_action_reply",
    "loopmend.mending.caps": "Pace answer_said_at_cap is_last_round paced",
    "loopmend.mending.value_replies": "read_value_reply",
    "loopmend.planning.conduct": "Mode",
    "loopmend.planning.conversation": "latest_issue",
    "loopmend.planning.facts": "Facts best_similarity",
    "loopmend.planning.notes": "Issue Notes",
    "loopmend.planning.step_planner": "Match StepPlanner",
    "loopmend.reading.loose_react": "read_react",
    "loopmend.reading.quick": "fits",
    "loopmend.reading.response": "is_unusual",
    "loopmend.reading.signals": "read_signal",
    "loopmend.traces.exceptions": "ending_of is_fault",
    "loopmend.traces.kept": "KeptTraces",
    "loopmend.traces.live_run": "LiveRun as_data turn_of",
    "loopmend.traces.open_runs": "Finish Kind ModelReply OpenRuns Recording Run",
    "loopmend.traces.readers.values": "finish_in finish_of get tokens_in tokens_of",
    "loopmend.traces.recorded_runs": "trace_of",
    "loopmend.traces.stop": "is_cap_sentence",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "Beside",
    "Facts",
    "Finish",
    "Issue",
    "KeptTraces",
    "Kind",
    "LiveRun",
    "Match",
    "Mode",
    "ModelReply",
    "Notes",
    "OpenRuns",
    "Pace",
    "Recording",
    "Run",
    "StepPlanner",
    "answer_said_at_cap",
    "as_data",
    "at_once",
    "best_similarity",
    "each_at_once",
    "ending_of",
    "finish_in",
    "finish_of",
    "fits",
    "get",
    "is_cap_sentence",
    "is_fault",
    "is_last_round",
    "is_unusual",
    "late",
    "latest_issue",
    "paced",
    "read_action_reply",
    "read_react",
    "read_signal",
    "read_value_reply",
    "require_extra",
    "require_int",
    "require_several",
    "tokens_in",
    "tokens_of",
    "trace_of",
    "turn_of",
    "written",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
