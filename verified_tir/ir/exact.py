"""Values that are what they seem: no subclass of a Python type gets into a program.

A field that is declared as ``int`` holds an ``int``, not an instance of a subclass whose comparisons lie; a tuple is a
tuple; a node is one of the classes of this package, which cannot be subclassed.  Each class of nodes (and each rule of
the kernel) is read by the types of its fields: :func:`reader` makes of a type what checks a value against it and gives
the value back as one of exactly that type.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

Reader = Callable[[Any], Any]

NODES: dict[str, type] = {}
"""The classes of nodes by name; complete once ``verified_tir.ir.func`` was imported (see ``node``)."""

READERS: dict[Any, Reader] = {}
"""What reads types of other packages, by type."""

_BASE: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__, str: str.__str__}


class Inexact(ValueError):
    """A value that is not of the type that its place has."""


def _is_node(kind: type) -> bool:
    return NODES.get(kind.__name__) is kind


def _mismatch(wanted: object, value: object) -> Inexact:
    return Inexact(f"{getattr(wanted, '__name__', wanted)} is wanted, not a {type(value).__name__}")


def _plain(wanted: type) -> Reader:
    """Reads an int, a float, a str or a bool; what is of a subclass becomes one of the class itself."""

    def read(value: Any) -> Any:
        if type(value) is wanted:
            return value
        if wanted is not bool and issubclass(type(value), wanted):
            return _BASE[wanted](value)
        raise _mismatch(wanted, value)

    return read


def _any_of(options: tuple[Any, ...]) -> Reader:
    # A bool is an int, too, and ``int | bool`` is the same union as ``bool | int``.
    readers = [reader(o) for o in sorted(options, key=lambda o: o is not bool)]

    def read(value: Any) -> Any:
        for r in readers:
            try:
                return r(value)
            except Inexact:
                pass
        raise _mismatch(" or ".join(getattr(o, "__name__", str(o)) for o in options), value)

    return read


def _one_of(choices: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        for c in choices:
            if type(value) is type(c) and value == c:
                return value
        raise Inexact(f"one of {', '.join(map(repr, choices))} is wanted")

    return read


def _sequence(items: tuple[Any, ...]) -> Reader:
    """Reads a tuple, of any length if ``items`` ends with an ellipsis."""
    same = reader(items[0]) if len(items) == 2 and items[1] is Ellipsis else None
    each = None if same else [reader(i) for i in items if i != ()]

    def read(value: Any) -> Any:
        if not issubclass(type(value), tuple):
            raise _mismatch("tuple", value)
        parts = list(tuple.__iter__(value))
        if same:
            return tuple([same(p) for p in parts])
        if each is None or len(parts) != len(each):
            raise Inexact(f"{len(each or ())} values are wanted, not {len(parts)}")
        return tuple([r(p) for r, p in zip(each, parts, strict=True)])

    return read


def _instance(wanted: type) -> Reader:
    """Reads a node, or a record of ours; a record is read field by field."""

    nodes: dict[int, type] = {}  # by identity: a class may say that it equals any other

    def read(value: Any) -> Any:
        kind = type(value)  # and not what the value says of itself
        if nodes.get(id(kind)) is kind and hasattr(value, "_made"):
            return value
        if kind is wanted or (issubclass(kind, wanted) and _is_node(kind)):
            if _is_node(kind):
                nodes[id(kind)] = kind
            return exact(value)
        raise _mismatch(wanted, value)

    return read


@cache
def reader(hint: Any) -> Reader:
    """What reads values of a type: plain types, tuples, unions, literals, nodes and frozen dataclasses."""
    if hint in READERS:
        return READERS[hint]
    origin = typing.get_origin(hint)
    if hint is None or hint is types.NoneType:
        return _one_of((None,))
    if origin in (typing.Union, types.UnionType):
        return _any_of(typing.get_args(hint))
    if origin is typing.Literal:
        return _one_of(typing.get_args(hint))
    if origin is tuple:
        return _sequence(typing.get_args(hint))
    if hint in (int, float, str, bool):
        return _plain(hint)
    if isinstance(hint, type):
        return _instance(hint)
    raise TypeError(f"fields of type {hint} are not read")


@cache
def field_readers(record: type) -> tuple[tuple[str, Reader], ...]:
    """What reads the fields of a dataclass, in order."""
    return tuple((name, reader(hint)) for name, hint in field_types(record))


def field_types(record: type) -> tuple[tuple[str, Any], ...]:
    """The types of the fields of a dataclass, in order."""
    hints = typing.get_type_hints(record, localns={**NODES, "AnnotationValue": _AnnotationValue})
    return tuple((f.name, hints[f.name]) for f in dataclasses.fields(record))


class _AnnotationValue:
    """Stands for the recursive type ``AnnotationValue``: what an annotation may hold."""


def _annotation(value: Any) -> Any:
    if issubclass(type(value), tuple):
        return tuple([_annotation(v) for v in tuple.__iter__(value)])
    return reader(bool | int | float | str | NODES["Expr"])(value)


READERS[_AnnotationValue] = _annotation

T = TypeVar("T")


def exact(value: T) -> T:
    """The value, if it is a node (whose fields were read when it was made); a record anew, of fields that were read.

    :raises Inexact: for a field that is not of its type, or not there; for a node that its class has not made.
    """
    kind = type(value)
    if _is_node(kind):
        if not hasattr(value, "_made"):
            raise Inexact(f"this {kind.__name__} was not made by calling its class")
        return value
    if not dataclasses.is_dataclass(kind):
        return value
    if not all(hasattr(value, f.name) for f in dataclasses.fields(kind)):
        raise Inexact(f"this {kind.__name__} has not all of its fields")
    fields = {name: read(getattr(value, name)) for name, read in field_readers(kind)}
    if all(fields[name] is getattr(value, name) for name in fields):
        return value
    return typing.cast(T, kind(**fields))
