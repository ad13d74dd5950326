"""No public function takes longer per sign as its text grows."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tests import sweep
from tests.core.reading.pumps import PUMPS

PACKAGES = ("", ".contracts", ".reading", ".mending", ".planning", ".traces", ".rendering")
SIZES_AND_WORDS = {
    "RetryPolicy.may_make",  # a name in a set
    "Trace.with_reason",
    "Mending.start",
    "Mending.refuse",
    "Schema.clean",
    "build_normalization_retry_prompt",
}
"""Functions whose text is only put into another one."""


@pytest.mark.parametrize("name", list(sweep.FUNCTIONS))
def test_time_is_linear_in_the_text(name: str) -> None:
    """Twice the text costs about twice the time, whatever token of a dialect is repeated."""
    part = list(PUMPS)[len(name) % 20 :: 20]
    assert list(sweep.offenders([name], part, ["alone"])) == []


def test_no_function_is_forgotten() -> None:
    """Each public function or method that takes a text is swept."""
    swept = inspect.getsource(sweep)
    names = {name for package in PACKAGES for name in _taking_text(f"loopmend{package}")}
    assert len(names) > 20
    missing = {name for name in names if name.split(".")[0] not in swept}
    assert missing - SIZES_AND_WORDS == set()


def test_what_is_quadratic_is_found() -> None:
    """The sweep finds a function that looks at all that came before, again and again."""
    sweep_one: dict[str, Callable[[str], Any]] = {"quadratic": _quadratic}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "FUNCTIONS", sweep_one)
        found = list(sweep.offenders(["quadratic"], ["{"], ["alone"]))
    assert [name for name, *_ in found] == ["quadratic"]


def _quadratic(text: str) -> int:
    return sum(len(text[:at].lower().upper()) for at in range(len(text)))


def _taking_text(package: str) -> list[str]:
    module = importlib.import_module(package)
    found = []
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value) and _is_text(value, 0):
            found.append(name)
        elif inspect.isclass(value):
            for key, member in vars(value).items():
                inner = getattr(member, "__func__", member)
                if not key.startswith("_") and inspect.isfunction(inner) and _is_text(inner, 1):
                    found.append(f"{name}.{key}")
    return found


def _is_text(function: Callable[..., Any], at: int) -> bool:
    given = list(inspect.signature(function).parameters.values())[at : at + 1]
    return bool(given) and str(given[0].annotation).strip("'") == "str"
