"""`python -m tests.fuzz.with_atheris turns 60 1`: let atheris look for texts that reach new code.

A process of its own, because atheris instruments what is imported after it.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module


def main(name: str, seconds: str, seed: str) -> int:
    """Fuzz one target for so many seconds; ends the process."""
    try:
        atheris = import_module("atheris")
    except ImportError:
        print("atheris is not installed here: nothing was fuzzed with it")
        return 0
    with atheris.instrument_imports(include=["loopmend"]):
        target = import_module("tests.fuzz.targets").TARGETS[name]

    def once(data: bytes) -> None:
        provider = atheris.FuzzedDataProvider(data)
        drawn = provider.ConsumeProbability()
        # JSON cannot tell a character from its two halves, which no decoder leaves apart.
        halves = provider.ConsumeUnicode(4096).encode("utf-16", "surrogatepass")
        target(halves.decode("utf-16", "surrogatepass"), random.Random(drawn))

    atheris.Setup([sys.argv[0], f"-max_total_time={int(float(seconds))}", f"-seed={seed}"], once)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
