"""Readers of traces, format by format."""
