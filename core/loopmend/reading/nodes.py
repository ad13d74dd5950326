"""The nodes of a text: what stands inside of what."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from loopmend.reading.lexicon import Role
from loopmend.reading.pythonic import PythonCall
from loopmend.reading.sections import Header
from loopmend.reading.values import Value

__all__ = ["Kind", "Node", "Tree"]


class Kind(Enum):
    """What kind of mark a node was made from."""

    ROOT = "root"
    TAG = "tag"
    FENCE = "fence"
    CODE = "code"
    VALUE = "value"
    PYTHON = "python"
    HEADER = "header"
    NOISE = "noise"


@dataclass(slots=True, eq=False)
class Node:
    """A span of the text, and what stands inside of it."""

    kind: Kind
    start: int
    begin: int
    """Where its inside starts."""
    stop: int = -1
    """Where its inside ends."""
    end: int = -1
    role: Role | None = None
    name: str = ""
    label: str | None = None
    """What `=value` or an attribute names."""
    attributes: dict[str, str] = field(default_factory=dict)
    valued: bool = False
    """Whether `=value` names it."""
    guessed: bool = False
    """Whether its end is where something else begins."""
    closed: bool = False
    leaf: bool = False
    """Whether its inside is text and nothing else."""
    token: bool = False
    """Whether it is written as a control token, which need not be closed."""
    children: list[Node] = field(default_factory=list)
    value: Value | None = None
    calls: list[PythonCall] = field(default_factory=list)
    header: Header | None = None
    above: Header | None = None
    """The last header in it."""
    opening: int = -1
    """Where the first word in it stands, once somebody has looked."""


@dataclass(slots=True)
class Tree:
    """A text and its nodes."""

    text: str
    root: Node
    visible: int = 0
    """Where what is said starts, behind a closing tag of thinking that has no opening one."""
    thought_end: int = 0
    """Where that closing tag starts."""
    whole: bool = True
    """Whether all marks were looked at: a text of nothing but markup is given up on."""
