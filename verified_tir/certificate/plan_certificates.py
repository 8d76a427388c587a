"""What the certificate of a step says: its programs, and where it has its parameters laid out.

The check derives each certificate again, and compares all that is read here: programs and layouts as s-expressions.
Words are for people: two variables may have one name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

from verified_tir.derivation.codec import read_program
from verified_tir.derivation.statement import read_maps
from verified_tir.graph.errors import GraphError
from verified_tir.graph.layouts import Layout, Padded, is_identity, normal
from verified_tir.graph.sizes import Dim, symbols_of
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr, FloatImm, IntImm, Undef
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.obligation import ParameterMap


@final
@dataclass(frozen=True, slots=True)
class Said:
    """A theorem that begins with ``before`` and ends with ``after``; ``layouts`` are the changes of each parameter."""

    before: PrimFunc
    after: PrimFunc
    layouts: tuple[tuple[ParameterMap, ...], ...]

    def layout(self, k: int, shape: Sequence[Dim]) -> tuple[Layout, bool]:
        """The layout to which the changes of a parameter lead, and whether its padding holds a value at the end only.

        :param shape: of the tensor as its indices say.
        :raises GraphError: for padding that is moved by a further map, or holds what no layout says.
        """
        name, changes = self.before.buffers[k].name, self.layouts[k]
        if not changes:
            return None, False
        index_map = _index_map(changes[0])
        for earlier, change in pairwise(changes):
            further = _index_map(change)
            if is_identity(further) and change.after.shape == change.before.shape:
                continue  # it says what the padding holds, and moves nothing
            if earlier.paddings:
                raise GraphError(f"the padding of {name} is moved by another layout")
            index_map = further.compose(index_map)
        last = changes[-1]
        held = [p for p in last.paddings if p.value is not None and not isinstance(p.value, Undef)]
        if symbols_of(shape):  # no layout pads it; the program's extents are those of its call
            if held:
                raise GraphError(f"an extent of {name} is open, and its padding is said to hold something")
            return normal(index_map, shape), False
        room = tuple(_extent(e) for e in last.after.shape)
        if not held:
            return normal(Padded(index_map, None, room), shape), False
        if len({p.value for p in last.paddings}) > 1:
            raise GraphError(f"the padding of {name} holds several values")
        value = held[0].value
        if not isinstance(value, (IntImm, FloatImm)) or value.dtype is not last.after.dtype:
            raise GraphError(f"the padding of {name} does not hold a number")
        return normal(Padded(index_map, value.value, room), shape), all(p.owed for p in held)


def read_certificate(content: Mapping[str, Any]) -> Said:
    """What a certificate says.

    :raises BadText: if a program or a layout is none.
    """
    before, after = (read_program("\n".join(content[which]["program"])) for which in ("before", "after"))
    layouts = tuple(read_maps(parameter["maps"]) for parameter in content["relation"])
    if not len(before.buffers) == len(after.buffers) == len(layouts):
        raise GraphError("its programs and its relation have different numbers of parameters")
    return Said(before, after, layouts)


def _index_map(change: ParameterMap) -> IndexMap:
    return IndexMap(change.inputs, change.outputs)


def _extent(e: Expr) -> int:
    if not isinstance(e, IntImm):
        raise GraphError("an extent of a layout is open, and the tensor's are not")
    return e.value
