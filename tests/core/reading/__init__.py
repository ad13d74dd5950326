"""Reading: what models really emit."""
