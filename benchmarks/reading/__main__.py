"""Print what the reader and its rivals make of texts that this project made up.

python -m benchmarks.reading [--seed N] [--each N] [--show N] [--kinds]
"""

from __future__ import annotations

import argparse
from collections import Counter

from benchmarks.plug import read as loopmend
from benchmarks.reading.messages import Counted, count
from benchmarks.reading.respelled_json import KINDS
from benchmarks.reading.rivals import rivals
from benchmarks.reading.safety import YARDSTICKS, probes
from benchmarks.reading.scores import Score, share
from benchmarks.reading.texts import base_texts

WIDTH = 26
HEADER = """\
All of these texts are made up by this project, and its reader is developed beside them: the
figures are development figures, in %, and say little about texts that nobody here has seen.
To ask the model again is always safe. Each rival was made for one or two of the forms.
"""
COLUMNS = (
    "      reading |     respelled |             must not happen |  meant,",
    " right  wrong |  kept  lowest | shown inside  named  values |     but",
    "         call |  mean    kind |  made   made   made changed |  missed",
)


def main() -> None:
    """Measure the reader and each rival that is installed."""
    options = _options()
    cases = list(base_texts(options.seed, options.each))
    asked = list(probes())
    print(HEADER)
    sizes = Counter(probe.yardstick for probe in asked)
    print(f"{len(cases)} base texts (seed {options.seed}), {len(KINDS)} kinds of respelling,")
    print(", ".join(f"{sizes[name]} {name}" for name in YARDSTICKS), end="\n\n")
    print("\n".join(" " * WIDTH + line for line in COLUMNS))
    ours = Score(loopmend, cases, asked)
    print(f"{'loopmend':{WIDTH}}{ours.row()}", flush=True)
    for name, read in rivals().items():
        row = "  not installed, passed over" if read is None else Score(read, cases, asked).row()
        print(f"{name:{WIDTH}}{row}", flush=True)
    print()
    counted = count()
    for line in _messages(counted):
        print(line)
    if options.kinds:
        _print_kinds(ours)
    if options.show:
        _print_failing(ours, counted, options.show)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=HEADER)
    parser.add_argument("--seed", type=int, default=1, help="what the base texts are drawn with")
    parser.add_argument("--each", type=int, default=9, help="base texts of each form")
    parser.add_argument("--show", type=int, default=0, help="print N failures of each yardstick")
    parser.add_argument("--kinds", action="store_true", help="print each form and each respelling")
    return parser.parse_args()


def _messages(counted: list[Counted]) -> list[str]:
    """Return what loopmend makes of messages without a call, in both modes."""
    return [
        f"loopmend, {each.mode:6}  good messages refused {len(each.refused):3} of {each.good}, "
        f"told plans noticed {each.plans - len(each.overlooked):3} of {each.plans}"
        for each in counted
    ]


def _print_kinds(score: Score) -> None:
    """Print how the reader does form by form and kind by kind, the worst first."""
    for title, counters in (("forms", score.forms), ("respellings", score.kinds)):
        print(f"\nloopmend, {title}: right, and what else")
        for name, counter in sorted(counters.items(), key=lambda item: share(item[1], "right")):
            others = ", ".join(f"{n} {what}" for what, n in counter.items() if what != "right")
            print(f"  {name:62}{share(counter, 'right'):6.1f} of {counter.total():4}  {others}")


def _print_failing(score: Score, counted: list[Counted], most: int) -> None:
    """Print some of the reader's failures, spread over all of them."""
    for yardstick, failing in score.failing.items():
        print(f"\nloopmend, {yardstick}: {len(failing)} failures")
        for name, text, got in failing[:: max(1, len(failing) // most)][:most]:
            print(f"  {name}\n    {text[:300]!r}\n    {got}")
    for each in counted:
        for title, texts in (("refused", each.refused), ("overlooked", each.overlooked)):
            print(f"\nloopmend, {each.mode}: {len(texts)} messages {title}")
            print("\n".join(f"  {text[-200:]!r}" for text in texts[:most]))


if __name__ == "__main__":
    main()
