"""What is known of padding: through a second layout, where it reads the buffer, and where it holds anything."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, accepted, body_of, buffer, program, refused, why
from verified_tir.ir.expr import FALSE, Expr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.edits import rewritten

x, y = Var.fresh("x"), Var.fresh("y")


def wider(extent: int, new: int) -> LayoutMap:
    """Padding behind ``extent`` elements, up to ``new``."""
    return LayoutMap((x,), (x,), (y,), (y,), (const(new),), binary("ge", y, extent))


def moved(f: PrimFunc, *steps: tuple[LayoutMap, Expr | None], definite: bool = False) -> Refines:
    theorem = reflexive(f, definite=definite)
    for layout, pad in steps:
        theorem = then(theorem, Relayout(theorem.after.buffers[0], layout, pad))
    return theorem


def then(theorem: Refines, rule: Rule) -> Refines:
    new = apply(rule, theorem, PROVER)
    assert isinstance(new, Refines), why(new)
    return new


def written(theorem: Refines, value: Expr) -> bool:
    """Whether the stored 0, or element, may be computed as ``value``."""
    return isinstance(apply(rewritten((), (0,), value), theorem, PROVER), Refines)


def element(theorem: Refines, index: int) -> Load:
    return Load(theorem.after.buffers[0], (const(index),))


@pytest.mark.parametrize(("index", "known"), [(3, True), (5, False)])
def test_padding_that_holds_anything_is_not_defined(index: int, *, known: bool) -> None:
    theorem = moved(program("B[0] = 0"), (wider(4, 6), Undef(x.dtype)), definite=True)
    assert written(theorem, element(theorem, index) * 0) is known


@pytest.mark.parametrize(("extent", "known"), [(4, True), (6, False)])
def test_a_block_with_such_padding_is_not_defined_throughout(extent: int, *, known: bool) -> None:
    text = f"for i in range({extent}):\n    C[i] = 0"
    f = program(text, 'A: T.Buffer((4,), "int32"), C: T.Buffer((6,), "int32")')
    theorem = moved(f, (wider(4, 6), Undef(x.dtype)), definite=True)
    loop = theorem.after.body
    assert isinstance(loop, For)
    value = Load(theorem.after.buffers[0], (loop.var,)) * 0
    assert isinstance(apply(rewritten((0,), (0,), value), theorem, PROVER), Refines) is known


@pytest.mark.parametrize(("index", "known"), [(4, True), (5, True), (6, False), (7, False)])
def test_older_padding_says_nothing_of_newer(index: int, *, known: bool) -> None:
    theorem = moved(program("B[0] = 0"), (wider(4, 6), const(0)), (wider(6, 8), Undef(x.dtype)))
    assert written(theorem, element(theorem, index)) is known


def test_padding_that_reads_the_buffer_names_the_elements_of_the_old_layout() -> None:
    f = program("B[0] = A[1]")
    behind = LayoutMap((x,), (x + 2,), (y,), (y - 2,), (const(6),), binary("lt", y, 2))
    theorem = moved(f, (behind, Load(buffer(f, "A"), (const(1),))), definite=True)
    assert body_of(theorem.after) == "B[0] = A[T.Add(1, 2)]"
    assert written(theorem, element(theorem, 0)) and written(theorem, element(theorem, 1))
    assert not written(theorem, element(theorem, 2))


@pytest.mark.parametrize(("kept", "inverse"), [(0, (y, const(0))), (1, (const(0), y))])
def test_all_coordinates_have_to_be_told_apart(kept: int, inverse: tuple[Expr, Expr]) -> None:
    f = program("B[0] = A[0, 1]", 'A: T.Buffer((2, 2), "int32"), B: T.Buffer((1,), "int32")')
    z = Var.fresh("z")
    layout = LayoutMap((x, z), ((x, z)[kept],), (y,), inverse, (const(2),), FALSE)
    refused(f, Relayout(buffer(f, "A"), layout, None), "layout: no two elements of A")
    flat = LayoutMap((x, z), (x * 2 + z,), (y,), (y // 2, y % 2), (const(4),), FALSE)
    accepted(f, Relayout(buffer(f, "A"), flat, None))
