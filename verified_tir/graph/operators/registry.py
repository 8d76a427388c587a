"""Operators by name: each is a function from tensors and attributes to tensor expressions.

That expression is the operator's meaning, its type and its program at once: nothing else says what an operator does.
Attributes are the function's keyword parameters; their defaults are the operator's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from verified_tir import te
from verified_tir.graph.element_types import SMALL, held_as
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import TensorType, sizes_in, with_other_sizes
from verified_tir.graph.sizes import Dim, hidden, remedy, replaced, same, symbols_of
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.te.numbers import of_the_other_operand
from verified_tir.te.tensor import Tensor


@final
@dataclass(frozen=True, slots=True)
class Operator:
    """``define(*tensors, **attributes)`` gives the results as tensors; ``least`` and ``most`` count operands."""

    name: str
    define: Callable[..., Any]
    operands: tuple[str, ...]
    least: int
    variadic: bool
    attributes: Mapping[str, Any]
    summary: str

    def check(self, count: int, attrs: Mapping[str, Any], where: str) -> None:
        """:raises GraphError: for a wrong number of operands, or attributes that there are not."""
        if count < self.least or (count > len(self.operands) and not self.variadic):
            takes = ", ".join(self.operands) + (", …" if self.variadic else "")
            raise GraphError(f"{where}: {self.name} takes {takes}; {count} tensors are given")
        unknown = [a for a in attrs if a not in self.attributes]
        if unknown:
            have = ", ".join(self.attributes) or "none"
            raise GraphError(f"{where}: {self.name} has no attribute {', '.join(unknown)}; it has {have}")
        missing = [a for a, d in self.attributes.items() if d is inspect.Parameter.empty and a not in attrs]
        if missing:
            raise GraphError(f"{where}: {self.name} needs {', '.join(missing)}")


Define = TypeVar("Define", bound=Callable[..., Any])

OPERATORS: dict[str, Operator] = {}
"""All operators by name."""


def operator(name: str) -> Callable[[Define], Define]:
    """Register the decorated definition: positional parameters are operands, keyword-only ones attributes."""

    def register(define: Define) -> Define:
        operands: list[str] = []
        attributes: dict[str, Any] = {}
        least, variadic = 0, False
        for p in inspect.signature(define).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                variadic = True
            elif p.kind is p.KEYWORD_ONLY:
                attributes[p.name] = p.default
            else:
                operands.append(p.name)
                least += p.default is p.empty
        summary = (inspect.getdoc(define) or "").split("\n")[0]
        OPERATORS[name] = Operator(name, define, tuple(operands), least, variadic, attributes, summary)
        return define

    return register


def find(name: str, where: str = "") -> Operator:
    """The operator of that name.

    :raises GraphError: if there is none; names that are near are listed.
    """
    found = OPERATORS.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, OPERATORS, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise GraphError(f"{where or name}: there is no operator {name}{hint}")
    return found


def define(
    name: str, types: Sequence[TensorType], attrs: Mapping[str, Any], where: str = ""
) -> tuple[list[Tensor], list[Tensor]]:
    """Placeholders of the given types, and the operator's results on them.

    :raises GraphError: if the operator does not take these.
    """
    op = find(name, where)
    op.check(len(types), attrs, where or name)
    names = [*op.operands, *(f"x{k}" for k in range(len(op.operands), len(types)))]
    inputs = [te.placeholder(t.dims, held_as(t.dtype), name=n) for t, n in zip(types, names, strict=False)]
    try:
        with of_the_other_operand():
            made = op.define(*inputs, **attrs)
    except (GraphError, te.TEError, IRError) as problem:
        raise GraphError(f"{where or name}: {problem}") from None
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    return inputs, [_copied(t) if t in inputs else t for t in results]  # a result is an array of its own


def _copied(t: Tensor) -> Tensor:
    return te.compute(t.shape, t, name="copy")


def type_of(t: Tensor) -> TensorType:
    """The type of a tensor."""
    return TensorType(t.shape, t.dtype)


def result_types(name: str, types: Sequence[TensorType], attrs: Mapping[str, Any], where: str = "") -> list[TensorType]:
    """The types of an operator's results."""
    results = [type_of(t) for t in define(name, types, attrs, where)[1]]
    dtype = _small_result(name, [t.dtype for t in types], attrs, where or name)
    return [TensorType(t.dims, dtype) for t in results] if dtype else results


MOVES = frozenset({
    "broadcast_to", "concat", "crop", "empty", "expand_dims", "flatten", "identity", "layout_transform", "nn.dropout",
    "nn.upsampling", "permute_dims", "reshape", "split", "squeeze", "strided_slice", "take", "where",
})  # fmt: skip
"""Operators that only move elements, and so take those of small types, too."""


def _small_result(name: str, dtypes: Sequence[str], attrs: Mapping[str, Any], where: str) -> str:
    """The type of results that programs hold as bytes, empty for others.

    :raises GraphError: for an operator that does not take such types.
    """
    if name == "convert":
        if dtypes[0] != attrs["from_dtype"]:
            raise GraphError(f"{where}: it converts {attrs['from_dtype']}, and is given {dtypes[0]}")
        return attrs["dtype"] if attrs["dtype"] in SMALL else ""
    small = {d for d in dtypes if d in SMALL}
    if not small:
        return ""
    moved = {"where": dtypes[1:], "take": dtypes[:1]}.get(name, dtypes)
    if name not in MOVES or len(small) > 1 or small != {*moved}:
        raise GraphError(f"{where}: {name} of {', '.join(sorted(small))} is not known here; a Cast before it is")
    return small.pop()


def legalize(name: str, types: Sequence[TensorType], attrs: Mapping[str, Any], where: str = "") -> PrimFunc:
    """The program of an operator on tensors of the given types; results come last among its parameters.

    A program gets its symbols from the arrays of which they are extents.  Where a symbol is an extent of none of the
    tensors, but part of one (``2 * n``), that extent is a symbol of its own in the program.

    :raises GraphError: if the operator does not take these, or needs to know of what such an extent is made.
    """
    inputs, results = define(name, types, attrs, where)
    if unseen := hidden(e for t in (*inputs, *results) for e in t.shape):
        found = _with_more_symbols(name, types, attrs, where, unseen, results)
        if found is None:
            raise GraphError(f"{where or name}: the size of no dimension here is {unseen[0].name}; {remedy(unseen)}")
        inputs, results = found
    try:
        with of_the_other_operand():
            return te.create_prim_func([*inputs, *results], name.replace(".", "_"), empty=True)
    except (te.TEError, IRError) as problem:  # elements are computed when they are asked for
        raise GraphError(f"{where or name}: {problem}") from None


def _with_more_symbols(
    name: str, types: Sequence[TensorType], attrs: Mapping[str, Any], where: str, unseen: Sequence[Var],
    wanted: Sequence[Tensor],
) -> tuple[list[Tensor], list[Tensor]] | None:  # fmt: skip
    """The operator with symbols for sizes that mention those unseen, if that is an operator like the one wanted."""
    sizes = [*(d for t in types for d in t.dims), *sizes_in(attrs)]
    by: dict[Dim, Dim] = {d: Var.fresh("m", INT32) for d in sizes if any(v in unseen for v in symbols_of([d]))}
    back = {m: d for d, m in by.items() if isinstance(m, Var)}
    others = [TensorType(tuple(by.get(d, d) for d in t.dims), t.dtype) for t in types]
    try:
        inputs, results = define(name, others, with_other_sizes(attrs, lambda e: by.get(e, e)), where)
    except GraphError:  # it needs to know of what they are made
        return None
    if hidden(e for t in (*inputs, *results) for e in t.shape):
        return None
    pairs = [(e, d) for t, w in zip(results, wanted, strict=True) for e, d in zip(t.shape, w.shape, strict=True)]
    return (inputs, results) if all(same(replaced(e, back), d) for e, d in pairs) else None
