"""`make demo` is the first thing a newcomer runs."""

from __future__ import annotations

import pytest

from demo.__main__ import main


def test_the_demo_shows_all_five_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    """Each contract speaks at least once, and says what it must of the worked example."""
    main()
    shown = capsys.readouterr().out
    for said in (
        "call web_search with {'q': 'Oslo'}",
        "broken: NarratedToolUse",
        "broken: MalformedToolCall",
        "Answer(content='About 720,000'",
        "IterationsExceedBudget(iterations=5, max=4",
        "-> 0.90 DelegateToSpecialist",
    ):
        assert said in shown
