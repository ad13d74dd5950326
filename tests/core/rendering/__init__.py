"""Rendering: what values look like in a notebook."""
