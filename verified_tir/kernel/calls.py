"""Inlining of a function: its body with the caller's buffers and values in place of its parameters.

f(P₁, …, n) on a₁, …, e      is      the body of f with aₖ for Pₖ and e for n
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.obligation import Misfit


@final
@dataclass(frozen=True, slots=True)
class Arguments:
    """What a function is called with: a buffer for each of its buffers, in order, and a value for each scalar parameter
    and each symbol of its shapes, strides and offsets."""

    buffers: tuple[ir.Buffer, ...]
    values: tuple[tuple[ir.Var, ir.Expr], ...] = ()

    def check(self, func: ir.PrimFunc) -> None:
        """Check that these can be arguments of the function, as far as types say.

        :raises Misfit: if they are not.
        """
        if len(self.buffers) != len(func.buffers):
            raise Misfit(f"{func.name} takes {len(func.buffers)} buffers, not {len(self.buffers)}")
        for p, a in zip(func.buffers, self.buffers, strict=True):
            for what, wanted, given in (
                ("type", p.dtype, a.dtype), ("scope", p.scope, a.scope), ("rank", len(p.shape), len(a.shape)),
            ):  # fmt: skip
                if wanted != given:
                    raise Misfit(f"{p.name} of {func.name} has {what} {wanted}, and {a.name} has {what} {given}")
        types = {v: v.dtype for v in scalars_of(func)}
        if len(self.values) != len(types) or {v: e.dtype for v, e in self.values} != types:
            listed = ", ".join(f"{v.name}: {v.dtype}" for v in types)
            raise Misfit(f"{func.name} takes one value for each of its scalars and symbols ({listed})")


def instantiate(func: ir.PrimFunc, arguments: Arguments) -> ir.Stmt:
    """The function's body on the arguments.

    What it binds is fresh: an argument may mention a variable that the function's body binds, where the caller is the
    function itself or was made of it.
    """
    memo: dict[ir.Node, ir.Node] = dict(arguments.values)
    for p, a in zip(func.buffers, arguments.buffers, strict=True):
        memo[p] = a
        memo[p.data] = a.data

    def go(n: ir.Node) -> ir.Node:
        found = memo.get(n)
        if found is None:
            found = memo[n] = ir.map_children(n, go)
        return found

    made = go(ir.refresh_binders(func.body)[0])
    assert isinstance(made, ir.Stmt)
    return made
