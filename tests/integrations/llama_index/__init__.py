"""The LlamaIndex adapters, on real agents and workflows."""
