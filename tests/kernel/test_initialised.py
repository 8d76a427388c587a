"""Initialised blocks: what may be branched on after stores of loaded values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.kernel.programs import PROVER, program, why
from tests.nightly import few
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.logic.solver import Solver
from verified_tir.search import facts as searched
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

FLOATS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((8,), "int32")'
LOCAL = 't = T.alloc_buffer((8,), "float32")\n'


def meaning(body: str) -> str:
    """Why a program has no meaning on defined inputs, as far as the kernel can tell; empty if it has one."""
    found = verify_program(program(body, FLOATS), PROVER)
    return why(found) if isinstance(found, (NoMatch, Unproved)) else ""


def test_an_element_may_come_from_another_one() -> None:
    text = "for j in range(4):\n    if B[j // 2] > T.float32(0):\n        B[j] = B[j] + B[3] * {}"
    assert meaning(text.format("A[j]")) == ""
    assert meaning(text.format("B[j + 1]")) == ""
    undef = text.format('T.undef("float32")')
    assert meaning(undef) == "safety: B[j // 2] > T.float32(0.0): a branch on undef (Refuted)"
    assert meaning(undef.replace("j // 2", "2 * j")) == ""  # no earlier iteration wrote that one


def test_two_blocks_at_once() -> None:
    text = "for j in range(4):\n    if B[j] > T.float32(0):\n        A[j + 1] = B[j]\n"
    text += "    if A[j] > T.float32(0):\n        {}"
    assert meaning(text.format("B[j + 1] = A[j + 2]")) == ""
    spoiled = LOCAL + text.format("B[j + 1] = t[j]")
    assert meaning(spoiled) == "safety: B[j] > T.float32(0.0): a branch on undef (Refuted)"
    # one block is lost, and with it what is copied from it; the third one stays
    lost = (
        LOCAL
        + "for j in range(4):\n    A[j] = t[j]\n    B[j] = A[j]\n    C[j] = C[j + 1]\n    if {} > 0:\n        pass"
    )
    assert meaning(lost.format("C[j]")) == ""
    assert meaning(lost.format("B[j]")).endswith("a branch on undef (Refuted)")


def test_what_is_known_in_a_branch_is_not_known_outside_of_it() -> None:
    text = "B[0] = T.if_then_else(C[0] > 0, A[0], T.undef('float32'))\n"
    text += "if C[0] > 0:\n    if B[0] > T.float32(0):\n        C[1] = 1\n"
    assert meaning(text) == ""
    branch = "if B[0] > T.float32(0):\n    C[2] = 1"
    assert meaning(text + branch) == "safety: B[0] > T.float32(0.0): a branch on undef (Refuted)"


@pytest.mark.parametrize(
    "stored",
    [
        "B[0] = T.if_then_else(C[0] > 0, A[0], {})\n",
        "for j in range(8):\n    B[j] = T.if_then_else(C[0] > 0, B[7 - j], {})\n",
        "for j in range(8):\n    B[j] = B[7 - j] + T.if_then_else(C[1] > 0, A[0], {})\n",
    ],
)
def test_what_is_known_in_one_branch_is_not_known_in_the_other(stored: str) -> None:
    """The same memory, looked at from both: what is remembered is of one place."""
    text = (
        stored + "if C[0] > 0:\n" + "\nelse:\n".join(f"    if B[0] > T.float32(0):\n        C[{k}] = 1" for k in (1, 2))
    )
    assert meaning(text.format("A[1]")) == ""
    assert meaning(text.format('T.undef("float32")')) == "safety: B[0] > T.float32(0.0): a branch on undef (Refuted)"


ELSEWHERE = "for j in range(8):\n    B[j] = A[j] + B[7 - j]\n"
SOMETIMES = (
    "for j in range(4):\n    if C[0] > 0:\n        B[0] = B[j + 1]\n    B[j] = T.if_then_else(C[0] > 0, B[7 - j], {})\n"
)
PARTLY = "for j in range(4):\n    if j < {}:\n        B[j] = T.if_then_else(j < 2, B[1 - j], T.undef('float32'))\n"
LANES = "T.Select(T.Ramp(0, 1, 4) < T.Broadcast({}, 4), B[j + 1:j + 5], T.Broadcast(T.undef('float32'), 4))"
LANES = f"for j in range(4):\n    B[j:j + 4] = {LANES}\n"
LATER = "if B[0] > T.float32(0):\n    C[1] = 1\nB[2] = {}\n"
LABEL = "for j in range(8):\n    with T.block('label'):\n        B[j] = {}\n"
CALL = "for j in range(4):\n    {}\n    B[j] = B[j + 1]\n"


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        # of A, what it held when the statement began
        (ELSEWHERE + "A[2] = T.undef('float32')\n", "A[2] = T.undef('float32')\n" + ELSEWHERE),
        # what was supposed meanwhile is not supposed afterwards
        (ELSEWHERE + LATER.format("A[2]"), ELSEWHERE + LATER.format("T.undef('float32')")),
        # on the way to one store is not on the way to the next one
        (SOMETIMES.format("A[j]"), SOMETIMES.format("T.undef('float32')")),
        # on the way to the store itself it is
        (PARTLY.format(2), PARTLY.format(3)),
        # every lane, and no more of them
        (LANES.format(4), LANES.format(3)),
        # labels are not blocks that run in some other way than they stand there
        (LABEL.format("B[7 - j]"), LABEL.format("B[7 - j] * T.undef('float32')")),
        # after a call, too, as long as it touches nothing
        (CALL.format("C[j] = 1"), CALL.format("T.evaluate(T.call_extern('int32', 'g'))")),
    ],
)
def test_where_each_store_is_looked_at(good: str, bad: str) -> None:
    branch = "if B[{}] > T.float32(0):\n    C[1] = 1"
    assert meaning(good + branch.format(0)) == ""
    assert meaning(bad + branch.format(2)) == "safety: B[2] > T.float32(0.0): a branch on undef (Refuted)"


def test_an_opaque_call_may_store_what_is_undefined() -> None:
    text = "for j in range(4):\n    {}\n    B[j] = A[j]\nif B[0] > T.float32(0):\n    C[1] = 1"
    assert meaning(text.format("C[j] = 1")) == ""
    assert "a branch on undef" in meaning(text.format("T.evaluate(T.call_extern('int32', 'g'))"))


def test_other_blocks_are_looked_up_meanwhile() -> None:
    """What is remembered of A rests on no hypothesis; that about B goes on holding."""
    text = "for j in range(4):\n    B[j] = A[j] + B[7 - j] * A[j + 1]\nif B[0] > T.float32(0):\n    C[1] = 1"
    assert meaning(text) == ""
    assert "a branch on undef" in meaning(LOCAL + text.replace("A[j + 1]", "t[j]"))


def test_what_went_through_a_local_buffer() -> None:
    text = LOCAL + "for j in range(4):\n    if B[j] > T.float32(0):\n        t[j] = B[j + 1]\n        B[j + 1] = t[{}]"
    assert meaning(text.format("j")) == ""
    assert meaning(text.format("j + 1")).endswith("a branch on undef (Refuted)")


def test_what_a_let_holds_was_loaded_earlier() -> None:
    text = (
        "for i in range(3):\n    x: T.let[T.float32] = {}\n    B[i] = A[i]\n    if B[i + 1] > x:\n        B[i + 1] = x"
    )
    assert meaning(text.format("B[i + 2]")) == ""
    assert meaning(text.format('T.undef("float32")')).endswith("a branch on undef (Refuted)")


def test_what_was_stored_before_the_loop() -> None:
    text = "B[3] = {}\nfor j in range(4):\n    if B[j] > T.float32(0):\n        B[j] = B[j + 1]"
    assert meaning(text.format("A[2]")) == ""
    assert meaning(text.format('T.undef("float32")')).endswith("a branch on undef (Refuted)")
    loop = "for i in range(4):\n    B[i] = {}\n" + text.format("A[2]")
    assert meaning(loop.format("A[i] + B[i + 1]")) == ""
    assert meaning(loop.format('T.undef("float32")')).endswith("a branch on undef (Refuted)")


def test_a_cast_may_be_undefined() -> None:
    text = "for j in range(4):\n    C[j] = {}\nfor j in range(4):\n    if C[j] > 0:\n        C[j] = C[j + 1]"
    assert meaning(text.format("C[j + 2]")) == ""
    assert meaning(text.format('T.Cast("int32", B[j])')).endswith("a branch on undef (Refuted)")


def test_a_block_seen_at_two_types_is_not_looked_at() -> None:
    text = "{}for j in range(4):\n    A[j] = A[j + 1]\n    if {} > 0:\n        pass"
    assert meaning(text.format("", "A[j]")) == ""
    view = 'V = T.decl_buffer((8,), "int32", data=A.data)\n'
    assert meaning(text.format(view, "V[j]")).endswith("a branch on undef (Refuted)")  # a NaN has no bits


def test_vectors_and_while_loops() -> None:
    lanes = "for j in range(4):\n    B[j:j + 4] = {}\n    if B[j] > T.float32(0):\n        B[j] = B[j + 1]"
    assert meaning(lanes.format("A[j:j + 4]")) == ""
    assert meaning(lanes.format('T.Broadcast(T.undef("float32"), 4)')).endswith("a branch on undef (Refuted)")
    text = "for j in range(4):\n    while B[j] > T.float32(0):\n        B[j] = {} - T.float32(1)"
    assert meaning(text.format("B[j + 1]")) == ""
    assert meaning(LOCAL + text.format("t[j]")).endswith("a branch on undef (Refuted)")


def test_an_opaque_call_may_store_anything() -> None:
    text = "for j in range(4):\n    {}B[j] = B[j + 1]\n    if B[j] > T.float32(0):\n        pass"
    assert meaning(text.format("")) == ""
    assert meaning(text.format('T.evaluate(T.call_extern("int32", "g"))\n    ')).endswith("a branch on undef (Refuted)")


# ------------------------------------------------------------------------------------------------------ random programs

Draw = Callable[[st.SearchStrategy[Any]], Any]
NAMES = ("X", "Y", "t")
_serial = itertools.count()


def _index(draw: Draw, loops: list[str]) -> str:
    return str(draw(st.sampled_from([*loops, *loops, *(f"({v} + 1) % 4" for v in loops), "0", "3"])))


def _value(draw: Draw, loops: list[str]) -> str:
    name = draw(st.sampled_from(("X", "Y", "X", "Y", "t")))
    loaded = f"{name}[{_index(draw, loops)}]"
    form = draw(st.sampled_from(("v", "v", "v + v", "if", "1", "undef")))
    match form:
        case "undef":
            return 'T.undef("int32")' if draw(st.integers(0, 3)) == 0 else loaded
        case "if":
            return f"T.if_then_else({loaded} > 0, {loaded}, X[{_index(draw, loops)}])"
        case _:
            return str(form.replace("v", loaded))


def _statements(draw: Draw, loops: list[str], depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(("store", "store", "for", "if", "let"))) if depth else "store"
        inner = [f"    {line}" for line in _statements(draw, loops, depth - 1)] if kind == "if" else []
        match kind:
            case "for":
                v = f"i{len(loops)}"
                body = _statements(draw, [*loops, v], depth - 1)
                lines += [f"for {v} in range({draw(st.sampled_from((2, 4)))}):", *(f"    {line}" for line in body)]
            case "if":
                lines += [f"if {draw(st.sampled_from(NAMES[:2]))}[{_index(draw, loops)}] > 0:", *inner]
            case "let":
                x = f"x{next(_serial)}"
                lines.append(f"{x}: T.let[T.int32] = {_value(draw, loops)}")
                lines.append(f"{draw(st.sampled_from(NAMES))}[{_index(draw, loops)}] = {x}")
            case _:
                lines.append(f"{draw(st.sampled_from(NAMES))}[{_index(draw, loops)}] = {_value(draw, loops)}")
    return lines


@st.composite
def branching_programs(draw: Draw) -> PrimFunc:
    """Copies between two arguments and a local buffer, and branches on what they hold."""
    lines = ['t = T.alloc_buffer((4,), "int32")', *_statements(draw, [], 3)]
    return program("\n".join(lines), 'X: T.Buffer((4,), "int32"), Y: T.Buffer((4,), "int32")')


@pytest.mark.nightly
def test_programs_that_are_accepted_have_a_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted: list[PrimFunc] = []
    solver = Solver(budget=300_000)

    def verified(func: PrimFunc) -> bool:
        return isinstance(verify_program(func, Prover(solver)), tuple)

    @settings(
        max_examples=few(60, 150),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(branching_programs())
    def search(func: PrimFunc) -> None:
        if not verified(func):
            return
        accepted.append(func)
        for k in range(6):
            rng = np.random.default_rng(k)
            arrays = {name: rng.integers(-2, 3, 4).astype(np.int32) for name in ("X", "Y")}
            try:
                run(func, arrays)
            except UndefinedBehaviour as ub:
                raise AssertionError(f"{script(func)}\n{ub} on {arrays}") from ub

    def only_so() -> int:
        with monkeypatch.context() as patch:
            patch.setattr(searched, "is_initialised", lambda *_: False)
            return sum(not verified(func) for func in accepted)

    search_until(lambda: len(accepted) >= few(20, 40) and only_so() >= few(2, 5), search)
    assert len(accepted) >= few(20, 40)
    assert only_so() >= few(2, 5), "few of these programs need to know of whole blocks"
