"""What is guessed of invariants is proved, or is not used."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, accepted, program, refused
from tests.kernel.test_facts import known
from tests.kernel.test_initialised import meaning
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.sugar import const
from verified_tir.kernel.begin import begin
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.induction import DEFINED, speaks_of_one_element, value_of
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term, integer
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten
from verified_tir.search import facts as search

PARAMS = 'B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32")'
INDEXED = """
A = T.alloc_buffer((1,), "int32")
A[0] = 0
for i in range(8):
    if X[i] > 0:
        A[0] = T.max(A[0], i)
B[T.min(A[0] - {}, 7)] = 1
"""


def guessed(monkeypatch: pytest.MonkeyPatch, *formulas: object) -> None:
    """Let these be the only properties that are tried; each may be a function of the value and of definedness."""

    def properties(value: Term, defined: Term, _: bool) -> list[tuple[str, object]]:
        return [("is so", x(value, defined) if callable(x) else x) for x in formulas]

    monkeypatch.setattr(search, "properties", properties)


def test_a_formula_about_an_iteration_is_no_property() -> None:
    """``A[0] == k`` is kept by the store of each iteration k, and says of all others what is false."""
    value, k = value_of(f.INT), f.var("k", f.INT)
    three = f.eq(value, f.integer(3))
    for said in (f.implies(DEFINED, f.eq(value, k)), f.app("g", (value,), f.BOOL), value_of(f.BOOL), value, None,
                 three, f.implies(three, DEFINED), f.or_(f.not_(DEFINED), three)):  # fmt: skip
        assert not speaks_of_one_element(said, f.INT)
    for said in (f.implies(DEFINED, f.eq(value, f.integer(3))), f.TRUE, DEFINED):
        assert speaks_of_one_element(said, f.INT)


@pytest.mark.parametrize("nonsense", [1, "defined", None, f.integer(1), f.FALSE])
def test_what_is_no_property_does_no_harm(monkeypatch: pytest.MonkeyPatch, nonsense: object) -> None:
    guessed(monkeypatch, nonsense)
    found = verify_program(program(INDEXED.format(1), PARAMS), Prover(PROVER.solver))
    assert isinstance(found, Unproved) and found.obligation.name == "safety", "A[0] may be negative"


def test_a_false_property_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    for false in (lambda v: f.between(f.integer(0), v, f.integer(8)), lambda v: f.eq(v, f.integer(3))):
        guessed(monkeypatch, lambda v, d, said=false: f.implies(d, said(v)))
        found = verify_program(program(INDEXED.format(1), PARAMS), Prover(PROVER.solver))
        assert isinstance(found, (NoMatch, Unproved))


def test_a_guess_decides_what_is_proved_and_not_what_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(verify_program(program(INDEXED.format(0), PARAMS), PROVER), tuple)
    guessed(monkeypatch)
    assert isinstance(verify_program(program(INDEXED.format(0), PARAMS), Prover(PROVER.solver)), (NoMatch, Unproved))


@pytest.mark.parametrize(("most", "fine"), [(3, True), (4, True), (5, False)])
def test_iterations_that_came_before_keep_it(monkeypatch: pytest.MonkeyPatch, most: int, *, fine: bool) -> None:
    """Those before i store 1 as long as i is at most 3; the one at 3 stores 2."""
    params = 'B: T.Buffer((4,), "int32"), C: T.Buffer((16,), "int32")'
    guessed(monkeypatch, lambda v, d: f.implies(d, f.eq(v, f.integer(1))))
    text = f"B[0] = 1\nfor i in range(9):\n    if i < {most}:\n        C[i] = B[0]\n    B[0] = T.Select(i < 3, 1, 2)"
    rule = rewritten((1, 0, 0, 0), (0,), const(1))
    accepted(program(text, params), rule) if fine else refused(program(text, params), rule, "1 equals B[0] (Refuted)")


def test_what_is_supposed_of_an_element_is_not_supposed_at_another_type() -> None:
    """``V[4]`` at int16 is a half of ``t[2]``, which was never stored to."""
    text = "t = T.alloc_buffer((8,), 'int32')\nV = T.decl_buffer({}, data=t.data)\nt[4] = 1\n"
    text += "for i in range(4):\n    t[4] = t[4] + {}\nif t[4] > 0:\n    C[0] = 1"
    assert meaning(text.format("(4, 2), 'int32'", "V[2, 0]")) == ""
    assert meaning(text.format("(4, 2), 'int32'", "V[2, 1]")).endswith("a branch on undef (Refuted)")
    assert meaning(text.format("(16,), 'int16'", "T.Cast('int32', V[4])")).endswith("a branch on undef (Refuted)")


def test_on_the_way_to_one_store_is_not_on_the_way_to_another_one() -> None:
    text = "A[0] = 0\nfor i in range(4):\n    if X[0] > 0:\n        A[0] = T.max(A[0], 1)\n"
    text += "    A[0] = T.if_then_else(X[0] > 0, A[0], {})\nif A[0] >= 0:\n    B[0] = 1"
    assert known(text.format(1))
    assert not known(text.format(-1))


def test_what_was_loaded_in_an_iteration_had_the_property_too() -> None:
    text = "A[0] = {}\nfor i in range(8):\n    x: T.let[T.int32] = A[0]\n    A[0] = T.max(X[i], 0)\n    A[0] = x\n"
    text += "if A[0] >= 0:\n    B[0] = 1"
    assert known(text.format(0))
    assert not known(text.format(-1))


@pytest.mark.parametrize(("stored", "expected"), [("k", True), ("A[0]", False), ("T.max(A[0], k)", False)])
def test_the_store_since_which_a_property_holds_supposes_nothing(stored: str, *, expected: bool) -> None:
    f = program(f"for k in range(3):\n    A[0] = {stored}", 'A: T.Buffer((8,), "int32")')
    where = begin(f, Entry())
    where.execute(f.body)
    element = where.load_from(where.memory, f.buffers[0], (integer(0),), None)
    here = Prover(Solver()).known(where, ())
    assert bool(here.invariant(element, "is defined", DEFINED, 0)) is expected
