"""Recorded runs: reading, classifying, storing."""
