"""Which integer expressions are index arithmetic, and which are data.

*Index arithmetic* is built from integer variables (loops, shapes, parameters, block iterations, lets of index
arithmetic) and constants only.  A subexpression of it that overflows its type is undefined behaviour, so proofs may
compute with mathematical integers.  An operation with a load, cast, call, ``undef``, float or data variable anywhere
beneath it is *data*: it wraps in two's complement.

The interpreter and the encoding into logic both ask here, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Collection
from weakref import WeakKeyDictionary

from verified_tir.ir.expr import Binary, Broadcast, Expr, IfThenElse, IntImm, LetExpr, Not, Ramp, Select, Shuffle, Var
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import LetStmt
from verified_tir.ir.visit import children, walk

_LEAVES: WeakKeyDictionary[Expr, frozenset[Var] | None] = WeakKeyDictionary()


def is_index(expr: Expr, data_vars: Collection[Var] = ()) -> bool:
    """Whether ``expr`` is index arithmetic, when the variables in ``data_vars`` are known to hold data.

    A comparison or conjunction of index arithmetic counts as index arithmetic too (it cannot overflow, and a
    ``select`` between indices may ask it).
    """
    leaves = _leaves(expr)
    return leaves is not None and (not data_vars or leaves.isdisjoint(data_vars))


def data_vars(root: Node) -> frozenset[Var]:
    """The let-bound variables below ``root`` that hold data: those whose value is not index arithmetic.

    Variables are bound once in a program, so the set serves every place in it.
    """
    found: set[Var] = set()
    for node in walk(root):  # parents first: an outer let is settled before the lets in its scope
        match node:
            case LetStmt(var=var, value=value) | LetExpr(var=var, value=value):
                if not is_index(value, found):
                    found.add(var)
    return frozenset(found)


def _leaves(expr: Expr) -> frozenset[Var] | None:
    """The variables that index arithmetic is built from; ``None`` if something below is data whatever they hold."""
    if isinstance(expr, Var):  # not remembered: an entry that held its own key would never go away
        return frozenset((expr,)) if expr.dtype.is_int or expr.dtype.is_bool else None
    if expr not in _LEAVES:
        _LEAVES[expr] = _find_leaves(expr)
    return _LEAVES[expr]


def _find_leaves(expr: Expr) -> frozenset[Var] | None:
    match expr:
        case IntImm():
            return frozenset()
        case Binary() | Not() | Select() | IfThenElse() | Ramp() | Broadcast() | Shuffle() | LetExpr():
            found: frozenset[Var] = frozenset()
            for child in children(expr):
                leaves = _leaves(child) if isinstance(child, Expr) else None
                if leaves is None:
                    return None
                found |= leaves
            return found - {expr.var} if isinstance(expr, LetExpr) else found
    return None
