"""Loops of 64 bits, as TVM makes them: indices and bounds are int64, elements and parameters keep their types."""

from __future__ import annotations

from collections.abc import Callable

from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.ir.widen import Widening


def wide_loops(func: PrimFunc, wanted: Callable[[Var], bool] = lambda _: True) -> PrimFunc:
    """The function with int64 for the int32 of its loops; it computes the same, unless sums of indices overflow.

    :param wanted: of which loops; indices may mix both types then.
    """
    wide = {
        n.var: Var.fresh(n.var.name, INT64)
        for n in walk(func.body)
        if isinstance(n, For) and n.var.dtype is INT32 and n.kind != "thread_binding" and wanted(n.var)
    }
    return func.with_body(Widening(wide).statement(func.body))
