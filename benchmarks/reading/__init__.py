"""The project's own yardsticks for its reader: `python -m benchmarks.reading`."""
