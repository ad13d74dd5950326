"""Tests of the planning around the contract."""
