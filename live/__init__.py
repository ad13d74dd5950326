"""Measures with a real model how many tool tasks agents complete, without and with loopmend."""
