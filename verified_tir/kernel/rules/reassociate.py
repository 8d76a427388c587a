"""A reduction is split into partial ones.

                                                P = alloc(m);  for j: P[j] = identity
    for k…: if c: B[x] = B[x] ⊕ e        ⟶      for k…: if c: P[p(k)] = P[p(k)] ⊕ e
                                                for j: B[x] = B[x] ⊕ P[j]

Theorem.  x is one element during the whole nest, and nothing in the nest but the update itself touches its buffer.  So
the nest leaves B[x] ⊕ e₁ ⊕ … ⊕ eₙ there.  ⊕ is associative and commutative on the type and has an identity that
changes no bit: the terms may be summed in groups (p says in which one each goes), and empty groups add nothing.  If one
of the terms is undefined, both results are.  Integers are reduced modulo 2ʷ, where all of that is exact.

Floats are not associative.  With the user's word (``licence`` names the reduction) the theorem is weakened to: the bits
are those of some tree over the same terms.  The identity is -0.0 for a sum and 1.0 for a product, which change nothing,
zeros, infinities and NaN included; ``min`` and ``max`` of floats do not commute on them and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, Block, For, If, LetStmt, Stmt, Store, seq
from verified_tir.ir.visit import free_vars, walk
from verified_tir.kernel.context import Context, Entry, context_at
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import has_effect, safe_questions, statement_at
from verified_tir.kernel.rules.insert import scope_problem
from verified_tir.kernel.theorem import Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import Safety


@final
@dataclass(frozen=True, slots=True)
class Reassociate:
    """Split the reduction at ``path``, a nest of loops around one update.

    :param partial: the fresh buffer of partial results, of constant shape and of the reduction's type.
    :param index: which partial result a term goes to, over the variables of the nest.
    :param licence: the name of a float reduction that may be reassociated; not looked at for integers.
    """

    path: Path
    partial: Buffer
    index: tuple[Expr, ...]
    licence: str = ""

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        nest = statement_at(before, self.path)
        if isinstance(nest, NoMatch):
            return nest
        inner = _update_in(nest)
        if inner is None:
            return NoMatch(self.path, "no nest of loops around one store")
        store = at(nest, inner)
        assert isinstance(store, Store)
        split = _term(store)
        if split is None:
            return NoMatch(self.path, f"the store to {store.buffer.name} is no update B[x] = B[x] + e")
        op, term = split
        identity = identity_of(op, store.buffer.dtype)
        problem = self._problem(before, nest, store, term) or (
            f"{op} on {store.buffer.dtype} is not associative with an identity" if identity is None else None
        )
        if problem is not None:
            return NoMatch(self.path, problem)
        context = context_at(before, self.path, entry)
        problem = scope_problem(context, Allocate(self.partial, seq()))
        if problem is not None:
            return NoMatch(self.path, problem)
        assert identity is not None
        after = before.with_body(put(before.body, self.path, self._split(nest, inner, store, op, term, identity)))
        licences = frozenset({self.licence}) if store.buffer.dtype.is_float else frozenset()
        return Rewrite(after, self._questions(before, entry, inner, store), reassociated=licences)

    def _problem(self, before: PrimFunc, nest: Stmt, store: Store, term: Expr) -> str | None:
        old, new = store.buffer, self.partial
        if any(n is new.data for n in walk(before)):
            return f"{new.name} is not fresh"
        if not all(isinstance(e, IntImm) and e.value > 0 for e in new.shape) or new.strides:
            return f"{new.name} needs a constant shape without strides"
        if new.dtype is not old.dtype or store.value.dtype is not old.dtype or store.predicate is not None:
            return f"{new.name} must have the type of {old.name}, which is accessed by scalar indices"
        if len(self.index) != len(new.shape):
            return f"{new.name} has {len(new.shape)} dimensions"
        bound = {n.var for n in walk(nest) if isinstance(n, (For, LetStmt))}
        if any(v in bound for e in store.indices for v in free_vars(e)):
            return f"the element of {old.name} that is updated changes in the nest"
        reads = [n for n in walk(nest) if isinstance(n, Load) and n.buffer.data is old.data]
        own = Load(old, store.indices)
        if any(n is not own for n in reads) or any(n is own for e in (*_others(nest), term) for n in walk(e)):
            return f"{old.name} is read in the nest other than by its own update"
        if any(isinstance(n, Load) for e in self.index for n in walk(e)):
            return "where a term goes may not depend on the contents of memory"
        if has_effect((*_others(nest), store.value, *store.indices, *self.index)):
            return "an opaque call stays in its place"
        if old.dtype.is_float and not self.licence:
            return (
                f"reassociating a sum of {old.dtype} changes its rounding; it needs a licence that names the reduction"
            )
        return None

    def _split(self, nest: Stmt, inner: Path, store: Store, op: str, term: Expr, identity: Expr) -> Stmt:
        new = self.partial
        here = Load(new, self.index)
        update = Store(new, Binary(op, here, term), self.index)  # type: ignore[arg-type]
        first = [Var.fresh(f"j{k}") for k in range(len(new.shape))]
        last = [Var.fresh(f"j{k}") for k in range(len(new.shape))]
        combined = Binary(op, Load(store.buffer, store.indices), Load(new, tuple(last)))  # type: ignore[arg-type]
        return Allocate(
            new,
            seq(
                _nest(first, new, Store(new, identity, tuple(first))),
                put(nest, inner, update),
                _nest(last, new, Store(store.buffer, combined, store.indices)),
            ),
        )

    def _questions(self, before: PrimFunc, entry: Entry, inner: Path, store: Store) -> Iterator[Question]:
        inside = context_at(before, (*self.path, *inner), entry)
        safety: list[Safety] = []
        encoder = inside.encoder(safety)
        for e, extent in zip(self.index, self.partial.shape, strict=True):
            value = encoder.encode(e)
            assert isinstance(extent, IntImm)
            claim = f"every term goes to one of the partial results of {self.partial.name}"
            fits = f.and_(value.defined, f.between(f.integer(0), value.value, f.integer(extent.value)))
            yield Question("partial", claim, inside, (), fits, (*self.path, *inner))
        yield from safe_questions(inside, safety, (), (*self.path, *inner))
        yield from _safe_once(context_at(before, self.path, entry), store, self.path)


def _safe_once(context: Context, store: Store, path: Path) -> Iterator[Question]:
    """The element is touched even if the nest makes no iteration."""
    safety: list[Safety] = []
    target = Load(store.buffer, store.indices)
    context.encoder(safety).address(
        target, store.buffer, store.indices, None if target.dtype.lanes == 1 else f.integer(0)
    )
    yield from safe_questions(context, safety, (), path)


def identity_of(op: str, dtype: DType) -> Expr | None:
    """The value that ⊕ leaves everything as it is with; ``None`` if ⊕ is no associative, commutative operation."""
    if dtype.is_float:
        neutral: float | None = {"add": -0.0, "mul": 1.0}.get(op)
    elif dtype.is_int:
        neutral = {
            "add": 0, "mul": 1, "min": dtype.max_value, "max": dtype.min_value, "bitor": 0, "bitxor": 0,
            "bitand": -1 if dtype.min_value < 0 else dtype.max_value,
        }.get(op)  # fmt: skip
    else:
        neutral = None
    return None if neutral is None else const(neutral, dtype)


def _update_in(stmt: Stmt) -> Path | None:
    """Where the only store of a nest stands; the nest has at least one loop."""
    path: list[int] = []
    loops = 0
    while not isinstance(stmt, Store):
        match stmt:
            case For(body=body) | If(then_body=body, else_body=None) | LetStmt(body=body):
                loops += isinstance(stmt, For)
            case Block(is_label=True, body=body):
                pass
            case _:
                return None
        path.append(0)
        stmt = body
    return tuple(path) if loops else None


def _others(nest: Stmt) -> Iterator[Expr]:
    """What a nest evaluates besides its store: bounds, conditions, lets."""
    for n in walk(nest):
        match n:
            case For(min=low, extent=extent):
                yield from (low, extent)
            case If(condition=e) | LetStmt(value=e):
                yield e


def _term(store: Store) -> tuple[str, Expr] | None:
    """⊕ and e of an update ``B[x] = B[x] ⊕ e`` or ``B[x] = e ⊕ B[x]``."""
    own = Load(store.buffer, store.indices)
    match store.value:
        case Binary(op=op, a=a, b=b) if a is own:
            return op, b
        case Binary(op=op, a=a, b=b) if b is own:
            return op, a
    return None


def _nest(variables: list[Var], buffer: Buffer, body: Stmt) -> Stmt:
    for v, extent in reversed(list(zip(variables, buffer.shape, strict=True))):
        body = For(v, const(0, v.dtype), const(extent.value, v.dtype), body)  # type: ignore[attr-defined]
    return body
