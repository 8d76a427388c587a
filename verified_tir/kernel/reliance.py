"""What was proved from the bits of a result.

A theorem with a licence says: the bits are those of *some* order of the terms.  Steps before the licensed one were
proved of the program in its own order.  They hold of every order unless they used what a result *is*: of a branch on a
sum that was unrolled, and so computed, one arm goes, and then the sum is put into another order.

What a result is shows as a float operation on an element that the program computed, among what an obligation or one of
its lemmas was given; or, in what a lemma says, as an operation that was shown to keep a property.  Not every property
that each term keeps holds in every order: of a product of 1e30 and 1e30 that begins with 0.0 some tree is NaN, and so
is one of the sum of 3e38, 3e38, -3e38 and -3e38.  But a sum that begins with what is not -0.0 is never -0.0, one of
zeros that begins with 0.0 is 0.0, and what is chosen from several is one of them: that may have been used.  (The
equality of two elements holds in every order.)  And a program whose branches, bounds or indices depend on results may
have a meaning in its own order only; it has to be proved anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verified_tir.ir.expr import Binary, Expr, IfThenElse, LetExpr, Load, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assert, Assume, DeclBuffer, For, If, LetStmt, Store, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.context import EVERYTHING, written_blocks
from verified_tir.kernel.obligation import Discharged
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


def on_results(obligations: Iterable[Discharged], *programs: PrimFunc) -> str | None:
    """The claim of an obligation that was proved from the bits of what one of the programs computes."""
    names = {v.name for func in programs for v in written_blocks(func.body)}
    for d in obligations:
        given = (*d.obligation.given, *(t for lemma in d.lemmas for t in lemma.obligation.given))
        if any(_computed(t, names) for t in f.subterms(*given)):
            return d.obligation.claim
        if any(_depends_on_order(lemma.obligation.goal, names) for lemma in d.lemmas):
            return d.obligation.claim
    return None


def _depends_on_order(goal: Term, names: set[str]) -> bool:
    """Whether a property that the terms of a result keep may be false of the terms in another order."""
    nan = any(t.op == "const" and t is f.not_a_number(t.sort) for t in f.subterms(goal) if t.sort in f.FLOAT_SORTS)
    kept = ("ite",) if nan else ("ite", "fp.add")
    return any(t.op not in kept and _computed(t, names) for t in f.subterms(goal))


def _computed(t: Term, names: set[str]) -> bool:
    """Whether a term is a float operation on an element of a block of these names."""
    if t.sort not in f.FLOAT_SORTS or t.op in ("app", "var", "const"):
        return False
    elements = (u for u in f.subterms(t) if u.op in ("app", "var") and u.sort in f.FLOAT_SORTS)
    return any(str(u.payload).partition("@")[0].partition("!")[0] in names for u in elements)


def decides(func: PrimFunc) -> bool:
    """Whether what the program computes in floats decides what it does, touches or evaluates."""
    written = written_blocks(func.body)
    computed: set[Var] = set(written)
    named = [(n.var, n.value) for n in walk(func.body) if isinstance(n, (LetStmt, LetExpr))]
    while True:  # lets of results are results
        lets = {v for v, value in named if _reads(value, computed)}
        if lets <= computed:
            break
        computed |= lets
    return EVERYTHING in written or any(_reads(e, computed) for e in _deciding(func))


def _deciding(func: PrimFunc) -> Iterator[Expr]:
    """Expressions on which more depends than the value that is stored."""
    for n in walk(func.body):
        match n:
            case If(condition=e) | While(condition=e) | Assert(condition=e) | Assume(condition=e):
                yield e
            case For(min=low, extent=extent):
                yield from (low, extent)
            case Load(indices=indices, predicate=mask) | Store(indices=indices, predicate=mask):
                yield from indices if mask is None else (*indices, mask)
            case Allocate(buffer=b) | DeclBuffer(buffer=b):
                yield from (*b.shape, *b.strides, b.elem_offset)
            case IfThenElse(condition=e) | Select(condition=e) | Binary(op="and" | "or", a=e):
                yield e
            case Binary(op="floordiv" | "floormod" | "truncdiv" | "truncmod", a=a, b=b):
                yield from (a, b)  # the least integer by -1, or what is undefined
            case Binary(op="shl" | "shr", b=e):
                yield e
            case _:
                pass


def _reads(e: Expr, computed: set[Var]) -> bool:
    return any(n in computed for n in walk(e) if isinstance(n, Var))
