"""Which classes of the kernel have a spelling: its rules, and the records that rules and theorems are made of.

The table follows from the closed set of rules and from the types of their fields, so a new rule has a spelling at once.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, final

from verified_tir.derivation.codec import Quoted
from verified_tir.ir.exact import NODES, READERS, field_types
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules import RULES


@final
@dataclass(frozen=True, slots=True)
class Theorem:
    """A derivation: what it begins with, and the rules that were applied, each spelled in the scope of its program.

    :ivar start: the program that it begins with.
    :ivar definite: whether it is about arguments of definite values.
    :ivar licences: the blocks of ``start`` whose float reductions may be put into another order.
    :ivar rules: in order.
    :ivar given_up: how many rules were applied when the licences were given up; ``None`` if they were not.
    """

    start: PrimFunc
    definite: bool
    licences: tuple[Var, ...]
    rules: tuple[Quoted, ...]
    given_up: int | None = None


@cache
def records() -> Mapping[str, type]:
    """The classes by name: every rule, and every record in the fields of a rule or of a theorem."""
    found: dict[str, type] = {}
    for kind in (*sorted(RULES, key=lambda r: r.__name__), Theorem, ParameterMap, Padding):
        _collect(kind, found)
    del found[Quoted.__name__]  # it has a form of its own
    return dict(sorted(found.items()))


def _collect(kind: type, found: dict[str, type]) -> None:
    if found.setdefault(kind.__name__, kind) is not kind or kind.__name__ in NODES:
        raise TypeError(f"two classes are called {kind.__name__}")
    for _, hint in field_types(kind):
        for inner in _classes_in(hint):
            if found.get(inner.__name__) is not inner:
                _collect(inner, found)


def _classes_in(hint: Any) -> Iterator[type]:
    """The records that a type mentions."""
    for part in typing.get_args(hint):
        yield from _classes_in(part)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint.__name__ not in NODES and hint not in READERS:
        yield hint


__all__ = ["Refines", "Theorem", "records"]
