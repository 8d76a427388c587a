"""Programs that are drawn: well-formed, printable, meaningful; with every feature, and none that was not asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, cycle, product
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, event, given, seed, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.fuzz.targets.inputs import inputs
from tests.nightly import few
from verified_tir import script
from verified_tir.ir.dtype import DType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Call, Cast, IfThenElse, IntImm, LetExpr, Load, Ramp, Select, Undef, Var
from verified_tir.ir.find import reads_of, recursion, writes_of
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.script import parse, parse_func
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    For,
    If,
    LetStmt,
    Seq,
    Store,
    While,
)
from verified_tir.ir.visit import children, walk
from verified_tir.ir.wellformed import problem
from verified_tir.semantics.interpreter import (
    AssertionFailed,
    Outcome,
    StepLimit,
    UndefinedBehaviour,
    run,
)
from verified_tir.testing import ALL_FEATURES, Feature, arguments, modules, prim_funcs
from verified_tir.testing.dtypes import FLOATS, INTEGERS
from verified_tir.testing.programs import textbook
from verified_tir.testing.programs.wide import wide_loops
from verified_tir.testing.reference import Claim, disagreement


def search_settings(examples: int) -> settings:
    return settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def any_of(test: Callable[[Node], bool]) -> Callable[[PrimFunc], bool]:
    return lambda func: any(test(n) for n in walk(func))


def updates(n: Node) -> bool:
    """A store of what an operator makes of the element itself."""
    return isinstance(n, Store) and any(
        isinstance(m, Load) and m.buffer is n.buffer and m.indices == n.indices for m in walk(n.value)
    )


def extents(func: PrimFunc) -> list[int]:
    loops = [n for n in walk(func) if isinstance(n, For)]
    return [n.extent.value for n in loops if isinstance(n.extent, IntImm)]


def gathers(n: Node) -> bool:
    return isinstance(n, (Load, Store)) and any(isinstance(m, Load) for e in n.indices for m in walk(e))


def triangular(n: Node) -> bool:
    return isinstance(n, For) and any(
        isinstance(m, For) and n.var in (*walk(m.min), *walk(m.extent)) for m in walk(n.body)
    )


def reads(n: Node) -> bool:
    return any(isinstance(m, Load) for m in walk(n))


SEEN: dict[Feature, Callable[[PrimFunc], bool]] = {
    "sequences": any_of(lambda n: isinstance(n, For) and isinstance(n.body, Seq)),
    "bounds": lambda f: (
        0 in extents(f) or any(isinstance(n, For) and isinstance(n.min, IntImm) and n.min.value > 0 for n in walk(f))
    ),
    "triangular": any_of(triangular),
    "guards": any_of(lambda n: isinstance(n, If) and not reads(n.condition)),
    "data_guards": any_of(lambda n: isinstance(n, If) and reads(n.condition)),
    "reductions": any_of(lambda n: isinstance(n, Block) and n.init is not None),
    "dtypes": lambda f: len({b.dtype for b in f.buffers}) > 2,
    "locals": any_of(lambda n: isinstance(n, Allocate) and n.buffer.scope != "global"),
    "views": any_of(lambda n: isinstance(n, DeclBuffer)),
    "matches": lambda f: any(b.strides for b in f.buffers),
    "symbols": lambda f: any(isinstance(e, Var) for b in f.buffers for e in b.shape),
    "scalars": lambda f: any(f.buffer_of(p) is None and p.dtype.is_float for p in f.params),
    "blocks": any_of(lambda n: isinstance(n, Block) and bool(n.iter_vars) and n.reads is not None),
    "labels": any_of(lambda n: isinstance(n, Block) and n.is_label),
    "vectors": any_of(lambda n: isinstance(n, Ramp)),
    "while_loops": any_of(lambda n: isinstance(n, While)),
    "lets": any_of(lambda n: isinstance(n, (LetStmt, LetExpr))),
    "asserts": any_of(lambda n: isinstance(n, Assert)),
    "assumes": any_of(lambda n: isinstance(n, Assume)),
    "undef": any_of(lambda n: isinstance(n, Undef)),
    "attributes": any_of(lambda n: isinstance(n, AttrStmt)),
    "loop_kinds": any_of(lambda n: isinstance(n, For) and n.kind in ("parallel", "vectorized", "thread_binding")),
    "gathers": any_of(gathers),
    "intrinsics": any_of(lambda n: isinstance(n, Call)),
    "choices": any_of(lambda n: isinstance(n, (Select, IfThenElse))),
    "casts": any_of(lambda n: isinstance(n, Cast)),
    "wide_loops": any_of(lambda n: isinstance(n, For) and n.var.dtype.bits == 64),
}
"""How each feature is recognised; ``textbook`` and ``faults`` are tested apart."""


def test_every_feature_is_recognised() -> None:
    assert set(SEEN) | {"textbook", "faults"} == ALL_FEATURES == set(get_args(Feature))


@pytest.mark.nightly
def test_every_feature_is_drawn() -> None:
    seen: Counter[str] = Counter()
    kinds: set[str] = set()

    @search_settings(150)
    @given(prim_funcs(ALL_FEATURES - {"textbook"}))
    def search(func: PrimFunc) -> None:
        seen.update(feature for feature, recognised in SEEN.items() if recognised(func))
        kinds.update(n.kind for n in walk(func) if isinstance(n, For))

    search_until(lambda: len(seen) == len(SEEN) and len(kinds) == 5, search)
    assert set(seen) == set(SEEN)
    assert kinds == {"serial", "parallel", "vectorized", "unrolled", "thread_binding"}


@pytest.mark.sample(2)
@pytest.mark.parametrize("feature", sorted(set(SEEN) - {"assumes", "sequences"}))
def test_a_feature_that_is_switched_off_is_not_drawn(feature: Feature) -> None:
    mixing = {"wide_loops"} if feature == "casts" else set()  # where loops of both types meet, one is cast

    @search_settings(30)
    @given(prim_funcs(ALL_FEATURES - {feature, "textbook"} - mixing))
    def search(func: PrimFunc) -> None:
        assert not SEEN[feature](func), script(func)

    search()


def test_nothing_but_what_was_asked_for() -> None:
    @search_settings(few(25, 60))
    @given(prim_funcs(()))
    def search(func: PrimFunc) -> None:
        assert not [f for f, recognised in SEEN.items() if recognised(func)], script(func)

    search()


def used_again(func: PrimFunc) -> bool:
    """Whether a statement reads an element that one before it wrote, or writes one that it read."""
    pairs = (p for n in walk(func) if isinstance(n, Seq) for p in combinations(n.stmts, 2))
    return any(
        a.buffer is b.buffer and a.indices == b.indices and a.indices
        for first, last in pairs
        for a, b in (*product(writes_of(first), reads_of(last)), *product(reads_of(first), writes_of(last)))
    )


@pytest.mark.nightly
def test_elements_are_used_again() -> None:
    """In more than one of ten programs that have sequences; by chance it would be one of twenty."""
    seen: Counter[bool] = Counter()

    @search_settings(400)
    @given(prim_funcs(ALL_FEATURES - {"textbook", "reductions", "blocks", "while_loops"}))
    def search(func: PrimFunc) -> None:
        if any(isinstance(n, Seq) for n in walk(func)):
            seen[used_again(func)] += 1

    search()
    assert seen[True] * 10 > sum(seen.values()) > 100


@pytest.mark.nightly
def test_what_is_drawn_is_well_formed_and_reads_back() -> None:
    @search_settings(few(30, 80))
    @given(prim_funcs())
    def search(func: PrimFunc) -> None:
        assert problem(func) is None
        text = script(func)
        assert structural_equal(parse_func(text), func), text

    search()


@pytest.mark.nightly
def test_nothing_is_there_that_nothing_uses() -> None:
    @search_settings(100)
    @given(prim_funcs(ALL_FEATURES - {"textbook"}))
    def search(func: PrimFunc) -> None:
        used = set(walk(func.body))
        for p in func.params:
            b = func.buffer_of(p)
            if b is None:
                shapes = {n for b in func.buffers for e in b.shape for n in walk(e)}
                assert p in used or p in shapes, script(func)
            else:
                assert b in used or b.data in used, script(func)

    search()


def outcome(func: PrimFunc, args: dict[str, object], module: IRModule | None = None) -> str:
    try:
        run(func, args, module=module, max_steps=30_000)
    except UndefinedBehaviour as found:
        return found.kind
    except AssertionFailed:
        return "assertion"
    except StepLimit:
        return "long"
    return "fine"


@pytest.mark.nightly
def test_most_programs_have_a_meaning() -> None:
    ended: Counter[str] = Counter()

    @search_settings(100)
    @given(st.data())
    def search(data: st.DataObject) -> None:
        func = data.draw(prim_funcs())
        how = outcome(func, data.draw(arguments(func)))
        event(how)
        ended[how] += 1

    search()
    assert ended["fine"] >= 0.9 * ended.total(), ended


@pytest.mark.nightly
def test_modules_are_well_formed_and_call() -> None:
    calls: Counter[int] = Counter()

    @search_settings(few(25, 60))
    @given(modules())
    def search(module: IRModule) -> None:
        for _, func in module.functions:
            assert problem(func) is None
        assert recursion(module) is None
        assert structural_equal(parse(script(module)), module)
        names = {n.op for n in walk(module["main"]) if isinstance(n, Call) and n.op.startswith("@")}
        assert names == {f"@{name}" for name, _ in module.functions if name != "main"}
        calls[len(names)] += 1

    search_until(lambda: {1, 2} <= set(calls), search)
    assert {1, 2} <= set(calls)


@pytest.mark.nightly
def test_modules_run() -> None:
    """But for planted faults, nearly all have a meaning."""
    ended: Counter[str] = Counter()

    @search_settings(few(25, 60))
    @given(st.data())
    def search(data: st.DataObject) -> None:
        module = data.draw(modules(ALL_FEATURES - {"faults"}))
        ended[outcome(module["main"], data.draw(arguments(module["main"])), module)] += 1

    for k in range(3):
        seed(k)(search)()  # one search alone dwells on what it has drawn: a bad module comes several times
    assert ended["fine"] >= 0.95 * ended.total(), ended


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    ("form", "types"),
    [(form, (*INTEGERS, *FLOATS)) for forms in textbook._PROGRAMS.values() for form in forms]
    + [(form, FLOATS) for forms in textbook._OF_FLOATS.values() for form in forms],
)
def test_textbook_programs_can_be_read_in_all_types(form: str, types: Sequence[DType]) -> None:
    for dtype in types:
        for number in (2, 8):
            assert parse_func(
                f"@T.prim_func\ndef main({form.format(t=dtype, **dict.fromkeys('nmkscw', number))}"
            ).buffers


@pytest.mark.nightly
@pytest.mark.parametrize("types", [["bool"], ["bool", "float32"], ["int32", "bool"]], ids=str)
def test_programs_of_truths_are_drawn(types: list[str]) -> None:
    """Reductions, views, sums of vectors and programs from textbooks are about numbers alone."""
    few_features = prim_funcs({"textbook", "reductions", "blocks", "views", "lets", "vectors"}, dtypes=types)

    @search_settings(150)
    @given(st.one_of(few_features, prim_funcs({"vectors"}, dtypes=types), prim_funcs(dtypes=types)))
    def search(func: PrimFunc) -> None:
        assert problem(func) is None

    search()


@pytest.mark.nightly
def test_textbook_programs_come_too() -> None:
    found: set[str] = set()

    @search_settings(few(30, 80))
    @given(prim_funcs({"textbook"}))
    def search(func: PrimFunc) -> None:
        text = script(func)
        found.update(word for word in ("T.exp", "T.sqrt", "T.if_then_else", "T.init", "I_") if word in text)

    search_until(lambda: len(found) == 5, search)
    assert len(found) == 5


@pytest.mark.nightly
def test_faults_come_in_a_small_share() -> None:
    ended: Counter[str] = Counter()

    @search_settings(120)
    @given(st.data())
    def search(data: st.DataObject) -> None:
        func = data.draw(prim_funcs({"faults", "sequences"}))
        ended[outcome(func, data.draw(arguments(func)))] += 1

    search_until(lambda: ended["out-of-bounds"] > 0, search)
    assert ended["out-of-bounds"] > 0
    assert ended["fine"] >= 0.8 * ended.total()


@pytest.mark.nightly
def test_vectors_run_backwards_and_have_masks() -> None:
    """Machine code turns the lanes of such an access round, and those of its mask."""
    seen: set[str] = set()

    def look(n: Load | Store) -> None:
        ramp = n.indices[-1] if n.indices else None
        if isinstance(ramp, Ramp) and isinstance(ramp.stride, IntImm):
            way = "forwards" if ramp.stride.value > 0 else "backwards"
            seen.add(f"{type(n).__name__} {way}")
            if n.predicate is not None:
                seen.add(f"{type(n).__name__} {way}, masked by {'data' if reads(n.predicate) else 'lanes'}")

    @search_settings(250)
    @given(prim_funcs({"vectors", "sequences", "bounds"}))
    def search(func: PrimFunc) -> None:
        for n in walk(func.body):
            if isinstance(n, (Load, Store)):
                look(n)

    wanted = {f"Store {way}{mask}" for way in ("forwards", "backwards") for mask in ("", ", masked by lanes")}
    wanted |= {"Load backwards", "Load forwards, masked by lanes", "Store forwards, masked by data"}
    search_until(lambda: wanted <= seen, search)
    assert wanted <= seen, wanted - seen


@pytest.mark.nightly
def test_views_of_all_kinds() -> None:
    """Among them wider types than the block's, from the last element to the first, and several elements at once."""
    seen: set[str] = set()

    @search_settings(250)
    @given(prim_funcs({"views", "dtypes", "sequences"}))
    def search(func: PrimFunc) -> None:
        blocks = {b.data: b for b in func.buffers}
        for n in walk(func.body):
            if isinstance(n, DeclBuffer) and n.buffer.data in blocks:
                view, base = n.buffer, blocks[n.buffer.data]
                steps = [e.value for e in view.strides if isinstance(e, IntImm)]
                seen.update(("backwards",) if min(steps, default=0) < 0 else ("gaps",) if steps else ())
                seen.add("vectors" if view.dtype.lanes > 1 else "wider" if view.dtype.bits > base.dtype.bits else "")
                seen.add("narrower" if view.dtype.bits < base.dtype.bits else "")

    wanted = {"backwards", "gaps", "vectors", "wider", "narrower"}
    search_until(lambda: wanted <= seen, search)
    assert wanted <= seen, wanted - seen


@pytest.mark.nightly
def test_elements_are_bools_and_vectors_too() -> None:
    seen: set[str] = set()

    @search_settings(100)
    @given(prim_funcs({"dtypes", "vectors", "sequences"}))
    def search(func: PrimFunc) -> None:
        seen.update("vector" if b.dtype.lanes > 1 else b.dtype.code for b in func.buffers)

    search_until(lambda: {"bool", "vector"} <= seen, search)
    assert {"bool", "vector", "float", "int", "uint", "bfloat"} >= seen >= {"bool", "vector", "float"}


@settings(max_examples=few(10, 25), derandomize=True, database=None, deadline=None)
@given(prim_funcs(ALL_FEATURES - {"wide_loops", "loop_kinds"}))  # a broken licence is broken in both
def test_wide_loops_compute_the_same(func: PrimFunc) -> None:
    every_other = cycle((True, False))
    for wide in (wide_loops(func), wide_loops(func, lambda _: next(every_other))):
        assert problem(wide) is None
        assert structural_equal(parse_func(script(wide)), wide)
        for tried in inputs(func, 1, 2):
            if isinstance(tried.end, Outcome):
                assert disagreement(Claim(func, wide), tried.arguments) is None


def test_unknown_features_are_named() -> None:
    with pytest.raises(ValueError, match="no feature is called loops; there are assert"):
        prim_funcs({"loops"})


def test_the_dtypes_of_elements_can_be_chosen() -> None:
    @search_settings(40)
    @given(prim_funcs(ALL_FEATURES - {"gathers", "while_loops", "textbook", "views"}, dtypes=["int8", "uint16"]))
    def search(func: PrimFunc) -> None:
        assert {str(b.dtype.scalar) for b in func.buffers} <= {"int8", "uint16", "bool"}

    search()


def test_depth_and_statements_are_bounded() -> None:
    def depth(n: Node) -> int:
        return isinstance(n, For) + max((depth(c) for c in children(n)), default=0)

    @search_settings(few(25, 60))
    @given(prim_funcs({"sequences", "guards"}, max_depth=2, max_statements=1))
    def search(func: PrimFunc) -> None:
        assert depth(func.body) <= 2
        assert not isinstance(func.body, Seq)

    search()
