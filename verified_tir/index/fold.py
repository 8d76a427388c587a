"""Index arithmetic folded where a step has put one expression in the place of a variable.

``A[i - 3]`` with ``i_0 * 4 + i_1 + 3`` for i reads badly.  :func:`folded` collects constants and like terms, and keeps
everything else as it was written: terms stay in the order in which they first occur, and factors behind their terms, as
TVM writes them.
"""

from __future__ import annotations

from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node, once
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import children, map_children, walk

Sum = dict[Expr, int]
"""Terms with their factors, in order of first occurrence; the constant is apart."""


def size(e: Node) -> int:
    """How many operators and leaves an expression has, written out."""
    return 1 + sum(size(c) for c in children(e) if isinstance(c, Expr)) if not isinstance(e, (Var, IntImm)) else 1


def folded(e: Expr) -> Expr:
    """``e`` with constants and like terms of its integer sums collected; ``e`` itself if that makes it no shorter."""
    try:
        new = _fold(e)
    except IRError:  # a constant outgrew its type
        return e
    shorter = size(new) < size(e) or (size(new) == size(e) and any(_is_factored(n) for n in walk(e)))
    return new if shorter else e


def _is_factored(n: Node) -> bool:
    """``(a + b) * k``: it reads better multiplied out."""
    return isinstance(n, Binary) and n.op == "mul" and isinstance(n.a, Binary) and n.a.op in ("add", "sub")


def _fold(e: Expr) -> Expr:
    if e.dtype.is_int and e.dtype.lanes == 1 and is_index(e):
        terms: Sum = {}
        constant = _collect(e, 1, terms)
        return _render(terms, constant, e)
    return _computed(map_children(e, lambda c: _fold(c) if isinstance(c, Expr) and not isinstance(c, Var) else c))


@once
def computed(e: Expr) -> Expr:
    """``e`` with operators applied to constants, and otherwise as it was written."""
    return _computed(map_children(e, lambda c: computed(c) if isinstance(c, Expr) and not isinstance(c, Var) else c))


def _computed(e: Expr) -> Expr:
    """The node again, through the constructor that folds constants."""
    return binary(e.op, e.a, e.b) if isinstance(e, Binary) and e.a.dtype.is_int and e.dtype.lanes == 1 else e


def _collect(e: Expr, factor: int, terms: Sum) -> int:
    """Add ``factor * e`` to the terms; gives what it adds to the constant."""
    match e:
        case IntImm(value=value):
            return factor * value
        case Binary(op="add", a=a, b=b):
            return _collect(a, factor, terms) + _collect(b, factor, terms)
        case Binary(op="sub", a=a, b=b):
            return _collect(a, factor, terms) + _collect(b, -factor, terms)
        case Binary(op="mul", a=a, b=IntImm(value=k)) | Binary(op="mul", a=IntImm(value=k), b=a):
            return _collect(a, factor * k, terms)
    atom = _computed(map_children(e, lambda c: _fold(c) if isinstance(c, Expr) else c)) if not isinstance(e, Var) else e
    if isinstance(atom, IntImm):
        return factor * atom.value
    terms[atom] = terms.get(atom, 0) + factor
    return 0


def _render(terms: Sum, constant: int, like: Expr) -> Expr:
    dtype = like.dtype
    positive = [(t, k) for t, k in terms.items() if k > 0]
    negative = [(t, -k) for t, k in terms.items() if k < 0]
    total: Expr | None = None
    for t, k in positive:
        term = t * k
        total = term if total is None else total + term
    if total is None:
        total, constant = const(constant, dtype), 0
    for t, k in negative:
        total = total - t * k
    return total + constant if constant >= 0 else total - -constant
