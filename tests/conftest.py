"""How all tests are run."""

import os

from hypothesis import settings

# How long one example takes depends on what else the machine does; test_growth.py looks at time.
# A run draws the same examples each time: a gate that fails by chance, coverage included, teaches
# people to run it again. HYPOTHESIS=explore draws new ones, and `make fuzz` many more.
settings.register_profile("loopmend", parent=settings.default, deadline=None, derandomize=True)
settings.register_profile("explore", parent=settings.default, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "loopmend"))
