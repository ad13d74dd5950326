"""How all tests are run."""

from hypothesis import settings

# How long one example takes depends on what else the machine does; test_growth.py looks at time.
settings.register_profile("loopmend", parent=settings.default, deadline=None)
settings.load_profile("loopmend")
