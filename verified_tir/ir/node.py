"""Interned immutable nodes: the ground on which every IR class stands.

A node is a frozen, slotted dataclass whose instances are hash-consed: building the same node twice gives the same
object.  Equality is therefore identity (cheap, also on heavily shared trees), and a node can be a dictionary key.
Equality modulo the names of bound variables is a function, ``verified_tir.ir.equal.structural_equal``.

The table of nodes is weak: a program that nobody holds any longer is collected.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from verified_tir.ir.exact import NODES, Inexact, field_readers
from verified_tir.ir.weak_table import WeakTable

_TABLE: WeakTable[Any] = WeakTable()

N = TypeVar("N", bound="Node")
R = TypeVar("R")


def float_key(value: float) -> bytes:
    """The bits of a Python float: 0.0, -0.0 and each NaN are different keys."""
    return struct.pack("<d", value)


def _key(value: object) -> object:
    """A dictionary key that keeps 0.0, -0.0, 0, False and NaN apart; of what no node holds, one that is nowhere."""
    kind = type(value)
    if type(kind) is InternedMeta or kind is int or kind is str or value is None:
        return value
    if kind is tuple:
        if all(type(type(v)) is InternedMeta for v in value):  # type: ignore[attr-defined]
            return value
        return tuple([_key(v) for v in value])  # type: ignore[attr-defined]
    if kind is float:
        return ("float", float_key(value))  # type: ignore[arg-type]
    if kind is bool:
        return ("bool", value)
    return object()


_sealed: list[bool] = []


def seal() -> None:
    """All classes of nodes are there: no other may be made."""
    _sealed.append(True)


class InternedMeta(type):
    """Metaclass that returns the existing instance when an equal one is alive, and reads the fields of a new one.

    :raises TypeError: for a class of nodes that is not one of this package.
    """

    def __new__(mcls, name: str, bases: tuple[type, ...], space: dict[str, Any], **options: Any) -> InternedMeta:
        if _sealed:
            raise TypeError(f"{name}: the classes of nodes are a closed set")
        made = super().__new__(mcls, name, bases, space, **options)
        NODES[name] = made  # of a class with slots dataclass makes a second one, which counts
        return made

    if not TYPE_CHECKING:  # a checker should see the dataclass' own constructor

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if not kwargs and len(args) == len(cls.__match_args__):  # most nodes that are asked for are there
                found = _TABLE.get((cls, *map(_key, args)))
                if found is not None:
                    return found
            made = _read(cls, super().__call__(*args, **kwargs), super().__call__)
            return _interned(made, (cls, *[_key(getattr(made, name)) for name in cls.__match_args__]))


def _interned(made: Any, key: tuple[object, ...]) -> Any:
    """The node that stands under the key, which is this one if there was none."""
    found = _TABLE.get(key)
    if found is not None:
        return found
    _TABLE.put(key, made)
    object.__setattr__(made, "_made", key)
    return made


def remade(node: N, **changes: object) -> N:
    """The node with other values in some of its fields.  The others were read when it was made, and are not read again:
    a function may have a thousand parameters.

    :raises IRError: for a value that is not of its field's type.
    """
    kind, made_of = type(node), node._made  # type: ignore[attr-defined]
    key: list[object] = [kind]
    values: list[object] = []
    for (name, read), old in zip(field_readers(kind), made_of[1:], strict=True):
        try:
            value = read(changes[name]) if name in changes else getattr(node, name)
        except Inexact as problem:
            raise IRError(f"{kind.__name__}.{name}: {problem}") from None
        values.append(value)
        key.append(_key(value) if name in changes else old)
    return _interned(type.__call__(kind, *values), tuple(key))  # type: ignore[no-any-return]


def _read(kind: Any, made: Any, make: Callable[..., Any]) -> Any:
    """The node, made anew if a field is not of exactly its type."""
    fields = []
    try:
        for name, read in field_readers(kind):
            fields.append(read(getattr(made, name)))
    except Inexact as problem:
        raise IRError(f"{kind.__name__}.{name}: {problem}") from None
    if all(value is getattr(made, name) for value, name in zip(fields, kind.__match_args__, strict=True)):
        return made
    return make(*fields)


class Node(metaclass=InternedMeta):
    """Base of expressions, statements, buffers and functions."""

    __slots__ = ("__weakref__", "_below", "_known", "_made")
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a node cannot be pickled, its variables would be others: write the program as text")


def once(compute: Callable[[N], R]) -> Callable[[N], R]:
    """A function of one node that is computed once for each node, which keeps what was found.

    That is right for a pure function whose results nobody changes, since a node does not change: it is what it is made
    of, and so is all that is below it.  A function that asks itself about the parts of a node finds, in a program of
    which one statement changed, the answers about all others.
    """

    @wraps(compute)
    def known(node: N) -> R:
        try:
            return node._known[compute]  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            object.__setattr__(node, "_known", {})
        except KeyError:
            pass
        found = compute(node)
        node._known[compute] = found  # type: ignore[attr-defined]
        return found

    return known


class IRError(ValueError):
    """A program, or a piece of one, that breaks the rules of the IR (type, rank, scope)."""
