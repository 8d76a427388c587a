"""What once decided a verdict and is not the program's meaning: names, views, an object of somebody else's, an order.

Each case was accepted by an earlier kernel and changes a result; beside it stands the nearest legal step.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import pytest

from tests.kernel.programs import take
from verified_tir import Schedule, ScheduleError, build
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import TRUE, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.script import ScriptError, parse_func
from verified_tir.ir.stmt import Block, Seq, Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import rewrite
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.step import Rewrite
from verified_tir.kernel.theorem import Refines, apply, licensed, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.semantics.interpreter import ArgumentError, run

PROVER = Prover(Solver())


def schedule(body: str, params: str = 'B: T.Buffer((1,), "float32"), D: T.Buffer((1,), "int32")') -> Schedule:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return Schedule(f"@T.prim_func\ndef f({params}):\n{lines}\n", cache=False)


def refusal(step: Any) -> str:
    with pytest.raises(ScheduleError) as refused:
        step()
    return str(refused.value)


# -- 1, 2, 4: bits that were used, and the name under which a reduction is licensed ------------------------------------

PRODUCT = """
{declared}{name}[0] = 0.0
for i, j in T.grid(2, 2):
    {name}[0] = {name}[0] * T.float32(1e30)
if {name}[0] == T.float32(0.0):
    D[0] = 1
else:
    D[0] = 2
"""
"""0.0 in this order; NaN if the factors are multiplied first."""

VIEW = 'V = T.decl_buffer((1,), "float32", data=B.data)\n'
ODD_NAMES = ["B", "V", "B!x", "B@1", "!B", "(assert", "B.def", "Β", "", "a b"]


@pytest.mark.parametrize(("declared", "name"), [("", "B"), (VIEW, "V")])
def test_a_branch_decided_by_a_product_and_then_another_order(declared: str, name: str) -> None:
    s = schedule(PRODUCT.format(declared=declared, name=name))
    s.simplify()
    assert "D[0] = 2" not in s.script()
    assert "proved from the bits of a result" in refusal(lambda: s.rfactor("i", reassociate="B"))
    near = schedule(PRODUCT.format(declared=declared, name=name))
    near.rfactor("i", reassociate="B")
    near.simplify()
    assert "D[0] = 2" in near.script()


@pytest.mark.parametrize("name", ODD_NAMES)
def test_by_whatever_name(name: str) -> None:
    """A cache of the product, called so that a name cut at ``@`` or ``!`` is another one."""
    func = _renamed(schedule(PRODUCT.format(declared="", name="B")).func, name)
    theorem, block = reflexive(func), frozenset({func.buffers[0].data})
    decided = take(moves.decide((2,), True), theorem)
    assert isinstance(decided, Refines)
    found = licensed(decided, block, PROVER)
    assert isinstance(found, tuple) and found[0] == 0
    assert isinstance(licensed(theorem, block, PROVER), Refines)


@pytest.mark.parametrize("name", ["C_local", "!B", "B!x", "C@1"])
def test_a_cache_by_whatever_name(name: str) -> None:
    """What a cache holds is what the buffer would: its licence is that of the program as written."""
    text = """
for i in range(2):
    with T.block("C"):
        vi = T.axis.reduce(2, i)
        with T.init():
            B[0] = T.float32(0)
        B[0] = B[0] + A[vi]
if B[0] == B[0] - T.float32(0):
    D[0] = 1
else:
    D[0] = 2
"""
    params = 'A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "float32"), D: T.Buffer((1,), "int32")'
    s = schedule(text, params)
    cached = s.cache_write("C", 0, "local", name=name) if "name" in signature(s.cache_write).parameters else None
    s.rfactor("i", reassociate="B")
    assert [b.name for b in s.func.buffers] == ["A", "B", "D"] and (cached is None or s.theorem.reassociated)


def _renamed(func: PrimFunc, name: str) -> PrimFunc:
    """The program with the buffer B called otherwise, its block too."""
    old = func.buffers[0]
    data = Var.fresh(name, old.data.type)
    new = Buffer(name, data, old.dtype, old.shape, old.strides, old.elem_offset, old.axis_separators)

    def go(n: Node) -> Node | None:
        if n is old.data:
            return data
        return new if isinstance(n, Buffer) and n.data is data else None

    return rewrite(func, go)


def test_however_types_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What shows them to people is not trusted: views of two types stay two."""
    text = """
t = T.alloc_buffer((4,), "int32")
v = T.decl_buffer((4,), "uint32", data=t.data)
t[0] = -1
D[0] = t[0] + T.Cast("int32", v[0] // T.uint32(2))
"""
    func = schedule(text).func
    at_other_type = rewritten((0, 0, 1), (0,), const(-2))
    assert isinstance(take(at_other_type, reflexive(func)), Unproved)
    monkeypatch.setattr(DType, "__repr__", lambda self: "int")
    refusal = take(at_other_type, reflexive(func), Prover(Solver()))
    assert isinstance(refusal, Unproved)


def test_the_word_names_a_block_and_not_a_view() -> None:
    """A view called B over C: the theorem must not say that B's bits may differ."""
    text = """
B = T.decl_buffer((4,), "float32", data=C.data)
B[0] = T.float32(0)
for i in range(4):
    B[0] = B[0] + A[i]
"""
    params = 'A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")'
    s = schedule(text, params)
    assert "into C, not into 'B'" in refusal(lambda: s.rfactor("i", reassociate="B"))
    s.rfactor("i", reassociate="C")
    assert any("into C may" in a for a in s.assumptions)


GUARDED = """
if B[0] == T.float32(0.0):
    for k in range(2):
        B[0] = B[0] * T.float32({factor})
"""


def test_what_a_guard_says_of_a_sum_is_not_used_of_its_terms() -> None:
    """Where B is 0.0 a factor is as good as any other; two of 1e308 are not, once they are multiplied first."""
    func = schedule(GUARDED.format(factor=5)).func
    load = func.body.then_body.body.value.a  # type: ignore[attr-defined]
    other = binary("mul", load, const(1e38, "float32"))
    theorem = reflexive(func)
    restated = apply(rewritten((0, 0), (0,), other), theorem, PROVER)
    if isinstance(restated, Refines):  # true of the bits in this order
        found = licensed(restated, frozenset({func.buffers[0].data}), PROVER)
        assert isinstance(found, tuple) and found[0] == 0
    fine = apply(rewritten((0, 0), (0,), binary("mul", const(5.0, "float32"), load)), theorem, PROVER)
    assert isinstance(fine, Refines)
    assert isinstance(licensed(fine, frozenset({func.buffers[0].data}), PROVER), Refines)


def test_a_store_of_the_bits_that_are_there_is_a_term_all_the_same() -> None:
    """``B * 5`` is B where B is 0.0; as one term more of a product it is not."""
    func = schedule(GUARDED.format(factor=5)).func
    b = func.buffers[0]
    block = frozenset({b.data})
    inserted = Insert((0,), Store(b, binary("mul", b[0], const(7.0, "float32")), (const(0),)))
    first = apply(inserted, reflexive(func), PROVER)
    assert isinstance(first, Refines)
    found = licensed(first, block, PROVER)
    assert isinstance(found, tuple) and found[0] == 0
    neutral = Insert((0,), Store(b, binary("mul", b[0], const(1.0, "float32")), (const(0),)))
    second = apply(neutral, reflexive(func), PROVER)
    assert isinstance(second, Refines)
    assert isinstance(licensed(second, block, PROVER), Refines)


# -- 3: memory that threads share --------------------------------------------------------------------------------------

THREADS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'


@pytest.mark.parametrize(("block", "view"), [("shared", "local"), ("local", "shared"), ("global", "local")])
def test_a_view_has_the_scope_of_its_block(block: str, view: str) -> None:
    text = f"""
X = T.alloc_buffer((1,), "float32", scope="{block}")
V = T.decl_buffer((1,), "float32", data=X.data, scope="{view}")
for t in T.thread_binding(8, thread="threadIdx.x"):
    V[0] = A[t]
    B[t] = V[0]
"""
    with pytest.raises(ScriptError, match=f"scope.*{block}"):
        schedule(text, THREADS)
    x = Buffer.declare("X", (1,), scope=block)
    with pytest.raises(IRError, match="view"):
        Buffer.declare("V", (1,), data=x.data, scope=view)
    assert Buffer.declare("V", (1,), data=x.data).scope == block


MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def g(X: T.Buffer((1,), "float32"), A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), t: T.int32):
        X[0] = A[t]
        B[t] = X[0]

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            X = T.alloc_buffer((1,), "float32", scope="{scope}")
            M.g(X.data, A.data, B.data, t)
"""


def test_memory_that_is_passed_stays_where_it_is() -> None:
    """All threads meet in X[0], though the parameter of g states no scope."""
    assert "write the same element of X" in refusal(lambda: Schedule(MODULE.format(scope="shared"), name="main"))
    assert Schedule(MODULE.format(scope="local"), name="main").func.name == "main"


# -- 5: objects from outside -------------------------------------------------------------------------------------------

SIMPLE = parse_func('@T.prim_func\ndef f(B: T.Buffer((1,), "int32")):\n    B[0] = 1\n')
OTHER = parse_func('@T.prim_func\ndef f(B: T.Buffer((1,), "int32")):\n    B[0] = 2\n')
NAMED = Same((), Block.label("b", SIMPLE.body))


@dataclass(frozen=True)
class AnyRule:
    """Something with a method ``rewrite``."""

    def rewrite(self, before: PrimFunc, entry: object) -> Rewrite:
        return Rewrite(OTHER, ())


def test_a_rule_is_one_of_the_kernels() -> None:
    theorem = reflexive(SIMPLE)
    refused = apply(AnyRule(), theorem, PROVER)  # type: ignore[arg-type]
    assert isinstance(refused, NoMatch) and "rule" in refused.reason
    assert isinstance(apply(NAMED, theorem, PROVER), Refines)


def test_a_subclass_of_a_rule_is_none() -> None:
    class Evil(Same):  # type: ignore[misc]
        def rewrite(self, before: PrimFunc, entry: object) -> Any:
            return Rewrite(OTHER, ())

    refused = apply(Evil((), OTHER.body), reflexive(SIMPLE), PROVER)
    assert isinstance(refused, NoMatch)


class Yes:
    """Believes everything."""

    budget = 1
    statistics = type("S", (), {"stored": 0})()
    store = None
    solver: Any = None

    def prove(self, *_: object, **__: object) -> object:
        return Proved(), ()

    def consistent(self, *_: object) -> bool:
        return True


class YesSolver(Solver):  # type: ignore[misc]
    def prove(self, *_: object, **__: object) -> Any:
        return Proved()


def test_the_prover_is_the_kernels() -> None:
    store = Solver(store=Yes())  # type: ignore[arg-type]
    for prover in (Yes(), Prover(Yes()), Prover(YesSolver()), Prover(store)):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            apply(NAMED, reflexive(SIMPLE), prover)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            verify_program(SIMPLE, prover)  # type: ignore[arg-type]
    for solver in (Yes(), YesSolver(), store):
        with pytest.raises(TypeError):
            Schedule(SIMPLE, solver=solver)  # type: ignore[arg-type]


class Lying(int):
    """Compares as it likes."""

    def __le__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


def test_fields_of_nodes_are_of_exactly_their_types() -> None:
    i32 = const(1).dtype
    assert type(IntImm(i32, Lying(5)).value) is int
    with pytest.raises(IRError):
        IntImm(i32, Lying(2**40))  # it says that it fits
    with pytest.raises(TypeError, match="closed set"):
        type("Mine", (IntImm,), {})
    with pytest.raises((IRError, TypeError)):
        Seq([])  # type: ignore[arg-type]


def test_theorems_are_not_made_copied_or_changed() -> None:
    import copy
    import pickle

    with pytest.raises(TypeError):
        Refines()
    empty = object.__new__(Refines)
    for use in (lambda: empty.after, lambda: apply(NAMED, empty, PROVER), lambda: build(empty)):
        with pytest.raises(TypeError):
            use()
    theorem = reflexive(SIMPLE)
    with pytest.raises(TypeError):
        pickle.dumps(theorem)
    assert copy.deepcopy(theorem) is theorem
    with pytest.raises(AttributeError):
        object.__setattr__(theorem, "_after", OTHER)
    assert theorem.after is SIMPLE

    class Fake:
        after = before = OTHER
        __class__ = Refines  # type: ignore[assignment]

    with pytest.raises(TypeError):
        build(Fake())  # type: ignore[arg-type]


def test_a_theorem_says_what_proved_it() -> None:
    made = apply(NAMED, reflexive(SIMPLE), PROVER)
    assert isinstance(made, Refines)
    assert any(said.startswith("z3 ") for said in made.proved_by) and "kept verdicts" not in made.proved_by


# -- 7: padding of outputs ---------------------------------------------------------------------------------------------


def test_padding_of_an_output_is_owed_and_not_given() -> None:
    s = schedule(
        "for i in range(14):\n    B[i] = A[i] + T.float32(1)",
        'A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")',
    )
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=0.0)
    s.remove_no_op()
    assert "B[io, ii] = T.float32(0.0)" in s.script()
    out = np.full((4, 4), 9, "float32")
    build(s)(np.ones(14, "float32"), out)
    assert out[3].tolist() == [2, 2, 0, 0]
    assert any("after; before it may be anything" in a for a in s.assumptions)
    assert "owes its padding" in refusal(lambda: s.assume_padding("B"))


def test_padding_of_an_input_is_given() -> None:
    s = schedule(
        "for i in range(14):\n    B[i] = A[i] + T.float32(1)",
        'A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")',
    )
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
    assert any("before and after" in a for a in s.assumptions)
    s.assume_padding("A")


# -- 12: extents of arrays that need not exist -------------------------------------------------------------------------


def test_extents_of_arrays_without_elements_are_checked() -> None:
    s = schedule(
        "if n >= 2147418108:\n    B[0] = 1\nelse:\n    B[0] = 2",
        'A: T.Buffer(("n + 5", 0), "float32"), B: T.Buffer((1,), "int32"), n: T.int32',
    )
    s.simplify()
    assert "B[0] = 1" not in s.script()
    out = np.zeros(1, "int32")
    too_many, fine = np.zeros((2147418115, 0), "float32"), np.zeros((8, 0), "float32")
    with pytest.raises(ArgumentError, match="the most is 2147418112"):
        run(s.func, {"A": too_many, "B": out, "n": 2147418110})
    compiled = build(s)
    with pytest.raises(ValueError, match="2147418112"):
        compiled(too_many, out, 2147418110)
    compiled(fine, out, 3)
    assert out[0] == 2


@pytest.mark.parametrize("wide", [False, True])
def test_a_layout_in_the_middle_owes_its_extents(wide: bool) -> None:
    """By a layout that is gone at the end nothing may be assumed: there may be no such array."""
    func = parse_func(
        '@T.prim_func\ndef f(A: T.Buffer((0,), "float32"), B: T.Buffer((1,), "int32"), k: T.int32):\n    B[0] = 1\n'
    )
    a, k = func.buffers[0], next(p for p in func.params if p.name == "k")
    extent = binary("max", k, const(0)) if wide else const(7)
    x, y, z = (Var.fresh(n) for n in "xyz")
    there = LayoutMap((x,), (x, const(0)), (y, z), (y,), (extent, const(0)), TRUE)
    middle = apply(Relayout(a, there, None), reflexive(func), PROVER)
    assert isinstance(middle, Refines)
    x, y, z = (Var.fresh(n) for n in "xyz")
    back = LayoutMap((x, y), (x,), (z,), (z, const(0)), (const(0),), TRUE)
    found = apply(Relayout(middle.after.buffers[0], back, None), middle, PROVER)
    if wide:
        assert isinstance(found, Unproved) and "is that of an array" in found.obligation.claim
    else:
        assert isinstance(found, Refines)


def test_what_an_annotation_holds_does_not_depend_on_what_was_asked_before() -> None:
    """``int | bool`` and ``bool | int`` are one type; True stays True."""
    from verified_tir.ir.exact import reader

    for hint in (int | bool | str, bool | int | str):
        assert reader(hint)(True) is True and reader(hint)(1) == 1 and type(reader(hint)(1)) is int
