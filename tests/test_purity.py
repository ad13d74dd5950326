"""The core imports no framework, and nothing heavy before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys

FRAMEWORKS = ("langchain", "langchain_core", "langchain_classic", "langgraph", "llama_index")


def modules_after(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the names of what it imported."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return set(json.loads(done.stdout))


def test_importing_the_core_imports_no_framework_and_no_pydantic() -> None:
    """`import loopmend` stays light; pydantic comes with the first value that is read."""
    loaded = modules_after("import loopmend")
    assert {name for name in loaded if name.partition(".")[0] in (*FRAMEWORKS, "pydantic")} == set()


def test_importing_the_core_does_not_load_the_reader() -> None:
    """The reader's patterns are compiled when it is first asked for."""
    assert not any(name.startswith("loopmend.reading") for name in modules_after("import loopmend"))
    assert "loopmend.reading.reader" in modules_after("from loopmend import read_turn")


def test_using_the_core_imports_no_framework() -> None:
    """Also when every contract and the reader of values have been used."""
    loaded = modules_after(
        "from loopmend.contracts import *\n"
        'from_data(AgentAction, to_data(parse_action(\'{"type":"final","content":""}\')))\n'
        "turn = TaskStateInput('x')\n"
        "plan(synthesize_task_state(turn), turn)\n"
        "detect_meta_signal('x'), detect_normalization_failure('x')\n"
        "classify_scratchpad_grammar('x'), classify_termination({})\n"
    )
    assert "pydantic" in loaded
    assert {name for name in loaded if name.partition(".")[0] in FRAMEWORKS} == set()


def test_nothing_is_drawn_before_it_is_shown() -> None:
    """What draws values in notebooks is loaded when the first one is shown."""
    use = "from loopmend import Trace, classify_trace, read_turn\nread_turn('x')\n"
    loaded = modules_after(f"{use}classify_trace(Trace())")
    assert not any(name.startswith("loopmend.rendering") for name in loaded)
    assert "loopmend.rendering.turn" in modules_after(f"{use}read_turn('x')._repr_html_()")
