"""Agents that fail in five ways, without and with loopmend: `make demo`."""
