"""Which integer expressions are index arithmetic, and which are data.

*Index arithmetic* is built from integer variables (loops, shapes, parameters, block iterations, lets of index
arithmetic) and constants only.  A subexpression of it that overflows its type is undefined behaviour, so proofs may
compute with mathematical integers.  An operation with a load, cast, call, ``undef``, float or data variable anywhere
beneath it is *data*: it wraps in two's complement.

The encoding into logic finds out for itself (``Encoded.data``); the interpreter asks here.
"""

from __future__ import annotations

from collections.abc import Collection

from verified_tir.ir.expr import Call, Cast, Expr, Load, Undef, Var
from verified_tir.ir.node import once
from verified_tir.ir.visit import free_vars, nodes_of


def is_index(expr: Expr, data_vars: Collection[Var] = ()) -> bool:
    """Whether ``expr`` is index arithmetic, when the variables in ``data_vars`` are known to hold data.

    A comparison or conjunction of index arithmetic counts as index arithmetic too (it cannot overflow, and a
    ``select`` between indices may ask it).  What is bound inside, to index arithmetic then, holds no data.
    """
    return not (_computes_data(expr) or any(v in data_vars for v in free_vars(expr)))


@once
def _computes_data(expr: Expr) -> bool:
    """Whether something in the expression is data whatever its variables of integers hold."""
    data = (Load, Cast, Call, Undef)
    return any(isinstance(e, data) or not (e.dtype.is_int or e.dtype.is_bool) for e in nodes_of(expr, Expr))
