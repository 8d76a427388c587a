"""Interned immutable nodes: the ground on which every IR class stands.

A node is a frozen, slotted dataclass whose instances are hash-consed: building the same node twice gives the same
object.  Equality is therefore identity (cheap, also on heavily shared trees), and a node can be a dictionary key.
Equality modulo the names of bound variables is a function, ``verified_tir.ir.equal.structural_equal``.

The table of nodes is weak: a program that nobody holds any longer is collected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from verified_tir.ir.exact import NODES, IRError, exact_fields, field_readers

__all__ = ["IRError", "Node", "once", "seal"]

_TABLE: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
ENTERED = RLock()
"""Held while something is entered in a table of what is there once: several threads may make programs."""

N = TypeVar("N", bound="Node")
R = TypeVar("R")


def _key(value: object) -> object:
    """A dictionary key that keeps 0.0, -0.0, 0 and False apart (there is one NaN); of what no node holds, one that is
    nowhere."""
    kind = type(value)
    if type(kind) is InternedMeta or kind is int or kind is str or value is None:
        return value
    if kind is tuple:
        return tuple(map(_key, value))  # type: ignore[call-overload]
    if kind is float:
        return float, float.hex(value)  # type: ignore[arg-type]
    return (bool, value) if kind is bool else object()


def lives(kind: type, *values: object) -> bool:
    """Whether a node of this class with these field values is alive."""
    return (kind, *map(_key, values)) in _TABLE


_sealed: list[bool] = []


def seal() -> None:
    """Close the set of node classes: no other can be defined from now on."""
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
            made = super().__call__(*args, **kwargs)
            values = exact_fields(made)  # what :meth:`Node.check` looks at, and what it keeps of that, is exact
            return _interned(made, values, (cls, *map(_key, values.values())))


def _interned(made: Any, values: dict[str, Any], key: tuple[object, ...]) -> Any:
    """Enter a new node with these field values, whose types are exact, in the table; the one that is there already, if
    any."""
    for name, value in values.items():
        object.__setattr__(made, name, value)
    made.check()
    object.__setattr__(made, "_known", {})
    object.__setattr__(made, "_at", key)
    with ENTERED:
        return _TABLE.setdefault(key, made)


class Node(metaclass=InternedMeta):
    """Base of expressions, statements, buffers and functions."""

    __slots__ = ("__weakref__", "_at", "_known")
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """What a new node's fields must satisfy together.

        :raises IRError: if they do not.
        """

    def changed(self: N, name: str, value: object) -> N:
        """The node with another value in one field; the values of the others, which may be long, are not checked
        again."""
        kind = type(self)
        values = {field: getattr(self, field) for field in kind.__match_args__}
        values[name] = dict(field_readers(kind))[name](value)
        key = [*self._at]  # type: ignore[attr-defined]
        key[kind.__match_args__.index(name) + 1] = _key(values[name])
        found = _TABLE.get(tuple(key))
        return _interned(object.__new__(kind), values, tuple(key)) if found is None else found  # type: ignore[no-any-return]


def once(compute: Callable[[N], R]) -> Callable[[N], R]:
    """Memoise a function of one node: its result is kept in the node.

    That is right for a pure function whose results nobody changes, since a node does not change: it is what it is made
    of, and so is all that is below it.  A function that asks itself about the parts of a node finds, in a program of
    which one statement changed, the answers about all others.
    """

    @wraps(compute)
    def known(node: N) -> R:
        try:
            return node._known[compute]  # type: ignore[attr-defined, no-any-return]
        except KeyError:
            pass
        return node._known.setdefault(compute, compute(node))  # type: ignore[attr-defined, no-any-return]

    return known
