"""What the tests of the LangChain adapters share."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let LangChain and LangGraph announce their own deprecations: they are not ours to mend."""
    for item in items:
        if "tests/integrations/langchain" in item.nodeid:
            for kind in ("LangChainDeprecationWarning", "LangChainBetaWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::langchain_core._api.{kind}"))
            item.add_marker(pytest.mark.filterwarnings("ignore:create_react_agent has been moved"))
