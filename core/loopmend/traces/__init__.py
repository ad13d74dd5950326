"""Runs of agents: what was recorded, why they stopped, and what is wrong with them."""
