"""Cases 19 to 27 in the kernel's terms: what TVM 0.27 accepts is refused, beside a neighbour that is accepted.

``test_tvm_schedules.py`` and ``test_tvm_passes.py`` hold what TVM itself does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.kernel.programs import PROVER, buffer, load, program, store, variable, why
from tests.must_reject.support import accepted, refused
from verified_tir import Refuted as Refused
from verified_tir import Schedule
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr, Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.logic.verdict import Refuted
from verified_tir.schedule.edits import rewritten

TWO_STAGES = """
@T.prim_func
def f(A: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "float32")):
    B = T.alloc_buffer(({n},), "float32")
    for i in range({n}):
        B[i] = A[i] * T.float32(2)
    for i in range({n}):
        C[i] = B[i] + T.float32(1)
"""


def step(func: PrimFunc, rule: Rule) -> Refines | str:
    """The theorem that a rule gives, or the claim that was refuted."""
    result = apply(rule, reflexive(func), PROVER)
    if isinstance(result, Refines):
        return result
    assert isinstance(result, Unproved) and isinstance(result.verdict, Refuted), why(result)
    return why(result)


def value_of_last_store(func: PrimFunc, new: Callable[[PrimFunc], Expr]) -> Refines | str:
    """The value of the last store becomes another one."""
    path, last = list(places(func.body, lambda s: isinstance(s, Store)))[-1]
    assert isinstance(last, Store)
    position = expressions(last).index(last.value)
    return step(func, rewritten(path, (position,), new(func)))


# -- 19: index maps that are not injective


@pytest.mark.parametrize("index_map", [lambda i: [i // 2], lambda i: [i % 4], lambda i: [i // 8, i % 4]])
def test_19_a_map_that_is_not_injective_is_refused(index_map: Callable[..., object]) -> None:
    refusal = refused(
        TWO_STAGES.format(n=16),
        lambda s: s.transform_layout("B", index_map),
        "no two elements of B are mapped to the same",
    )
    assert "replayed: C[0] = " in str(refusal)


def test_19_a_map_that_is_injective_is_accepted() -> None:
    a = np.arange(16, dtype=np.float32)
    accepted(TWO_STAGES.format(n=16), lambda s: s.transform_layout("B", lambda i: [i // 4, i % 4]), A=a, C=0 * a)


# -- 20: the inverse of a rotation


def test_20_a_rotation_has_its_inverse_and_no_padding() -> None:
    rotation = IndexMap.from_func(lambda i: [(i + 1) % 8], 1)
    there = rotation.pack(np.arange(8))
    assert there.tolist() == [7, 0, 1, 2, 3, 4, 5, 6]
    assert rotation.inverse([8]).pack(there).tolist() == list(range(8))
    s = Schedule(TWO_STAGES.format(n=8))
    s.transform_layout("C", lambda i: [(i + 1) % 8], pad_value=0.0)
    assert "C[(i + 1) % 8] = B[i]" in s.script()
    assert "C_padding" not in s.script()


def test_20_a_padding_that_overwrites_an_element_is_refused() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("C", lambda i: [i % 7], pad_value=0.0)

    refused(TWO_STAGES.format(n=8), steps, "no two elements of C are mapped to the same")


# -- 21: a copy of what is overwritten before the copy is used

COPIED = """
c = T.alloc_buffer((4,), "int32")
for i in range(4):
    c[i] = A[i]
for j in range(4):
    {overwritten}[j] = 2 * j
for k in range(4):
    B[k] = A[k] + 3
"""


def copy_plus_three(func: PrimFunc) -> Expr:
    return load(buffer(func, "c"), variable(func, "k")) + 3


def test_21_reading_a_copy_of_what_was_overwritten_is_refused() -> None:
    claim = value_of_last_store(program(COPIED.format(overwritten="A")), copy_plus_three)
    assert isinstance(claim, str) and claim.startswith("equal")


def test_21_reading_a_copy_of_what_stayed_is_accepted() -> None:
    assert isinstance(value_of_last_store(program(COPIED.format(overwritten="B")), copy_plus_three), Refines)


# -- 22: a reduction in two parts

REDUCTION = """
@T.prim_func
def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_22_initialising_again_between_the_parts_is_refused() -> None:
    func = program("A[0] = 0\nA[0] = A[0] + B[0]\nA[0] = A[0] + B[1]")
    claim = step(func, Insert((2,), store(buffer(func, "A"), 0, 0)))
    assert isinstance(claim, str) and "writes the bits that are there already" in claim
    assert isinstance(step(func, Insert((1,), store(buffer(func, "A"), 0, 0))), Refines)


def test_22_the_parts_of_a_reduction_are_initialised_once() -> None:
    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    s = accepted(REDUCTION, lambda s: s.partition("k", 2), A=a, C=a[:, 0].copy())
    assert s.script().count("if k == 0:") == 2  # in the second part k begins at 2


# -- 23: extents beyond int32

CORNER = """
@T.prim_func
def f(A: T.Buffer((1,), "float32")):
    for i, j in T.grid({n}, {m}):
        if i == 0 and j == 0:
            A[0] = T.float32(1)
"""


def test_23_fusing_loops_whose_product_wraps_is_refused() -> None:
    s = Schedule(CORNER.format(n=65536, m=65536))
    with pytest.raises(Refused, match=r"T\.Mul\(65536, 65536\) does not overflow"):
        s.fuse("i", "j")


def test_23_fusing_loops_whose_product_fits_is_accepted() -> None:
    s = Schedule(CORNER.format(n=65536, m=32767))
    s.fuse("i", "j")
    assert "2147418112" in s.script()


# -- 24: identities that floats do not have

FLOATS = 'A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}"), C: T.Buffer((4,), "{dtype}")'
SIMPLER: dict[str, Callable[[PrimFunc], Expr]] = {
    "(A[0] + B[0]) - A[0]": lambda f: load(buffer(f, "B"), 0),
    "A[0] - A[0]": lambda f: const(0, buffer(f, "A").dtype),
    "A[0] * T.{dtype}(0)": lambda f: const(0, buffer(f, "A").dtype),
    "A[0] + T.{dtype}(0)": lambda f: load(buffer(f, "A"), 0),
    "T.Select(A[0] == A[0], A[0], B[0])": lambda f: load(buffer(f, "A"), 0),
    "T.Select(not A[0] < B[0], T.{dtype}(1), T.{dtype}(2))": lambda f: Select(
        binary("le", load(buffer(f, "B"), 0), load(buffer(f, "A"), 0)),
        const(1, buffer(f, "A").dtype), const(2, buffer(f, "A").dtype),
    ),
}  # fmt: skip


@pytest.mark.parametrize("value", SIMPLER)
def test_24_what_holds_of_integers_is_refused_for_floats(value: str) -> None:
    floats, ints = (program(f"C[0] = {value.format(dtype=d)}", FLOATS.format(dtype=d)) for d in ("float32", "int32"))
    claim = value_of_last_store(floats, SIMPLER[value])
    assert isinstance(claim, str) and claim.startswith("equal")
    assert isinstance(value_of_last_store(ints, SIMPLER[value]), Refines)


def test_24_a_difference_with_zero_is_accepted() -> None:
    func = program("C[0] = A[0] - T.float32(0)", FLOATS.format(dtype="float32"))
    assert isinstance(value_of_last_store(func, lambda f: load(buffer(f, "A"), 0)), Refines)


# -- 25: a store of which one part is undefined


def test_25_erasing_a_store_that_is_undefined_in_part_is_refused() -> None:
    partly = program('for i in range(4):\n    A[i] = T.if_then_else(i < 3, B[i], T.undef("int32"))')
    claim = step(partly, Erase((0,)))
    assert isinstance(claim, str) and "wrote the bits that were there already" in claim


def test_25_erasing_a_store_of_undef_is_accepted() -> None:
    whole = program('B[0] = 1\nfor i in range(4):\n    A[i] = T.undef("int32")')
    assert isinstance(step(whole, Erase((1,))), Refines)


# -- 26: a recurrence that is declared a reduction

RECURRENCE = """
@T.prim_func
def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] * {factor} + A[vi, vk]
"""


def test_26_reordering_a_recurrence_is_refused() -> None:
    def steps(s: Schedule) -> None:
        outer, inner = s.split("k", [2, 4])
        s.reorder(inner, outer)

    refusal = refused(RECURRENCE.format(factor=2), steps, "")
    assert "replayed: C[0] = " in str(refusal)


def test_26_reordering_rows_of_it_is_accepted() -> None:
    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    accepted(RECURRENCE.format(factor=2), lambda s: s.reorder("k", "i"), A=a, C=a[:, 0].copy())


# -- 27: computing too much, by an assumption that is true

DOT = """
@T.prim_func
def f(A: T.Buffer((7,), "float32"), W: T.Buffer((7,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = T.float32(0)
    for j in range(7):
        B[0] = B[0] + A[j] * W[j]
"""


def overcompute(s: Schedule, rest: object) -> None:
    """A is padded with zeros, W with ``rest``."""
    s.transform_layout("W", lambda j: [j // 4, j % 4], pad_value=rest)
    s.transform_layout("A", lambda j: [j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


def test_27_an_infinite_factor_is_refused() -> None:
    refused(DOT, lambda s: overcompute(s, float("inf")), "writes the bits that are there already")


def test_27_a_factor_that_is_zero_too_is_accepted() -> None:
    s = Schedule(DOT)
    overcompute(s, 0.0)
    assert "if " not in s.script()
