"""Measures with a real model how many tool tasks agents complete, natively and with loopmend."""
