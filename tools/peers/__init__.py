"""LangChain's own tests, with loopmend put in place. `make peers` runs them."""
