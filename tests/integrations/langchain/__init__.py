"""The LangChain adapters, on real chains, agents and graphs."""
