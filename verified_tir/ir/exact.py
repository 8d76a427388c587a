"""Readers that check the exact types of values: no subclass of a Python type gets into a program.

A field that is declared as ``int`` holds an ``int``, not an instance of a subclass whose comparisons lie; a tuple is a
tuple; a node is one of the classes of this package, which cannot be subclassed.  Each class of nodes (and each rule of
the kernel) is read by the types of its fields: :func:`reader` makes of a type what checks a value against it and gives
the value back as one of exactly that type.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
Reader = Callable[[Any], Any]

NODES: dict[str, type] = {}
"""The classes of nodes by name; complete once ``verified_tir.ir.func`` was imported (see ``node``)."""

READERS: dict[Any, Reader] = {}
"""What reads types of other packages, by type."""

_PLAIN: dict[type, Reader] = {
    int: int.__int__, float: float.__float__, str: str.__str__, bool: bool, types.NoneType: lambda none: none,
}  # fmt: skip
"""Python's types, each with what makes of an instance of a subclass one of the type itself."""


class IRError(ValueError):
    """A program, or a piece of one, that breaks the rules of the IR (type, rank, scope)."""


class Inexact(IRError):
    """A value that is not of the type that its place has."""


def _mismatch(wanted: object, value: object) -> Inexact:
    return Inexact(f"{getattr(wanted, '__name__', wanted)} is wanted, not a {type(value).__name__}")


def _plain(wanted: type) -> Reader:
    convert = _PLAIN[wanted]

    def read(value: Any) -> Any:
        if not issubclass(type(value), wanted):
            raise _mismatch(wanted, value)
        return convert(value)

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
    readers = [reader(i) for i in items if i is not Ellipsis]

    def read(value: Any) -> Any:
        if not issubclass(type(value), tuple):
            raise _mismatch("tuple", value)
        parts = list(tuple.__iter__(value))
        each = readers * len(parts) if Ellipsis in items else readers
        if len(parts) != len(each):
            raise Inexact(f"{len(each)} values are wanted, not {len(parts)}")
        return tuple([r(p) for r, p in zip(each, parts, strict=True)])

    return read


def is_one_of(kind: type, kinds: Iterable[type]) -> bool:
    """Whether a class is one of some others, by identity: its own ``__eq__`` is not asked."""
    return any(k is kind for k in kinds)


def _is_node(kind: type) -> bool:
    return NODES.get(kind.__name__) is kind


def _instance(wanted: type) -> Reader:
    """A reader of nodes, or of records of this package, of exactly one class."""

    def read(value: Any) -> Any:
        kind = type(value)  # and not what the value says of itself
        if kind is wanted or (issubclass(kind, wanted) and _is_node(kind)):
            return exact(value)
        raise _mismatch(wanted, value)

    return read


@cache
def reader(hint: Any) -> Reader:
    """The reader of values of a type: plain types, tuples, unions, literals, nodes and frozen dataclasses."""
    if hint in READERS:
        return READERS[hint]
    if hint in _PLAIN:
        return _plain(hint)
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _any_of(of)
    if origin is typing.Literal:
        return _one_of(of)
    if origin is tuple:
        return _sequence(of)
    if isinstance(hint, type):
        return _instance(hint)
    raise TypeError(f"fields of type {hint} are not read")


@cache
def field_readers(record: type) -> tuple[tuple[str, Reader], ...]:
    """The readers of the fields of a dataclass, in order."""
    if type(record) is not type and not _is_node(record):  # it might compare equal to another
        raise Inexact("this is not a class of this package")
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


def exact_fields(record: object) -> dict[str, Any]:
    """The fields of a record, each of exactly its type; one that is not there counts as ``None``.

    :raises Inexact: for a field that is not of its type.
    """
    kind: type = type(record)
    found = {}
    for name, read in field_readers(kind):
        try:
            found[name] = read(getattr(record, name, None))
        except Inexact as problem:
            raise Inexact(f"{kind.__name__}.{name}: {problem}") from None
    return found


def exact(value: T) -> T:
    """A node, whose fields were read when it was made; or a record, made anew of fields of exactly their types.

    :raises Inexact: for a field that is not of its type; for a node that its class has not made.
    """
    kind: type = type(value)
    if not _is_node(kind):
        return kind(**exact_fields(value))  # type: ignore[no-any-return]
    if not hasattr(value, "_known"):
        raise Inexact(f"this {kind.__name__} was not made by calling its class")
    return value
