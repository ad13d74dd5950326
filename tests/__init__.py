"""The tests; a package so that `python -m tests.conformance` works."""
