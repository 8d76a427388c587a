"""What the certificate of a step says: its programs, and where it has its parameters laid out.

The check derives each certificate again, and compares all that is read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, final

from verified_tir.derivation.codec import read_program
from verified_tir.graph.errors import GraphError
from verified_tir.graph.layouts import Layout, Padded, is_identity, normal
from verified_tir.graph.sizes import Dim, symbols_of
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.func import PrimFunc

_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:e[-+]?[0-9]{1,4})?", re.ASCII)
_VALUE: Final = re.compile(r"T\.(\w+)\((.*)\)")
"""A constant of a type that is named; ``T.abs(-1)`` is none."""
_OPEN: Final = ("free", "inaccessible")
"""What is promised of padding of which nothing is known."""


@final
@dataclass(frozen=True, slots=True)
class Said:
    """A theorem that begins with ``before`` and ends with ``after``; ``layouts`` are the changes of each parameter."""

    before: PrimFunc
    after: PrimFunc
    layouts: tuple[Sequence[Mapping[str, Any]], ...]

    def layout(self, k: int, shape: Sequence[Dim]) -> tuple[Layout, bool]:
        """The layout to which the changes of a parameter lead, and whether its padding holds a value at the end only.

        :param shape: of the tensor as its indices say.
        :raises GraphError: for padding that is moved by a further map, or holds what no layout says.
        """
        name, changes = self.before.buffers[k].name, self.layouts[k]
        if not changes:
            return None, False
        index_map = parse_index_map(changes[0]["map"])
        for earlier, change in pairwise(changes):
            further = parse_index_map(change["map"])
            if is_identity(further) and change["after"] == earlier["after"]:
                continue  # it says what the padding holds, and moves nothing
            if earlier["padding"]:
                raise GraphError(f"the padding of {name} is moved by another layout")
            index_map = further.compose(index_map)
        padding = changes[-1]["padding"]
        held = [p for p in padding if p["promise"] not in _OPEN]
        if symbols_of(shape):  # no layout pads it; the program's extents are those of its call
            if held:
                raise GraphError(f"an extent of {name} is open, and its padding is said to hold something")
            return normal(index_map, shape), False
        room = tuple(_integer(e) for e in changes[-1]["after"]["shape"])
        if not held:
            return normal(Padded(index_map, None, room), shape), False
        if len({p["value"] for p in padding}) > 1:
            raise GraphError(f"the padding of {name} holds several values")
        value = held[0]["value"]
        found = _VALUE.fullmatch(value)
        constant = found is not None and found[1] == changes[-1]["after"]["dtype"]
        number = _number(found[2].strip('"') if found is not None and constant else value)
        return normal(Padded(index_map, number, room), shape), all(p["promise"] == "owed" for p in held)


def read_certificate(content: Mapping[str, Any]) -> Said:
    """What a certificate says.

    :raises BadText: if a program is none.
    """
    before, after = (read_program("\n".join(content[which]["program"])) for which in ("before", "after"))
    layouts = tuple(parameter["layouts"] for parameter in content["relation"])
    if not len(before.buffers) == len(after.buffers) == len(layouts):
        raise GraphError("its programs and its relation have different numbers of parameters")
    return Said(before, after, layouts)


def _number(text: str) -> float | int:
    if text in ("nan", "inf", "-inf"):
        return float(text)
    if _NUMBER.fullmatch(text) is None:
        raise GraphError(f"{text[:80]!r} is not a number")
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _integer(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise GraphError(f"{text[:80]!r} is not an extent")
    return int(text)
