"""Tasks and the tools that know their answers: each file of tasks holds `TOOLS` and `TASKS`.

Five are here. We tuned loopmend on the runs of `railway` and `harbour`. We wrote `museum`, `clinic`
and `observatory` before any model ran on them; `observatory` is still held out: nobody changes
loopmend because of it.
`--tasks FILE.py` takes a file of your own, in the same form.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

__all__ = ["NOT_FOUND", "Task", "TaskFile", "Tool", "plain", "task_file"]

Tool = Callable[..., str]
NOT_FOUND: Final = "no|not|isn't|doesn't|unable|couldn't|cannot|can't|unknown|unavailable"
"""A pattern for `Task.holds`: the answer says that the tools do not know it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question, what its answer must hold, and which tools must have been called."""

    kind: str
    question: str
    holds: tuple[str, ...]
    """Patterns, each of which the answer must hold as words of its own."""
    calls: tuple[str, ...] = ()
    """The tools without which nobody can know it."""
    helps: tuple[str, ...] = ()
    """Further tools that a good run may call."""
    first: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Arguments of the first call that a good run makes."""


@dataclass(frozen=True, slots=True)
class TaskFile:
    """The tools and the tasks of one file."""

    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...]

    def noted(self, called: list[str]) -> list[Tool]:
        """Return the tools, each of which notes that it was called."""
        return [_noted(tool, called) for tool in self.tools]

    def is_right(self, task: Task, answer: str, called: Sequence[str]) -> bool:
        """Tell whether an answer is right, comes from the tools that know it, and is no call.

        An answer that names a tool in quotes or with a bracket is a call that nobody made.
        """
        names = "|".join(tool.__name__ for tool in self.tools)
        if re.search(rf"""["'](?:{names})["']|\b(?:{names})\(""", answer):
            return False
        said = answer.lower().replace(",", "")
        held = all(re.search(rf"(?<![\w.])(?:{each})(?!\w|\.\d)", said) for each in task.holds)
        return held and all(tool in called for tool in task.calls)


def plain(text: str, *without: str) -> str:
    """Return text in lower case without quotes, extra spaces and some words, to look it up.

    Example:
        >>> plain("  The 'Night  Ferry' ship", "the", "ship")
        'night ferry'
    """
    words = text.lower().replace("'", "").replace('"', "").split()
    return " ".join(word for word in words if word not in without)


def task_file(name: str) -> TaskFile:
    """Return the tasks of this folder by name, or those of a Python file of your own.

    Raises:
        SystemExit: There is no such file, or it does not hold `TOOLS` and `TASKS`.
    """
    path = Path(name)
    if path.suffix != ".py":
        path = Path(__file__).with_name(f"{name}.py")
    spec = spec_from_file_location(f"live_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        msg = f"no such file of tasks: {path}"
        raise SystemExit(msg)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return TaskFile(tuple(module.TOOLS), tuple(module.TASKS))
    except AttributeError as error:
        msg = f"{path} needs TOOLS, a list of functions, and TASKS, a list of live.tasks.Task"
        raise SystemExit(msg) from error


def _noted(tool: Tool, called: list[str]) -> Tool:
    @functools.wraps(tool)
    def noted(*args: Any, **kwargs: Any) -> str:
        called.append(tool.__name__)
        return tool(*args, **kwargs)

    return noted
