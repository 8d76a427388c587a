"""Whenever a rule applies, the interpreter agrees: programs and rules with narrow types, and of several types.

What the other generators draw, and maps of buffers so large that an index does not fit a narrow type, get other types
(``other_types``): in the program and the rule, or in what the rule brings along only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.programs import function, load, store
from tests.kernel.test_properties import CALM, EXAMPLES, SOLVER, agrees, anything
from tests.kernel.test_random_copies import SHAPES
from tests.kernel.test_random_reorder import reordering
from tests.nightly import few
from tests.rules.family import rule_for, taken
from tests.rules.other_types import with_other_types
from tests.rules.programs_for_rules import FITTING, fitting
from tests.rules.random_programs import Draw, one_of
from tests.rules.random_rules import RULES
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import FALSE, Cast, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, For, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.theorem import Refines, Rule, reflexive
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.testing import reference
from verified_tir.testing.reference import Claim, disagreement

SETTINGS = settings(CALM, max_examples=few(EXAMPLES, 20 * EXAMPLES))
Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder | None]]


def made(name: str) -> Callable[[Draw], Made]:
    def draw_one(draw: Draw) -> Made:
        func, rule = draw(fitting(name)) if name in FITTING and draw(st.booleans()) else anything(draw, name)
        return func, [rule]

    return draw_one


def reordered(draw: Draw) -> Made:
    func, rule = reordering(draw)
    return func, [rule]


GENERATORS: dict[str, Callable[[Draw], Made]] = {
    "reorder": reordered,
    **SHAPES,
    **{f"random {name}": made(name) for name in RULES},
}


def retyped(draw: Draw, made: Made) -> tuple[PrimFunc, Rule] | None:
    """The program and its first rule with other types; ``None`` if it has none."""
    func, rules = made
    rule = NoMatch((), "") if rules[0] is None else rule_for(rules[0], func)
    return None if isinstance(rule, NoMatch) else with_other_types(draw, func, rule)


def test_whenever_it_applies_the_interpreter_agrees() -> None:
    @SETTINGS
    @given(st.data())
    def run(data: st.DataObject) -> None:
        try:
            made = retyped(data.draw, one_of(data.draw, *GENERATORS.values())(data.draw))
        except IRError:
            return  # ill-typed
        if made is None:
            return
        func, rule = made
        result = taken(rule, reflexive(func), Prover(SOLVER))
        if isinstance(result, Refines):
            agrees(result, func)

    run()


def test_casts_in_maps_wrap_for_whoever_compares() -> None:
    """By the net's own account of maps a cast gave what it was given; so a map that wraps was no other."""
    assert reference.value_of(Cast(DType.parse("uint8"), const(300)), {}) == 44
    assert reference.value_of(Cast(DType.parse("int64"), const(300)), {}) == 300


# ---------------------------------------------------------------------------------------------------------------- maps


def layout(draw: Draw, extent: int) -> LayoutMap:
    """A map of indices below ``extent``: they stay, turn around, move, or have room between them."""
    x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
    last, by = extent - 1, draw(st.integers(1, 3))
    match draw(st.integers(0, 4)):
        case 0:
            return LayoutMap((x,), (last - x,), (y,), (last - y,), (const(extent),), FALSE)
        case 1:
            return LayoutMap((x,), (x + by,), (y,), (y - by,), (const(extent + by),), y < by)
        case 2:
            back = y * 10 + z
            return LayoutMap((x,), (x // 10, x % 10), (y, z), (back,), (const(-(-extent // 10)), const(10)),
                             binary("ge", back, extent))  # fmt: skip
        case 3:
            return LayoutMap((x,), (x * 2,), (y,), (y // 2,), (const(2 * extent),), binary("ne", y % 2, 0))
    return LayoutMap((x,), (x,), (y,), (y,), (const(extent),), FALSE)


def mapped(draw: Draw) -> tuple[PrimFunc, Rule]:
    """A loop over all elements of a buffer, of another one or of a local one, whose elements get other places."""
    extent = one_of(draw, 5, 120, 140, 270)
    a, b, t, p = (Buffer.declare(name, (extent,), "int32") for name in "ABtP")
    i, j, v = (Var.fresh(name) for name in "ijv")
    found: Expr = one_of(draw, i, i, extent - 1 - i, i // 2)
    kind = one_of(draw, Relayout, Stage, Couple, Reassociate)
    if kind is Couple:
        first = For(j, const(0), const(extent), store(t, load(a, j), j))
        body: Stmt = Allocate(t, seq(first, For(i, const(0), const(extent), store(b, load(t, found), i))))
        return function((a, b), body), Couple((), layout(draw, extent))
    new = load(b, i) + load(a, found) if kind is Reassociate or draw(st.booleans()) else load(a, found)
    func = function((a, b), For(i, const(0), const(extent), store(b, new, i)))
    if kind is Reassociate:
        where = one_of(draw, (i, v), (extent - 1 - i, extent - 1 - v))
        return func, Reassociate((), p, (where[0],), (v,), (where[1],))
    buffer, out = one_of(draw, (a, False), (b, True))
    if kind is Stage:
        return func, Stage((), buffer, layout(draw, extent), "c", copy_out=out)
    return func, Relayout(buffer, layout(draw, extent), None)


def differs(theorem: Refines) -> str | None:
    """Where the interpreter contradicts the theorem.  No two elements below 256 places apart are equal by chance."""
    arguments = {}
    for k, b in enumerate(theorem.before.buffers):
        numbers = np.arange(b.shape[0].value) * 7 + k  # type: ignore[attr-defined]
        arguments[b.name] = (numbers % 251).astype(numpy_dtype(b.dtype))
    return disagreement(Claim.of(theorem), arguments)


def tried(draw: Draw) -> str:
    """What came of a map with other types."""
    try:
        func, rule = with_other_types(draw, *mapped(draw))
    except IRError:
        return "ill-typed"
    result = taken(rule, reflexive(func), Prover(SOLVER))
    if not isinstance(result, Refines):
        return "refused"
    problem = differs(result)
    assert problem is None, f"{rule}\n{script(func)}\n--->\n{script(result.after)}\n{problem}"
    return type(rule).__name__


def test_maps_of_many_elements() -> None:
    seen = Counter[str]()

    @SETTINGS
    @given(st.data())
    def run(data: st.DataObject) -> None:
        seen[tried(data.draw)] += 1

    run()
    assert len(seen) > 1  # some are accepted
