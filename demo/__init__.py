"""Agents that fail in five ways, natively and mended: `make demo`."""
