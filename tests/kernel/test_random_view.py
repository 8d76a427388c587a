"""Whenever accesses go through another view of a block, the interpreter agrees; and so for blocks of other shapes,
shared blocks, and bools kept as bytes.

``VTIR_EXAMPLES`` sets how many programs each rule gets.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.kernel.exhaustive.family import Exploration, plain_solver
from tests.kernel.exhaustive.oracle import disagreement, inputs_of, outcomes
from tests.kernel.exhaustive.test_mutants import setting, unsafe_is_safe, without
from tests.kernel.programs import function, load, store
from tests.rules.lanes import FAMILIES
from tests.rules.random_programs import Draw, Scope, bounds, condition, index, one_of, statement, value
from tests.rules.random_rules import place, scope_at
from verified_tir.ir import wellformed
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL
from verified_tir.ir.expr import Binary, Broadcast, Expr, IntImm, Load, Not, Ramp, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, If, LetStmt, Stmt, Store, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules import rewrite as rule_module
from verified_tir.kernel.rules import scope as scope_module
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.edits import redirected
from verified_tir.schedule.rule_builders import RuleBuilder

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "60"))
SOLVER = plain_solver()
CALM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 60,  # who asks for more wants others each time
    suppress_health_check=list(HealthCheck),
    database=None,
)
Fitting: TypeAlias = tuple[PrimFunc, Rule | RuleBuilder | None]
PAIR = "int32x2"


def sizes(b: Buffer) -> list[int]:
    """The extents, all of which are constants here."""
    return [e.value for e in b.shape if isinstance(e, IntImm)]


# --------------------------------------------------------------------------------------------------------------- view


def views_of(base: Buffer) -> list[Buffer]:
    """Views of a block of six or eight integers: other shapes, a part of it, strides, elements of two lanes, floats."""
    count = 1
    for e in sizes(base):
        count *= e
    return [
        Buffer.declare("V", (count,), "int32", data=base.data),
        Buffer.declare("V", (count + 1,), "int32", data=base.data),
        Buffer.declare("V", (count // 2, 2), "int32", data=base.data),
        Buffer.declare("V", (count - 1,), "int32", data=base.data, elem_offset=1),
        Buffer.declare("V", (count + 2,), "int32", data=base.data, elem_offset=-2),
        Buffer.declare("V", (count,), "int32", data=base.data, strides=(-1,), elem_offset=count - 1),
        Buffer.declare("V", (2, count // 2), "int32", data=base.data, strides=(1, 2)),
        Buffer.declare("V", (count // 2,), PAIR, data=base.data),
        Buffer.declare("V", (count,), "float32", data=base.data),
    ]


def flat(b: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """Where an element stands, in elements from the start of the block."""
    total: Expr = const(0)
    if b.strides:
        for i, stride in zip(indices, b.strides, strict=True):
            total = binary("add", total, binary("mul", i, stride))
    else:
        for i, extent in zip(indices, b.shape, strict=True):
            total = binary("add", binary("mul", total, extent), i)
    return binary("add", b.elem_offset, total)


def seen_from(draw: Draw, new: Buffer, address: Expr) -> tuple[Expr, ...]:
    """The indices of a view that name an address; sometimes others."""
    here = binary("sub", address, new.elem_offset)
    match draw(st.integers(0, 7)):
        case 0:
            here = binary("add", here, 1)
        case 1:
            here = binary("mul", here, 2)
    if not new.strides:
        found: tuple[Expr, ...] = ()
        for extent in reversed(sizes(new)[1:]):
            found, here = (here % extent, *found), here // extent
        if draw(st.integers(0, 15)) == 0:
            found = tuple(reversed(found))
        return (here, *found)
    if len(new.shape) == 1:
        return (binary("sub", const(0), here),)
    return (here % 2, here // 2)


def moved(draw: Draw, old: Buffer, new: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    last = indices[-1]
    if last.dtype.lanes == 1 or not isinstance(last, Ramp):
        return seen_from(draw, new, flat(old, indices))
    start = flat(old, (*indices[:-1], last.base))
    if new.dtype.lanes > 1:
        return (start // 2,) if draw(st.integers(0, 7)) else (start,)
    if len(new.shape) > 1 or new.strides:
        raise IRError("lanes of the last index only")
    return (Ramp(seen_from(draw, new, start)[0], last.stride, last.lanes),)


def vectors(draw: Draw, scope: Scope, b: Buffer) -> Stmt:
    """Two lanes copied within the rows of a buffer, perhaps masked."""

    def lanes() -> tuple[Expr, ...]:
        *lead, last = sizes(b)
        start = binary("mul", index(draw, scope, max(1, last // 2)), one_of(draw, 1, 2, 2))
        ramp = Ramp(start, const(one_of(draw, 1, 1, 1, 2, -1)), 2)
        return (*[index(draw, scope, e) for e in lead], ramp)

    mask = binary("lt", Ramp(const(0), const(1), 2), Broadcast(scope.integers[0], 2)) if draw(st.booleans()) else None
    there, here = lanes(), lanes()
    return Store(b, Load(b, here, mask) if draw(st.booleans()) else Broadcast(const(3), 2), there, mask)


def visited(draw: Draw, scope: Scope) -> Stmt:
    """A statement with accesses of buffers in more places than random statements have."""
    b = one_of(draw, *[c for c in scope.buffers if c.dtype.is_int])
    element = load(b, *[index(draw, scope, e) for e in sizes(b)])
    match draw(st.integers(0, 5)):
        case 0:
            less = store(b, element - 1, *element.indices)
            return While(Binary("gt", element, const(0)), less)
        case 1:
            x = Var.fresh("x")
            return LetStmt(x, element, statement(draw, scope.with_integer(x)))
        case 2:
            i = Var.fresh("i")
            return For(i, one_of(draw, const(0), element), binary("min", element, 2), statement(draw, scope))
        case 3:
            return If(Binary("and", condition(draw, scope), element > 0), statement(draw, scope))
        case 4:
            return vectors(draw, scope, b)
    return statement(draw, scope)


@st.composite
def viewed(draw: Draw) -> Fitting:
    """Accesses of a parameter or a local buffer moved to another view, all of them or those of one statement."""
    x, y = Buffer.declare("X", (8,), "int32"), Buffer.declare("Y", (3, 2), "int32")
    z, t = Buffer.declare("Z", (5,)), Buffer.declare("t", one_of(draw, (6,), (2, 4)), "int32")
    local = draw(st.booleans())
    base = t if local else one_of(draw, x, y)
    new = one_of(draw, *views_of(base))
    n = Var.fresh("n")
    seen = [x, y, z, *([t] if local else []), *([new] if new.dtype is base.dtype else [])]
    scope = Scope([n], seen, 2)
    i = Var.fresh("i")
    inner = scope.with_integer(i)
    parts = [visited(draw, inner) for _ in range(draw(st.integers(1, 3)))]
    filled = store(base, value(draw, inner, base, 0), *[index(draw, inner, e) for e in sizes(base)])
    nest: Stmt = For(
        i, *bounds(draw, scope), seq(filled, *parts, store(x, load(base, *[const(0)] * len(base.shape)), 0))
    )
    body = DeclBuffer(new, nest)
    func = function([x, y, z, n], Allocate(t, body) if local else body)
    old, other = (new, base) if draw(st.integers(0, 3)) == 0 and new.dtype is base.dtype else (base, new)
    path: Path = (0, 0) if local else (0,)
    deeper = draw(st.integers(0, 2))
    if deeper:
        path = (*path, 0, draw(st.integers(0, 1))) if deeper == 2 else (*path, 0)
    places = {n.indices: None for n in walk(at(func.body, path)) if isinstance(n, (Load, Store)) and n.buffer is old}
    moves = []
    for indices in places:
        if draw(st.integers(0, 7)):
            try:
                moves.append((indices, moved(draw, old, other, indices)))
            except IRError:
                continue
    return func, redirected(path, old, other, tuple(moves)) if moves else None


@st.composite
def declared(draw: Draw) -> Fitting:
    """A view appears somewhere, with extents that may have no meaning there; or one goes."""
    x, y = Buffer.declare("X", (6,), "int32"), Buffer.declare("Y", (2, 3), "int32")
    z, n = Buffer.declare("Z", (5,)), Var.fresh("n")
    v = Buffer.declare("V", (3, 2), "int32", data=x.data)
    around = draw(st.booleans())
    scope = Scope([n], [x, y, z, *([v] if around and draw(st.booleans()) else [])], 3)
    body = statement(draw, scope)
    func = function([x, y, z, n], DeclBuffer(v, body) if around else body)
    if around:
        return func, Drop(())
    found = place(draw, func)
    assert found is not None
    i = one_of(draw, *scope_at(func, found[0]).integers)
    extent = one_of(draw, const(2), n, i, n - 1, 4 // i, i + 1)
    new = Buffer.declare("W", (extent,), one_of(draw, "int32", "float32"), data=one_of(draw, x, y, z).data,
                         elem_offset=one_of(draw, const(0), i, 7 // n))  # fmt: skip
    return func, Declare(found[0], new, True)


# --------------------------------------------------------------------------------------------------------------- blocks


def local(draw: Draw, name: str, scope: Scope, extent: Expr | int) -> Allocate:
    """A local buffer, perhaps with another view, used by a few statements."""
    t = Buffer.declare(name, (extent,), one_of(draw, "int32", "int32", "float32"))
    v = Buffer.declare(f"{name}v", (3,), one_of(draw, t.dtype, "int32"), data=t.data)
    n = scope.integers[0]
    near = (const(0), const(1), binary("min", n, 1), n)
    second = draw(st.booleans())
    parts: list[Stmt] = [statement(draw, scope)] if draw(st.integers(0, 2)) == 0 else []
    for b in [t, v] if second else [t]:
        like = next(c for c in scope.buffers if c.dtype is b.dtype)
        parts.append(store(b, value(draw, scope, like, 1), one_of(draw, *near)))
        parts.append(store(like, load(b, one_of(draw, *near)), *[const(0)] * len(like.shape)))
    draw(st.randoms(use_true_random=False)).shuffle(parts)
    body = seq(*parts)
    return Allocate(t, DeclBuffer(v, body) if second else body)


@st.composite
def blocks(draw: Draw) -> Fitting:
    """A block allocated under another shape, or shared by two buffers of one sequence."""
    x, y, z = Buffer.declare("X", (6,), "int32"), Buffer.declare("Y", (2, 3), "int32"), Buffer.declare("Z", (5,))
    n, o = Var.fresh("n"), Var.fresh("o")
    inside = draw(st.integers(0, 2))
    scope = Scope([n, o] if inside == 2 else [n], [x, y, z], 1)
    extents = [one_of(draw, const(2), const(3), n, n + 1, *scope.integers, 2 * n, const(0)) for _ in range(3)]
    first, second = (local(draw, name, scope, e) for name, e in zip("tu", extents, strict=False))
    between = [statement(draw, scope)] if draw(st.booleans()) else []
    last = [For(Var.fresh("k"), const(0), const(1), local(draw, "w", scope, extents[2]))]
    rows = [first, *between, second, *last]
    body = seq(*rows)
    both = binary("max", extents[0], extents[1])
    size = one_of(draw, extents[0], extents[1], both, both, extents[0] + extents[1], const(8), const(8), n - 1)
    shape = (size,) if draw(st.booleans()) else (size, 2)
    path: Path = ()
    if inside:
        path = (0,)
        body = (
            If(condition(draw, Scope([n], [x, y, z], 0)), body) if inside == 1 else For(o, *bounds(draw, scope), body)
        )
    func = function([x, y, z, n], body)
    seconds = [k for k, s in enumerate(at(body, path).stmts) if isinstance(s, Allocate)]  # type: ignore[attr-defined]
    dtype = one_of(draw, "int32", "int32", "float32", "int8", PAIR)
    if draw(st.booleans()):
        one = one_of(draw, None, None, *(at(body, (*path, k)).buffer.data for k in seconds))  # type: ignore[attr-defined]
        some = draw(st.lists(st.sampled_from(seconds), min_size=1, unique=True)) if one is None else seconds
        return func, MergeAllocations((*path,), tuple(some), Buffer.declare("s", shape, dtype, data=one))
    where, chosen = place(draw, func, Allocate)  # type: ignore[misc]
    data = one_of(draw, None, chosen.buffer.data, chosen.buffer.data)
    return func, MergeAllocations(where, (), Buffer.declare("s", shape, dtype, data=data))


# ---------------------------------------------------------------------------------------------------------------- bools


def truth(draw: Draw, scope: Scope, bools: list[Buffer]) -> Expr:
    """A bool: an element, a comparison, a negation."""
    b = one_of(draw, *bools)
    match draw(st.integers(0, 4)):
        case 0:
            return condition(draw, scope)
        case 1:
            return Not(load(b, index(draw, scope, 4)))
        case 2:
            return IntImm(BOOL, draw(st.integers(0, 1)))
        case 3:
            c = load(one_of(draw, *bools), index(draw, scope, 4))
            return Binary(one_of(draw, "and", "or"), load(b, index(draw, scope, 4)), c)
    return load(b, index(draw, scope, 4))


@st.composite
def bools(draw: Draw) -> Fitting:
    """Bool parameters and a local one: stored, copied by lanes, asked."""
    x, z = Buffer.declare("X", (6,), "int32"), Buffer.declare("Z", (5,))
    m, w, t = (Buffer.declare(name, (4,), "bool") for name in "MWt")
    n, i = Var.fresh("n"), Var.fresh("i")
    kept = [m, w, t]
    bytes_ = Buffer.declare("B", (4,), "int8", data=t.data)
    seen = draw(st.integers(0, 4)) == 0
    scope = Scope([n, i], [x, z], 1)

    def use() -> Stmt:
        b = one_of(draw, *kept)
        match draw(st.integers(0, 4)):
            case 0:
                return If(truth(draw, scope, kept), statement(draw, scope))
            case 1:
                c = Load(one_of(draw, *kept), (Ramp(const(0), const(1), 4),), None)
                mask = Load(one_of(draw, *kept), (Ramp(const(3), const(-1), 4),)) if draw(st.booleans()) else None
                return Store(b, c, (Ramp(const(0), const(1), 4),), mask)
            case 2 if seen:
                return store(bytes_, const(one_of(draw, 0, 1, 2), "int8"), index(draw, scope, 4))
            case _:
                return Store(b, truth(draw, scope, kept), (index(draw, scope, 4),))

    nest: Stmt = For(i, const(0), one_of(draw, const(2), n), seq(*[use() for _ in range(draw(st.integers(2, 4)))]))
    old = one_of(draw, *kept)
    new = Buffer.declare("V", (4,), "int8", data=old.data)
    wrong = draw(st.integers(0, 4)) == 0
    accesses = dict.fromkeys(b.indices for b in walk(nest) if isinstance(b, (Load, Store)) and b.buffer is old)
    listed = [x for x in accesses if draw(st.integers(0, 4))]
    moves = tuple((x, (x[0] + 1,) if wrong and x[0].dtype.lanes == 1 else x) for x in listed)
    nest = DeclBuffer(bytes_, nest) if seen else nest
    body = Allocate(t, DeclBuffer(new, nest)) if old is t else DeclBuffer(new, Allocate(t, nest))
    return function([x, z, m, w, n], body), redirected((0, 0) if old is t else (0,), old, new, moves)


# ----------------------------------------------------------------------------------------------------------- the tests

FITTING: dict[str, Callable[[], st.SearchStrategy[Fitting]]] = {
    "view": viewed,
    "declare": declared,
    "block": blocks,
    "bool": bools,
}


def disagreeing(func: PrimFunc, step: Rule | RuleBuilder, count: Counter[str]) -> str | None:
    """What is wrong with the step, if it is accepted."""
    rule = step(func) if callable(step) else step
    if isinstance(rule, NoMatch) or wellformed.problem(func) is not None:
        count["refused"] += 1
        return None
    result = apply(rule, reflexive(func), Prover(SOLVER))  # type: ignore[arg-type]
    count["accepted" if isinstance(result, Refines) else "refused"] += 1
    if not isinstance(result, Refines):
        return None
    count[type(rule).__name__] += 1
    inputs = inputs_of(func, (0, 1, 2))
    ends = outcomes(func, inputs)
    count["meaningful"] += any(not isinstance(e, Exception) for e in ends)
    problem = disagreement(result, inputs, ends)
    return None if problem is None else f"{rule}\n{script(func)}\n--->\n{script(result.after)}\n{problem}"


def tried(name: str, examples: int, count: Counter[str], **options: Any) -> Callable[[], None]:
    """Random applications of a rule; raises where the interpreter disagrees."""

    @settings(CALM, max_examples=examples, **options)
    @given(FITTING[name]())
    def run(made: Fitting) -> None:
        func, rule = made
        if rule is not None:
            problem = disagreeing(func, rule, count)
            assert problem is None, f"disagreement: {problem}"

    return run


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FITTING)
def test_accepted_steps_agree_with_the_interpreter(name: str) -> None:
    count: Counter[str] = Counter()
    rules = {"view": (Rewrite,), "declare": (Declare, Drop), "block": (MergeAllocations,), "bool": (Rewrite,)}[name]
    wanted = {"accepted": EXAMPLES // 10, "meaningful": EXAMPLES // 30, **{rule.__name__: 0 for rule in rules}}
    if name != "declare":
        wanted["refused"] = EXAMPLES // 20
    search = tried(name, EXAMPLES if name in ("declare", "bool") else 2 * EXAMPLES, count)
    search_until(lambda: all(count[k] > least for k, least in wanted.items()), search)
    assert all(count[k] > least for k, least in wanted.items()), count


def blind(*_: object, **__: object) -> tuple[Any, ...]:
    """No questions."""
    return ()


def without_mask(original: Callable[..., Store]) -> Callable[..., Store]:
    """Every lane of a masked store counts."""

    def redirected(*arguments: Any) -> Store:
        found = original(*arguments)
        return Store(found.buffer, found.value, found.indices)

    return redirected


FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "stores may go anywhere": ("moved to views", without("view", "goes where")),
    "loads may come from anywhere": ("moved to views", without("view", "reads where")),
    "all is safe": ("moved to views", unsafe_is_safe(rule_module)),
    "extents have a meaning": ("declare", setting(scope_module, "extents_safe", blind)),
    "any block is large enough": ("blocks", without("view", "large enough")),
    "masks are lost": ("bool", setting(rule_module._Place, "redirected", without_mask(rule_module._Place.redirected))),
}


SOONEST = {"stores may go anywhere": 1, "loads may come from anywhere": 164, "all is safe": 7,
           "any block is large enough": 13}  # fmt: skip
"""The turn of the family that noticed it the last time: there it is looked first."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kernel_that_asks_too_little_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the small programs of a grammar, which find it sooner, or by random ones where there is none."""
    name, mutate = FAULTS[fault]
    mutate(monkeypatch)
    if name in FITTING:
        with pytest.raises(AssertionError, match="disagreement"):
            seed(5)(tried(name, 1500, Counter(), phases=[Phase.generate], derandomize=False))()
    else:
        (family,) = (f for f in FAMILIES if f.name == name)
        for first, last in ((SOONEST[fault], SOONEST[fault] + 1), (0, 400)):
            if Exploration(family, 400, look_at_refusals=10**9).advance(first, last, 1).unsound:
                return
        pytest.fail(f"nobody notices: {fault}")
