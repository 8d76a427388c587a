"""What is proved of a program before any theorem, asked of the kernel itself and of whatever it is handed."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, buffer, load, program, store, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at, put
from verified_tir.ir.stmt import For
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import NoMatch
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved


def proved(func: PrimFunc, entry: Entry | None = None) -> bool:
    """Whether the program is proved to have a meaning; if it is not, no input satisfies its assumptions."""
    found = prove_program(func, PROVER, entry or Entry())
    if isinstance(found, NoMatch):
        assert found.reason == "its assumptions contradict each other: no input satisfies them"
    else:
        assert isinstance(found, tuple)
    return isinstance(found, tuple)


def test_nothing_is_proved_of_what_is_not_well_formed() -> None:
    """A loop variable that is bound again, by a loop that ended before, and a buffer that nobody declares."""
    f = program("for i in range(4):\n    A[i] = 1\nfor j in range(4):\n    B[j] = 2")
    first, foreign = at(f.body, (0,)), Buffer.declare("G", (4,), "int32")
    assert isinstance(first, For) and proved(f)
    again = For(first.var, const(0), const(4), store(buffer(f, "B"), 2, first.var))
    for stmt, wrong in ((again, "i is bound twice"), (store(foreign, 1, 0), "buffer G is not declared here")):
        found = prove_program(f.with_body(put(f.body, (1,), stmt)), PROVER, Entry())
        assert isinstance(found, NoMatch) and wrong in found.reason


def test_a_program_is_a_function_of_the_ir() -> None:
    f = program("A[0] = 1")

    class Alike:
        name, params, buffer_map, buffers, body, attrs = f.name, f.params, f.buffer_map, f.buffers, f.body, f.attrs

    for what in (Alike(), f.body):
        with pytest.raises(TypeError, match="a program is a PrimFunc, not a "):
            prove_program(what, PROVER, Entry())  # type: ignore[arg-type]


def test_only_the_prover_of_the_kernel_proves_it() -> None:
    class Credulous(Prover):
        def prove(self, *_: object) -> tuple[Proved, tuple[()]]:  # type: ignore[override]
            return Proved(), ()

    f = program("A[n] = 1", 'A: T.Buffer((4,), "int32"), n: T.int32')
    with pytest.raises(TypeError, match="by the kernel's own prover"):
        prove_program(f, Credulous(Solver()), Entry())


@pytest.mark.parametrize(("bound", "inputs"), [(0, False), (1, True)])
def test_arrays_that_were_passed_in_another_layout_have_no_negative_extent(bound: int, inputs: bool) -> None:
    """That of rows of four, which a program has now, says less: -3 elements need no row."""
    a = Buffer.declare("A", (variable(f := program(f"T.assume(-3 <= n and n < {bound})", ROWS), "n"),), "int32")
    assert proved(f)
    assert proved(f, Entry(shapes=(a,))) == inputs


ROWS = 'R: T.Buffer(((n + 3) // 4, 4), "int32"), n: T.int32'


@pytest.mark.parametrize(("last", "inputs"), [(6, False), (5, True)])
def test_padding_that_is_computed_from_definite_elements_is_definite(last: int, inputs: bool) -> None:
    """Nothing is known of ``A[1] + 0 * A[0]`` unless A[0] holds a value, which no assumption says."""
    f = program(f"T.assume(A[1] == 5)\nT.assume(A[7] == {last})", 'A: T.Buffer((8,), "int32")')
    a, x = buffer(f, "A"), Var.fresh("x")
    value: Expr = load(a, 1) + load(a, 0) * 0
    padding = Padding(a, (x,), binary("eq", x, 7), value)
    assert proved(f, Entry((padding,))) == inputs
