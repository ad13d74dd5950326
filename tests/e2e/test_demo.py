"""`make demo` is the first thing a newcomer runs."""

from __future__ import annotations

import pytest

from demo.__main__ import main


def test_the_demo_shows_all_five_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    """Each contract and the reader speak, and say what they must of the worked example."""
    main()
    shown = capsys.readouterr().out
    for said in (
        "call web_search with {'q': 'Oslo'}",
        "broken: NarratedToolUse",
        "broken: MalformedToolCall",
        "Answer(content='About 720,000'",
        "IterationsExceedBudget(iterations=6, max=4",
        "reading   call web_search with {'q': 'Oslo'}   (repaired)",
        "reading   narrated: It is told what will be done with `web_search`",
        "-> 0.90 DelegateToSpecialist",
    ):
        assert said in shown
