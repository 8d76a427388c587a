"""Whenever a loop becomes a vector store, the interpreter agrees: random loops of one store, and random lanes for them.

The lanes are made in several ways, right ones and ones that are wrong in one place: another stride, another start, two
lanes exchanged, a mask left out or changed.  A kernel that asks one question less is noticed.

``VTIR_EXAMPLES`` sets how many programs are tried.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.kernel.exhaustive.family import explore, plain_solver
from tests.kernel.exhaustive.oracle import disagreement, inputs_of, outcomes
from tests.kernel.exhaustive.test_mutants import setting, without
from tests.kernel.programs import function, load, store
from tests.rules.lanes import FAMILIES
from tests.rules.random_programs import Draw, Scope, condition, one_of, statement, value
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Cast,
    Expr,
    IfThenElse,
    IntImm,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import script
from verified_tir.ir.stmt import DeclBuffer, For, If, Seq, Stmt, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.kernel.access import Access, conflicts
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules import common
from verified_tir.kernel.rules import vectorize as rule_module
from verified_tir.kernel.rules.vectorize import Vectorize
from verified_tir.kernel.theorem import Refines, apply, reflexive

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "80"))
SOLVER = plain_solver()
CALM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 80,  # who asks for more wants others each time
    suppress_health_check=list(HealthCheck),
    database=None,
)
PAIR = "int32x2"

# ------------------------------------------------------------------------------------------------------------- lanes


class Spread:
    """The iterations of a loop as lanes; ``wrong`` says which one mistake is made, if any is."""

    def __init__(self, draw: Draw, loop: For, wrong: str) -> None:
        assert isinstance(loop.extent, IntImm)
        self.draw, self.var, self.low, self.count = draw, loop.var, loop.min, loop.extent.value
        self.wrong = wrong
        self.mask: Expr | None = None

    def one_by_one(self, e: Expr) -> Expr:
        """Every lane written out."""
        at = list(range(self.count))
        if self.slip("lanes exchanged"):
            at[0], at[-1] = at[-1], at[0]
        return Shuffle(
            tuple(substitute(e, {self.var: binary("add", self.low, k)}) for k in at), tuple(range(self.count))
        )

    def slip(self, what: str) -> bool:
        """Whether this mistake is made here; it is made once."""
        if self.wrong == what and self.draw(st.booleans()):
            self.wrong = ""
            return True
        return False

    def of(self, e: Expr) -> Expr:
        if self.var not in free_vars(e):
            return self.same_in_all(e)
        if e.dtype.lanes > 1 or self.draw(st.integers(0, 5)) == 0:
            return self.one_by_one(e)
        match e:
            case Var():
                low = binary("add", self.low, 1) if self.slip("shifted") else self.low
                return Ramp(low, const(2 if self.slip("strided") else 1, e.dtype), self.count)
            case Binary(op=op, a=a, b=b):
                return Binary(op, self.of(a), self.of(b))
            case Not(a=a):
                return Not(self.of(a))
            case Cast(type=t, value=v):
                return Cast(t.with_lanes(self.count), self.of(v))
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                return Select(self.of(c), self.of(a), self.of(b))
            case Load(buffer=b, indices=(*lead, last)) if not any(self.var in free_vars(i) for i in lead):
                mask = self.mask if b.dtype.lanes == 1 and self.draw(st.booleans()) else None
                return Load(b, (*lead, self.of(last)), mask)
        return self.one_by_one(e)

    def same_in_all(self, e: Expr) -> Expr:
        if e.dtype.lanes > 1:
            return self.one_by_one(e)
        if self.slip("constant changed") and isinstance(e, IntImm) and e.dtype.is_int:
            e = const(e.value + 1, e.dtype)
        return Broadcast(e, self.count)

    def all_of(self, conditions: list[Expr]) -> Expr | None:
        """The mask."""
        spread = [self.of(c) for c in conditions]
        if not spread or self.slip("mask left out"):
            return None
        if self.slip("condition left out"):
            spread = spread[1:] or [Not(spread[0])]
        mask = spread[0]
        for c in spread[1:]:
            mask = Binary("and", mask, c)
        return mask


SLIPS = ("", "", "", "lanes exchanged", "shifted", "strided", "constant changed", "mask left out", "condition left out")

# -- programs that fit -----------------------------------------------------------------------------------------------


def index(draw: Draw, scope: Scope, i: Var, extent: int) -> Expr:
    """Where an iteration touches a buffer: mostly within it and an affine function of the iteration."""
    n = scope.integers[0]
    plain = (i, i, i + 1, i - 1, 3 - i, 2 * i, i // 2, i % 2, n, n + i, const(draw(st.integers(0, 2))))
    found: Expr = one_of(draw, *plain)
    if draw(st.integers(0, 4)) == 0:
        found = load(one_of(draw, *[b for b in scope.buffers if b.dtype.is_int and len(b.shape) == 1]), i)
    return found % extent if draw(st.integers(0, 2)) == 0 else found


def element(draw: Draw, scope: Scope, i: Var, b: Buffer) -> tuple[Expr, ...]:
    extents = [e.value for e in b.shape if isinstance(e, IntImm)]
    return (*[const(draw(st.integers(0, e - 1))) for e in extents[:-1]], index(draw, scope, i, extents[-1]))


def stored(draw: Draw, scope: Scope, i: Var, b: Buffer) -> Expr:
    """What an iteration stores: loads near the place, and what random programs compute."""
    inner = Scope([*scope.integers, i], scope.buffers, 0)
    like = [c for c in scope.buffers if c.dtype is b.dtype]
    match draw(st.integers(0, 6)):
        case 0 | 1:
            c = one_of(draw, *like)
            return load(c, *element(draw, scope, i, c))
        case 2:
            c = one_of(draw, *like)
            return Binary("add", load(c, *element(draw, scope, i, c)), value(draw, inner, b, 0))
        case 3 if b.dtype.is_int:
            c = one_of(draw, *like)
            return Binary("floordiv", const(7), load(c, *element(draw, scope, i, c)))
        case 4 if b.dtype.is_int:
            return one_of(draw, i, i * 2, scope.integers[0] + i)  # type: ignore[no-any-return]
        case 5:
            c = one_of(draw, *like)
            chosen = load(c, *element(draw, scope, i, c))
            return IfThenElse(asked(draw, scope, i), chosen, value(draw, inner, b, 0))
    return value(draw, inner, b, 1)


def asked(draw: Draw, scope: Scope, i: Var) -> Expr:
    n = scope.integers[0]
    b = one_of(draw, *scope.buffers)
    bound = value(draw, scope, b, 0)
    simple = (binary("lt", i, n), binary("ge", i, 1), binary("lt", 2 * i, n + 1), binary("gt", n, 1))
    return one_of(  # type: ignore[no-any-return]
        draw, *simple, Binary("lt", bound, load(b, *element(draw, scope, i, b))),
        condition(draw, Scope([n, i], scope.buffers, 0)),
    )  # fmt: skip


def one_store(draw: Draw, scope: Scope, pairs: list[Buffer]) -> For:
    """The loop: few iterations, one store, up to two conditions."""
    i = Var.fresh("i")
    count = draw(st.integers(2, 4))
    low = one_of(draw, const(0), const(0), const(1), const(2), *scope.integers)
    if pairs and draw(st.integers(0, 3)) == 0:
        b = one_of(draw, *pairs)
        c = one_of(draw, *pairs)
        what: Expr = Load(c, (index(draw, scope, i, 4),))
        body: Stmt = Store(b, what + what if draw(st.booleans()) else what, (index(draw, scope, i, 4),))
    else:
        b = one_of(draw, *scope.buffers)
        body = store(b, stored(draw, scope, i, b), *element(draw, scope, i, b))
    for _ in range(draw(st.integers(0, 2))):
        body = If(asked(draw, scope, i), body)
    return For(i, low, const(count), body)


def lanes_for(draw: Draw, path: tuple[int, ...], loop: For) -> Vectorize | None:
    """Lanes for the loop, perhaps with one mistake; ``None`` if they would be ill-typed."""
    spread = Spread(draw, loop, one_of(draw, *SLIPS))
    conditions: list[Expr] = []
    body = loop.body
    while isinstance(body, If):
        conditions.append(body.condition)
        body = body.then_body
    assert isinstance(body, Store)
    try:
        mask = spread.all_of(conditions)
        spread.mask = mask
        indices = (*body.indices[:-1], spread.of(body.indices[-1]))
        if indices[-1].dtype.lanes == 1:
            indices = (*indices[:-1], Broadcast(indices[-1], spread.count))
        what = spread.one_by_one(body.value) if body.value.dtype.lanes > 1 else spread.of(body.value)
        if body.value.dtype.lanes > 1 and isinstance(body.value, Load) and draw(st.booleans()):
            what = Load(body.value.buffer, (spread.of(body.value.indices[-1]),))
        return Vectorize(path, indices, what, mask)
    except IRError:
        return None


@st.composite
def fitting(draw: Draw) -> tuple[PrimFunc, Vectorize | None]:
    """A loop of one store and its lanes, with statements around and with other views of what it touches."""
    x, y, z = Buffer.declare("X", (8,), "int32"), Buffer.declare("Y", (2, 4), "int32"), Buffer.declare("Z", (6,))
    p = Buffer.declare("P", (4,), PAIR)
    views = (
        Buffer.declare("V", (7,), "int32", data=x.data, elem_offset=1),
        Buffer.declare("W", (4,), "int32", data=x.data, strides=(2,)),
        Buffer.declare("Q", (4,), PAIR, data=x.data),
        Buffer.declare("F", (8,), "float32", data=x.data),
    )
    declared = [v for v in views if draw(st.integers(0, 4)) == 0]
    n, o = Var.fresh("n"), Var.fresh("o")
    pairs = [b for b in (p, *declared) if b.dtype.lanes > 1]
    inside = draw(st.integers(0, 2))
    scope = Scope([n, o] if inside == 2 else [n], [x, y, z, *(b for b in declared if b.dtype.lanes == 1)], 1)
    before = [statement(draw, scope)] if draw(st.integers(0, 2)) == 0 else []
    loop = one_store(draw, scope, pairs)
    body = seq(*before, loop, store(z, value(draw, scope, z, 1), 0))
    offset = len(before[0].stmts) if before and isinstance(before[0], Seq) else len(before)
    path: tuple[int, ...] = (offset,)
    if inside == 1:
        body, path = If(condition(draw, Scope([n], [x, y, z], 0)), body), (0, *path)
    elif inside == 2:
        body, path = For(o, const(0), one_of(draw, const(2), n), body), (0, *path)
    for v in declared:
        body, path = DeclBuffer(v, body), (0, *path)
    return function([x, y, z, p, n], body), lanes_for(draw, path, loop)


def disagreeing(func: PrimFunc, rule: Vectorize, count: Counter[str]) -> str | None:
    """What is wrong with the step, if it is accepted."""
    result = apply(rule, reflexive(func), Prover(SOLVER))  # type: ignore[arg-type]
    count["accepted" if isinstance(result, Refines) else "refused"] += 1
    if not isinstance(result, Refines):
        return None
    count["masked"] += rule.predicate is not None
    inputs = inputs_of(func, (0, 1, 2))
    ends = outcomes(func, inputs)
    count["meaningful"] += any(not isinstance(e, Exception) for e in ends)
    problem = disagreement(result, inputs, ends)
    return None if problem is None else f"{script(func)}\n--->\n{script(result.after)}\n{problem}"


@pytest.mark.nightly
def test_accepted_lanes_store_what_the_loop_stored() -> None:
    count: Counter[str] = Counter()

    @settings(CALM, max_examples=3 * EXAMPLES)
    @given(fitting())
    def run(made: tuple[PrimFunc, Vectorize | None]) -> None:
        func, rule = made
        if rule is not None:
            problem = disagreeing(func, rule, count)
            assert problem is None, problem

    wanted = {
        "accepted": EXAMPLES // 4,
        "refused": EXAMPLES // 4,
        "meaningful": EXAMPLES // 8,
        "masked": EXAMPLES // 20,
    }
    search_until(lambda: all(count[k] > least for k, least in wanted.items()), run)
    assert all(count[k] > least for k, least in wanted.items()), count


def silent(*_: object, **__: object) -> tuple[Any, ...]:
    """No questions."""
    return ()


def same_buffer(xs: Iterable[Access], ys: Iterable[Access]) -> list[tuple[Access, Access]]:
    """Conflicts between accesses of one view only."""
    return [(a, b) for a, b in conflicts(xs, ys) if a.buffer is b.buffer]


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "iterations may read what earlier ones wrote": setting(rule_module, "_reads_before_writes", silent),
    "any mask will do": without("vectorize", "masked exactly"),
    "lanes may go anywhere": without("vectorize", "where its iteration"),
    "lanes may store anything": without("vectorize", "what its iteration"),
    "all is safe": setting(rule_module, "safe_questions", silent),
    "aliases are not seen": setting(common, "conflicts", same_buffer),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kernel_that_asks_too_little_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the small programs of a grammar, which find it sooner than random ones."""
    FAULTS[fault](monkeypatch)
    (family,) = (f for f in FAMILIES if f.name == "lanes")
    assert explore(family, 400, look_at_refusals=10**9, stop_after=1).unsound
