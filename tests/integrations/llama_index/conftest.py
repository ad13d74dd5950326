"""What the tests of the LlamaIndex adapters share."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let LlamaIndex use what it deprecated itself: that is not ours to mend."""
    for item in items:
        if "integrations/llama_index" in item.nodeid:  # and the doctests of the package
            for said in (
                "ignore::pydantic.warnings.PydanticDeprecationWarning",
                "ignore:is_running called from within a step",
                "ignore:Skipping serialization of known unserializable key",
            ):
                item.add_marker(pytest.mark.filterwarnings(said))
