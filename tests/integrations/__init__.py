"""The adapters, on the real frameworks."""
