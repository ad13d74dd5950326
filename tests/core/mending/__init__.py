"""Mending: what to do about a reply."""
