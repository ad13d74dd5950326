"""Run LangChain's and LlamaIndex's own tests with loopmend put in place, and report what breaks.

`make peers` runs this. The suites are those that the sdists of the installed versions ship; each
is run as it is and then once for each arm, with something of loopmend put in place by a pytest
plugin. It only reports: tests that fail are no error of this program.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tools.peers.in_place import CONTROLS
from tools.peers.report import Comparison, report
from tools.peers.suites import ROOT, SUITES, Outcome, Suite, Unavailable, Workshop

SCRATCH: Final = ROOT / "build" / "peers"
MOST_AGAIN: Final = 200
"""How many tests are run again at most."""


def compare(workshop: Workshop, suite: Suite, arms: Sequence[str]) -> Iterator[Comparison]:
    """Run a suite without loopmend and with each arm."""
    try:
        say(f"{suite.name}: setting up")
        workshop.get(suite)
        say(f"{suite.name}: without loopmend")
        without = workshop.outcomes(suite)
    except Unavailable as unavailable:
        for arm in arms:
            yield Comparison(suite.name, arm, note=str(unavailable))
        return
    for arm in arms:
        say(f"{suite.name}: {arm}")
        yield compared(workshop, suite, arm, without)


def compared(workshop: Workshop, suite: Suite, arm: str, without: dict[str, Outcome]) -> Comparison:
    """Run a suite with an arm, and what fails once more, alone, to know what is to blame."""
    try:
        comparison = Comparison(suite.name, arm, without, workshop.outcomes(suite, arm))
        suspects = comparison.suspects()
        if 0 < len(suspects) <= MOST_AGAIN:
            alone = workshop.outcomes(suite, only=suspects)
            again = Comparison(suite.name, arm, alone, workshop.outcomes(suite, arm, suspects))
            steady = again.suspects()
            comparison.unsteady = [test for test in suspects if test not in steady]
            if arm in CONTROLS:
                idle = workshop.outcomes(suite, CONTROLS[arm], suspects)
                comparison.inevitable = Comparison(suite.name, arm, alone, idle).suspects()
    except Unavailable as unavailable:
        return Comparison(suite.name, arm, note=str(unavailable))
    return comparison


def say(text: str) -> None:
    """Tell how far it is, beside the report."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> None:
    """Compare what was asked for and print the report."""
    arms = [arm for suite in SUITES for arm in suite.arms]
    parser = argparse.ArgumentParser(prog="python -m tools.peers", description=__doc__)
    parser.add_argument(
        "--only",
        metavar="ARM",
        action="append",
        choices=arms,
        help=f"run this arm; may be repeated; one of {', '.join(arms)}",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all details to a file")
    options = parser.parse_args(arguments)
    wanted = options.only or arms
    started = time.monotonic()
    workshop = Workshop(SCRATCH)
    comparisons = [
        comparison
        for suite in SUITES
        if any(arm in wanted for arm in suite.arms)
        for comparison in compare(workshop, suite, [arm for arm in suite.arms if arm in wanted])
    ]
    say(f"done after {time.monotonic() - started:.0f} s")
    print(report(comparisons))
    if options.json:
        data = [comparison.to_data() for comparison in comparisons]
        options.json.write_text(json.dumps(data, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
