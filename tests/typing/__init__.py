"""Checked by mypy, never run; a package so that no file shadows a real module."""
