"""Case 16 of the RFC's own text, with its neighbours: what may be made of undef, and what undef may be made of.

The RFC simplifies ``0 * undef`` to zero, of integers and floats alike.  As a rewriting of the *program* that is right:
what was undefined may become anything.  The RFC uses it the other way round, when it inserts
``B = B + 0.0 * A[padding]`` and says that nothing changes: there a defined value becomes an undefined one.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.lower.lower_support import gives
from tests.must_reject.support import accepted, refused
from verified_tir import Refuted, Schedule
from verified_tir.ir.expr import Expr
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, places
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.visit import substitute
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.lower import RemoveAssume, RemoveStoreUndef
from verified_tir.schedule.edits import rewritten
from verified_tir.script import tir as T
from verified_tir.semantics.interpreter import UndefinedBehaviour, refines, run

PROVER = Prover(Solver())
PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        B[i] = {value}
"""


def value_of(func: PrimFunc) -> tuple[Path, Expr]:
    path, store = next(iter(places(func.body, lambda s: isinstance(s, Store))))
    assert isinstance(store, Store)
    return path, store.value


def holds(before: str, after: str, dtype: str, definite: bool = False) -> bool:
    """Whether the kernel lets the stored value be replaced by the other one.  The interpreter agrees, both ways."""
    one, other = (parse_func(PROGRAM.format(dtype=dtype, value=v)) for v in (before, after))
    path, _ = value_of(one)
    assert isinstance(one.body, For) and isinstance(other.body, For)
    blocks = {a.data: b.data for a, b in zip(other.buffers, one.buffers, strict=True)}
    value = substitute(value_of(other)[1], {other.body.var: one.body.var, **blocks})
    same = {a.with_data(b.data): b for a, b in zip(other.buffers, one.buffers, strict=True)}
    found = apply(rewritten(path, (0,), substitute_buffers(value, same)), reflexive(one, definite=definite), PROVER)
    assert isinstance(found, (Refines, Unproved)), found
    arrays = {b.name: (np.arange(4) + 1).astype(dtype) for b in one.buffers}
    agrees = not refines(run(one, arrays), run(other, arrays))
    assert agrees or isinstance(found, Unproved)
    return isinstance(found, Refines)


UNDEF = {dtype: f'T.undef("{dtype}")' for dtype in ("int32", "float32")}


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_16_undef_may_become_anything(dtype: str) -> None:
    """The direction that is right, of integers and floats."""
    zero, undef = f"T.{dtype}(0)", UNDEF[dtype]
    assert holds(f"{zero} * {undef}", zero, dtype)
    assert holds(f"B[i] + {zero} * {undef}", "B[i]", dtype)
    assert holds(f"{undef} - {undef}", zero, dtype)
    assert holds(undef, "A[i]", dtype)
    assert holds(undef, undef, dtype)
    assert holds(f"{undef} + A[i]", undef, dtype)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_16_nothing_that_is_defined_becomes_undef(dtype: str) -> None:
    """The direction in which the RFC uses it; ``0 * undef`` may not be 0 in one place and undef in another."""
    zero, undef = f"T.{dtype}(0)", UNDEF[dtype]
    assert not holds("B[i]", f"B[i] + {zero} * {undef}", dtype)
    assert not holds(zero, f"{zero} * {undef}", dtype)
    assert not holds(zero, f"{undef} - {undef}", dtype)
    assert not holds("A[i]", f"T.Select(A[i] > {zero}, A[i], {undef})", dtype)
    assert not holds("A[i]", undef, dtype)


def test_16_zero_times_what_is_there() -> None:
    """A value that is merely unknown: integers give 0, floats NaN where it is infinite, and -0.0."""
    assert holds("B[i] + 0 * A[i]", "B[i]", "int32")
    assert holds("B[i]", "B[i] + 0 * A[i]", "int32", definite=True)
    assert not holds("B[i]", "B[i] + 0 * A[i]", "int32")  # of arrays in which something may be undefined
    assert not holds("B[i] + T.float32(0) * A[i]", "B[i]", "float32")
    assert not holds("B[i]", "B[i] + T.float32(0) * A[i]", "float32")


# -- the RFC's use, as a schedule --------------------------------------------------------------------------------------

WEIGHTED = """
@T.prim_func
def f(A: T.Buffer((2, 14), "{dtype}"), B: T.Buffer((2,), "{dtype}")):
    for i in range(2):
        B[i] = T.{dtype}(0)
        for j in range(14):
            B[i] = B[i] + {factor} * A[i, j]
"""


def overcompute(pad: object) -> object:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=pad)
        s.sequential_buffer_access("A")
        s.remove_branching_through_overcompute()

    return steps


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_16_zero_times_undefined_padding_is_refused(dtype: str) -> None:
    program = WEIGHTED.format(dtype=dtype, factor=f"T.{dtype}(0)")
    refusal = refused(program, overcompute(T.undef()), "writes the bits that are there already")  # type: ignore[arg-type]
    assert "undefined after" in str(refusal)


def test_16_zero_times_padding_that_holds_a_value_is_accepted() -> None:
    for dtype in ("int32", "float32"):
        accepted(WEIGHTED.format(dtype=dtype, factor=f"T.{dtype}(0)"), overcompute(0))  # type: ignore[arg-type]
        accepted(WEIGHTED.format(dtype=dtype, factor=f"T.{dtype}(3)"), overcompute(0))  # type: ignore[arg-type]


def test_16_zero_times_infinite_padding_is_refused() -> None:
    program = WEIGHTED.format(dtype="float32", factor="T.float32(0)")
    refusal = refused(program, overcompute(float("inf")), "writes the bits that are there already")  # type: ignore[arg-type]
    assert "nan after" in str(refusal)


# -- undef where it decides --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "claim"),
    [
        ("A[T.undef('int32')] = 1", "in bounds"),
        ("B[0] = A[0 * T.undef('int32')]", "in bounds"),
        ("if T.undef('int32') > 0:\n        B[0] = 1", "a branch on undef"),
        ("for i in range(T.undef('int32')):\n        B[0] = 1", "a loop bound that is undef"),
        ("B[0] = A[0] // T.undef('int32')", "a divisor that is undef"),
        ("x = T.undef('int32')\n    B[x] = 1", "in bounds"),
    ],
)
def test_undef_decides_nothing(statement: str, claim: str) -> None:
    """The RFC forbids it in indices; it is undefined behaviour in all of these."""
    program = f"""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    {statement}
"""
    with pytest.raises(Refuted) as refusal:
        Schedule(program)
    assert "undef" in str(refusal.value) and (claim in refusal.value.reason or "undef" in refusal.value.reason)
    arrays = {name: np.ones(4, np.int32) for name in "AB"}
    with pytest.raises(UndefinedBehaviour):
        run(parse_func(program), arrays)


LET = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    x: T.let[T.int32] = {value}
    B[0] = x - x
"""


def test_an_undef_that_has_a_name() -> None:
    """The RFC takes ``x - x`` for zero where a let holds the undef.  It may become zero; zero may not become that."""
    before, after = (parse_func(LET.format(value=v)) for v in ('T.undef("int32")', "7"))
    arrays = {name: np.ones(4, np.int32) for name in "AB"}
    assert not refines(run(before, arrays), run(after, arrays))
    assert refines(run(after, arrays), run(before, arrays))
    s = Schedule(before)
    (path, store), *_ = places(s.func.body, lambda x: isinstance(x, Store))
    assert isinstance(store, Store)
    zero = parse_func(LET.format(value="7").replace("x - x", "0"))
    assert isinstance(apply(rewritten(path, (0,), value_of(zero)[1]), s.theorem, PROVER), Refines)
    (path, store), *_ = places(Schedule(zero).func.body, lambda x: isinstance(x, Store))
    backwards = rewritten(path, (0,), store.value - store.value)  # type: ignore[attr-defined]
    assert isinstance(apply(backwards, reflexive(zero), PROVER), Refines)  # 0 - 0


# -- lowering: 25 and its neighbours -----------------------------------------------------------------------------------


def body(text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.strip("\n").splitlines())
    return f'@T.prim_func\ndef f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):\n{lines}'


def test_25_only_the_undefined_part_of_a_store_goes() -> None:
    """TVM removes the whole store; what is left here are the iterations, or the values, that are defined."""
    for choice in ("T.if_then_else", "T.Select"):
        text = f"for i in range(8):\n    B[i] = {choice}(i < 4, A[i], T.undef())"
        gives(body(text), RemoveStoreUndef(), "for i in range(8):\n    if i < 4:\n        B[i] = A[i]")
        text = f"for i in range(8):\n    B[i] = {choice}(i < 4, T.undef(), A[i])"
        gives(body(text), RemoveStoreUndef(), "for i in range(8):\n    if i >= 4:\n        B[i] = A[i]")


def test_25_a_part_within_a_value_stays() -> None:
    """``1 + select(c, x, undef)`` is not a store of a choice: it is left as it is, whole."""
    text = 'for i in range(8):\n    B[i] = 1 + T.if_then_else(i < 4, A[i], T.undef(dtype="int32"))'
    gives(body(text), RemoveStoreUndef(), text)


def test_25_a_named_undef_goes_with_its_stores() -> None:
    text = """
for i in range(8):
    x: T.let[T.int32] = T.undef()
    A[i] = x + 1
    B[i] = 3
"""
    gives(body(text), RemoveStoreUndef(), "for i in range(8):\n    B[i] = 3")


def test_a_store_of_undef_that_fills_nothing_is_no_licence_to_forget_others() -> None:
    """The store before it is dead; the element is undefined afterwards, and leaving it as it was is allowed."""
    text = "B[0] = A[0]\nB[0] = T.undef()\nA[1] = 2"
    gives(body(text), RemoveStoreUndef(), "B[0] = A[0]\nA[1] = 2")


def test_assumptions_go_where_nothing_rests_on_them() -> None:
    text = """
T.assume(A[0] == T.undef())
for i in range(8):
    T.assume(i < 6 or A[i] == 0)
B[0] = A[0]
"""
    assert gives(body(text), RemoveAssume(), "B[0] = A[0]") == []
