"""What a careful pure-Python port of the contracts costs, and `json.loads` beside it.

Nanoseconds, measured once on one machine; only their ratios are used. The port was exact
on the Rust code's answers and returned plain dicts. `json.loads` was measured on 3.13
only and stands beside both columns.
"""

from __future__ import annotations

import sys

MS = 1_000_000

_CAREFUL_3_11: dict[str, dict[str, float]] = {
    "bound": {"200B": 266},
    "term": {"200B": 468},
    "prompt": {"200B": 178},
    "plan_conv": {"200B": 319},
    "plan_min": {"200B": 616},
    "plan_max": {"200B": 3_695},
    "grammar": {"200B": 1_555, "2KB": 8_154, "20KB": 72_446, "1MB": 3.89 * MS},
    "grammar_final": {"200B": 2_064, "2KB": 8_670, "20KB": 72_809, "1MB": 3.93 * MS},
    "meta_answer": {"200B": 4_747, "2KB": 11_111, "20KB": 69_989, "1MB": 4.61 * MS},
    "meta_prose": {"200B": 1_994, "2KB": 15_939, "20KB": 164_976, "1MB": 7.15 * MS},
    "norm_prose": {"200B": 1_412, "2KB": 7_684, "20KB": 70_721, "1MB": 3.79 * MS},
    "norm_react": {"200B": 1_212, "2KB": 5_508, "20KB": 50_605, "1MB": 2.87 * MS},
    "parse_bad": {"200B": 4_877, "2KB": 7_838, "20KB": 38_278, "1MB": 1.84 * MS},
    "parse_final": {"200B": 2_671, "2KB": 7_299, "20KB": 51_738, "1MB": 3.25 * MS},
    "parse_tool": {"200B": 3_368, "2KB": 71_688, "20KB": 1.11 * MS, "1MB": 62.13 * MS},
}
_CAREFUL_3_13: dict[str, dict[str, float]] = {
    "bound": {"200B": 298},
    "term": {"200B": 556},
    "prompt": {"200B": 221},
    "plan_conv": {"200B": 390},
    "plan_min": {"200B": 694},
    "plan_max": {"200B": 4_085},
    "grammar": {"200B": 1_172, "2KB": 6_283, "20KB": 56_244, "1MB": 3.21 * MS},
    "grammar_final": {"200B": 1_583, "2KB": 6_918, "20KB": 59_519, "1MB": 3.37 * MS},
    "meta_answer": {"200B": 4_677, "2KB": 10_859, "20KB": 67_323, "1MB": 4.61 * MS},
    "meta_prose": {"200B": 1_943, "2KB": 14_953, "20KB": 159_889, "1MB": 7.08 * MS},
    "norm_prose": {"200B": 1_102, "2KB": 6_955, "20KB": 65_970, "1MB": 3.81 * MS},
    "norm_react": {"200B": 1_102, "2KB": 5_877, "20KB": 55_175, "1MB": 3.16 * MS},
    "parse_bad": {"200B": 4_881, "2KB": 7_835, "20KB": 36_335, "1MB": 1.86 * MS},
    "parse_final": {"200B": 2_581, "2KB": 7_159, "20KB": 49_931, "1MB": 3.33 * MS},
    "parse_tool": {"200B": 3_271, "2KB": 78_547, "20KB": 1.23 * MS, "1MB": 70.89 * MS},
}
_JSON_LOADS: dict[str, dict[str, float]] = {
    "tool": {"200B": 2_248, "2KB": 25_873, "20KB": 258_652, "1MB": 16.2 * MS},
    "final": {"200B": 1_916, "2KB": 3_637, "20KB": 17_356, "1MB": 0.73 * MS},
}

CAREFUL = _CAREFUL_3_13 if sys.version_info >= (3, 13) else _CAREFUL_3_11


def careful_ratio(case: str, size: str, yardstick: str) -> float:
    """Return how many times `json.loads` of such a text the careful port took."""
    return CAREFUL[case][size] / _JSON_LOADS[yardstick][size]
