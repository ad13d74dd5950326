"""The core, contract by contract."""
