"""`typing.TypedDict` for pydantic, which takes only that of typing_extensions before 3.12."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Final, ForwardRef, Literal, Union, get_args, get_origin

__all__ = ["TAKEN", "retyped"]

TAKEN: Final = sys.version_info >= (3, 12)
"""Whether pydantic takes `typing.TypedDict` as it is."""


def retyped(kind: Any, outer: tuple[Any, ...] = ()) -> Any:
    """Return a type with each `typing.TypedDict` in it made anew by typing_extensions.

    >>> retyped(list[int])
    list[int]
    """
    if isinstance(kind, type) and type(kind).__module__ == "typing" and hasattr(kind, "__total__"):
        # Within itself it is known by its name.
        return ForwardRef(kind.__name__) if kind in outer else _made_anew(kind, (*outer, kind))
    args = get_args(kind)
    origin: Any = get_origin(kind)
    if origin is Annotated:
        inner = retyped(args[0], outer)
        parts = (inner, *args[1:])
        return kind if inner is args[0] else origin[parts]
    if origin is Literal:
        return kind
    inside = tuple(retyped(each, outer) for each in args)
    if all(new is old for new, old in zip(inside, args, strict=True)):
        return kind
    if origin in (Union, UnionType):
        return Union[inside]
    # `typing.List` has an origin that is another class.
    return kind.copy_with(inside) if hasattr(kind, "copy_with") else origin[inside]


def _made_anew(kind: Any, outer: tuple[Any, ...]) -> Any:
    from typing_extensions import NotRequired, Required, TypedDict, get_type_hints

    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        mark: Any = get_origin(hint)
        if mark in (Required, NotRequired):
            fields[name] = mark[retyped(get_args(hint)[0], outer)]
        else:
            mark = Required if name in kind.__required_keys__ else NotRequired
            fields[name] = mark[retyped(hint, outer)]
    make: Any = TypedDict
    made = make(kind.__name__, fields)
    kept: Mapping[str, Any] = vars(kind)
    for name in ("__doc__", "__module__", "__qualname__", "__pydantic_config__"):
        if name in kept:
            setattr(made, name, kept[name])
    return made
