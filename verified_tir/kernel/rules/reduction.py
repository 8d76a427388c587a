"""What a reduction is, and when the order of its terms does not matter: shared by the rules in ``reassociate``.

    for k…: if c: B[x] = B[x] ⊕ e

A nest of loops, guards and lets around one *update*.  Neither bounds, guards, lets, x nor e read B, so every term is
the same in whatever order the iterations come, and an element that n of them meet ends as B[x] ⊕ e₁ ⊕ … ⊕ eₙ.

⊕ is *exact* if it is associative and commutative on the values that meet here, and has an identity that changes no bit:

* integers: ``+ * min max & | ^``, modulo 2ʷ; bools: ``& | ^``.
* ``and``, ``or``: e is not evaluated once the result is decided.  In another order it may be, so every term must be
  safe and defined wherever the nest reaches it.
* float ``min`` and ``max``: ``min(a, b)`` is ``select(a < b, a, b)``, which drops a NaN on its left, keeps one on its
  right, and of two zeros takes the second.  Without NaN and -0.0, among the terms and in B, it is the minimum of a
  totally ordered set.
* float ``+ *`` never are.

If the block of B is licensed, the result of a float reduction may be that of any tree over the same terms (see
``open_bits``).  For ``min`` and ``max`` a licence speaks of zeros only: what a tree makes of a NaN depends on terms
that other steps may add (``max(B, -inf)``), so NaN has to be excluded all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, read_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import evaluated_safely
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Reduction:
    """A nest at ``path``, in which ``store`` at ``inner`` is ``B[x] = B[x] ⊕ term``.

    ``start`` knows what is known before the nest, ``inside`` what is at the update, in an arbitrary iteration;
    ``licensed`` says whether a licence allows another order.
    """

    path: ir.Path
    nest: ir.Stmt
    inner: ir.Path
    store: ir.Store
    op: str
    term: ir.Expr
    identity: ir.Expr
    licensed: bool
    start: Context
    inside: Context

    @property
    def reassociated(self) -> frozenset[ir.Var]:
        """The block whose bits another order may change: that is right by licence only."""
        buffer = self.store.buffer
        return frozenset({buffer.data} if self.licensed and buffer.dtype.is_float else ())

    def any_order(self) -> Iterator[Question]:
        """Questions whether the order of the terms does not matter."""
        place, inside, old = (*self.path, *self.inner), self.inside, self.store.buffer
        if self.op in ("and", "or"):
            yield from evaluated_safely(inside, (self.term,), (), place)
        elif old.dtype.is_float and self.op in ("min", "max"):  # nothing is NaN, and unless licensed nothing is -0.0
            first = inside.encoder(memory=self.start.memory).encode(ir.Load(old, self.store.indices))
            for what, e in (
                (f"no term of the {self.op} into {old.name}", inside.encoder().encode(self.term)),
                (f"no element of {old.name} that the {self.op} begins with", first),
            ):
                number = f.not_(f.fp("fp.isNaN", f.BOOL, e.value))
                yield Question("rounding", f"{what} is NaN", inside, (e.defined,), number, place)
                if not self.licensed:
                    other = f.ne(e.value, f.negative_zero(e.value.sort))
                    yield Question("rounding", f"{what} is -0.0", inside, (e.defined,), other, place)
        elif old.dtype.is_float and not self.licensed:  # associativity of floats, which is false in every type
            what = {"add": "sum", "mul": "product"}[self.op]
            claim = f"the {what} of {old.dtype} into {old.name} has the same bits in any order"
            yield Question("rounding", claim, inside, (), f.FALSE, place)


def reduction_at(before: ir.PrimFunc, path: ir.Path, entry: Entry) -> Reduction:
    """The reduction whose nest stands at ``path``."""
    nest = store = ir.at(before.body, path)
    start = context_at(before, path, entry)
    inside = start.fork()
    inner: ir.Path = ()
    while not isinstance(store, ir.Store):
        if not isinstance(store, (ir.For, ir.If, ir.LetStmt, ir.Block)) or len(ir.sub_statements(store)) != 1:
            raise Misfit("not a nest of loops around one store")
        store, inner = inside.enter(store, 0), (*inner, 0)
    old = store.buffer
    split = term_of(store)
    if split is None:
        raise Misfit(f"the store to {old.name} is not an update B[x] = B[x] + e")
    op, term = split
    if store.value.dtype is not old.dtype or old.dtype.lanes != 1:
        raise Misfit(f"{old.name} is not updated one element at a time")
    if {old.data, EVERYTHING} & read_blocks(ir.put(nest, inner, ir.Store(old, term, store.indices))):
        raise Misfit(f"{old.name} is read in the nest other than by its own update, or by an opaque call")
    identity = identity_of(op, old.dtype)
    if identity is None:
        raise Misfit(f"{op} on {old.dtype} is not associative with an identity")
    return Reduction(path, nest, inner, store, op, term, identity, old.data in entry.licensed, start, inside)


def identity_of(op: str, dtype: ir.DType) -> ir.Expr | None:
    """The value that changes nothing as the left operand of ⊕ and, unless ⊕ is ``and``, ``or`` or a float ``min`` or
    ``max``, as the right one.  ``None`` if ⊕ has none, or is not associative and commutative even of real numbers."""
    neutral: dict[str, float]
    if dtype.is_float:
        neutral = {"add": -0.0, "mul": 1.0, "min": float("inf"), "max": float("-inf")}
    elif dtype.is_bool:
        neutral = {"and": True, "or": False, "bitand": True, "bitor": False, "bitxor": False}
    else:
        neutral = {
            "add": 0, "mul": 1, "min": dtype.max_value, "max": dtype.min_value, "bitor": 0, "bitxor": 0,
            "bitand": dtype.min_value | dtype.max_value,
        }  # fmt: skip
    return ir.const(neutral[op], dtype) if op in neutral else None


def term_of(store: ir.Store) -> tuple[str, ir.Expr] | None:
    """⊕ and e of an update ``B[x] = B[x] ⊕ e`` or ``B[x] = e ⊕ B[x]``."""
    own = ir.Load(store.buffer, store.indices)
    match store.value:
        case ir.Binary(op=op, a=a, b=b) if a is own:
            return op, b
        case ir.Binary(op=op, a=a, b=b) if b is own and op not in ("and", "or"):
            return op, a
    return None
