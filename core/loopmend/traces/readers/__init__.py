"""Readers of traces: one small module per format, over one normaliser of messages."""
