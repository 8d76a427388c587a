"""What is known of an element of a parameter, exactly: of its type, of declared padding, and of definite arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.kernel.programs import function, load, program, store
from tests.kernel.test_facts import known
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Select, Undef, Var
from verified_tir.ir.stmt import SKIP, Assume, DeclBuffer, For, Seq, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Element, Entry, Padding
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.solver import Solver
from verified_tir.search import facts as search
from verified_tir.semantics.encode import Encoded

i = Var.fresh("i")
UNDEF = Undef(const(0).dtype)
BEYOND = binary("ge", i, 5)
INT = "(and (<= (- 2147483648) {0}) (<= {0} 2147483647))"
AK = INT.format("(A k)")


def facts_about(
    where: Context, element: Element, prover: Prover | None = None, *, thorough: bool = False
) -> tuple[Term, ...]:
    """What is found out about an element."""
    known = (prover or Prover(Solver())).known(where, ())
    known.notes[search.THOROUGH] = thorough
    return search.about(known, element)


Pad = tuple[Expr, Expr | Callable[[Buffer], Expr] | None]


View = tuple[tuple[int, ...], str]


def about(*pads: Pad, dtype: str = "int32", view: View | None = None, definite: bool) -> list[str]:
    """Facts about ``A[k]`` where the function begins, or about ``V[k, l]`` of a view of A."""
    a = Buffer.declare("A", (8,), dtype)
    seen = a if view is None else Buffer.declare("V", *view, data=a.data)
    paddings = tuple(Padding(a, (i,), p, value(a) if callable(value) else value) for p, value in pads)
    other = Buffer.declare("B", (8,), "float32" if dtype == "int32" else "int32")
    func = function([other, a], SKIP if view is None else DeclBuffer(seen, SKIP))
    where = begin(func, Entry(paddings, definite=definite))
    indices = tuple(f.var(name, f.INT) for name in "kl"[: len(seen.shape)])
    element = where.load_from(where.memory, seen, indices, None)
    facts = [re.sub(r"@\d+", "", str(t)) for t in facts_about(where, element)]
    return [t for t in dict.fromkeys(facts) if t != "true"]


@pytest.mark.parametrize(
    ("pads", "facts", "of_definite"),
    [
        ((), [], "(A.def k)"),
        (((BEYOND, const(7)),), ["(=> (<= 5 k) (and (A.def k) (= (A k) 7)))"], "(A.def k)"),
        (((BEYOND, UNDEF),), ["(=> (<= 5 k) (not (A.def k)))"], "(or (A.def k) (<= 5 k))"),
        (((BEYOND, None),), ["(=> (<= 5 k) (not (A.def k)))"], "(or (A.def k) (<= 5 k))"),
        (  # as far as the padding's value is defined
            ((BEYOND, Select(i > 6, UNDEF, const(3))),),
            ["(=> (<= 5 k) (=> (ite (< 6 k) false true) (and (A.def k) (= (A k) (ite (< 6 k) undef 3)))))"],
            "(or (A.def k) (and (<= 5 k) (not (ite (< 6 k) false true))))",
        ),
        (  # a copy of another element, as the function finds it
            ((BEYOND, lambda a: load(a, i - 5)),),
            ["(=> (<= 5 k) (=> (A.def (+ k (- 5))) (and (A.def k) (= (A k) (A (+ k (- 5)))))))"],
            "(or (A.def k) (and (<= 5 k) (not (A.def (+ k (- 5))))))",
        ),
        (
            ((BEYOND, const(7)), (binary("lt", i, 2), UNDEF), (binary("eq", i, 3), None)),
            [
                "(=> (<= 5 k) (and (A.def k) (= (A k) 7)))",
                "(=> (< k 2) (not (A.def k)))",
                "(=> (= k 3) (not (A.def k)))",
            ],
            "(or (A.def k) (< k 2) (= k 3))",
        ),
    ],
)
def test_declared_padding(pads: tuple[Pad, ...], facts: list[str], of_definite: str) -> None:
    def plain(found: list[str]) -> list[str]:
        return [re.sub(r"undef!\d+", "undef", t) for t in found]

    assert plain(about(*pads, definite=False)) == [*facts, AK]
    assert plain(about(*pads, definite=True)) == [*facts, of_definite, AK]


def test_padding_of_floats() -> None:
    undefined = "(=> (<= 5 k) (not (A.def k)))"
    assert about((BEYOND, None), dtype="float32", definite=True) == [undefined, "(or (A.def k) (<= 5 k))"]
    assert about((BEYOND, None), dtype="float32", definite=False) == [undefined]


@pytest.mark.parametrize(
    ("dtype", "view", "facts"),
    [
        ("int32", ((2, 4), "int32"), ["(A:int32.def (+ (* 4 k) l))", INT.format("(A:int32 (+ (* 4 k) l))")]),
        ("int32", ((2, 4), "float32"), ["(A:float32.def (+ (* 4 k) l))"]),
        ("float32", ((2, 4), "float32"), ["(A:float32.def (+ (* 4 k) l))"]),
        ("float32", ((2, 4), "int32"), [INT.format("(A:int32 (+ (* 4 k) l))")]),  # a NaN has no bits
        ("bool", ((8,), "bool"), ["(A:bool1.def k)"]),
        ("int8", ((8,), "bool"), []),  # not every byte is a bool
        ("bool", ((8,), "int8"), ["(A:int8.def k)", "(and (<= (- 128) (A:int8 k)) (<= (A:int8 k) 127))"]),
    ],
)
def test_definite_arguments_through_views(dtype: str, view: View, facts: list[str]) -> None:
    assert about(dtype=dtype, view=view, definite=True) == facts


def test_of_padding_nothing_is_known_through_a_view() -> None:
    """Neither that it is there, nor that the rest is defined: an element of the view may be padding or not."""
    where = INT.format("(A:int32 (+ (* 4 k) l))")
    for value in (const(7), UNDEF, None):
        assert about((BEYOND, value), view=((2, 4), "int32"), definite=True) == [where]


def test_of_padding_of_what_has_a_view_nothing_is_known() -> None:
    """Elements have flat addresses there, and padding is declared by indices."""
    a = Buffer.declare("A", (2, 4), "int32")
    v = Buffer.declare("V", (8,), "int32", data=a.data)
    padding = Padding(a, (i, Var.fresh("j")), BEYOND, const(7))
    for viewed in (True, False):
        func = function([a], DeclBuffer(v, SKIP) if viewed else SKIP)
        where = begin(func, Entry((padding,), definite=True))
        indices = (f.var("k", f.INT), f.var("l", f.INT))
        facts = facts_about(where, where.load_from(where.memory, a, indices, None))
        assert (f.integer(7) in f.subterms(*facts)) is not viewed


def test_padding_is_what_stood_there_when_the_function_began() -> None:
    """Afterwards the element that it repeats may hold something else."""
    a = Buffer.declare("A", (8,), "int32")
    padding = Padding(a, (i,), BEYOND, load(a, i - 5))
    where = begin(function([a], SKIP), Entry((padding,)))
    element = where.load_from(where.memory, a, (f.var("k", f.INT),), None)
    where.execute(store(a, 3, 0))
    facts = facts_about(where, element)
    assert {t.payload for t in f.subterms(*facts) if t.op == "app" and t.sort == f.INT} == {element.value.payload}


def test_what_is_remembered_is_known_at_the_same_place_only() -> None:
    """The same element, of arguments that are definite or not, with more properties tried, and past an assumption."""
    text = "B[0] = 0.0\nfor j in range(4):\n    B[0] = T.if_then_else(A[j] > B[0], A[j], B[0])\n"
    text += "for j in range(4):\n    T.assume(A[j] > T.float32(0))"
    func = program(text, 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")')
    a, b = func.buffers
    where, definite, prover = begin(func, Entry()), begin(func, Entry(definite=True)), Prover(Solver())

    def differs(buffer: Buffer, change: Callable[[], None]) -> bool:
        element = where.load_from(where.memory, buffer, (f.integer(0),), None)
        kept = where.fork()
        before = facts_about(where, element, prover)
        assert (where.path, where.env, where.memory) == (kept.path, kept.env, kept.memory)
        change()
        kept = where.fork()
        after = facts_about(where, element, prover)
        assert (where.path, where.env, where.memory) == (kept.path, kept.env, kept.memory)
        return after != before

    first = where.load_from(where.memory, a, (f.integer(0),), None)
    same = definite.element(definite.memory[a.data], a, (f.integer(0),))
    assert facts_about(where, first, prover) == () != facts_about(definite, same, prover)
    assert isinstance(func.body, Seq)
    for s in func.body.stmts[:2]:
        where.execute(s)
    at_end = where.load_from(where.memory, b, (f.integer(0),), None)
    quickly = facts_about(where, at_end, prover)
    assert facts_about(where, at_end, prover, thorough=True) != quickly == facts_about(where, at_end, prover)
    later = seq(func.body.stmts[2], func.body.stmts[0])
    assert differs(a, lambda: where.execute(later))


def test_a_parameter_that_is_called_as_memory_is_is_none_of_its_elements() -> None:
    a = Buffer.declare("A", (8,), "int32")
    n = Var.fresh("n")
    where = begin(function([a, n], SKIP), Entry())
    element = where.load_from(where.memory, a, (f.var("k", f.INT),), None)
    where.env[n] = Encoded(f.var(str(element.value.payload), f.INT), f.TRUE, False)
    j = Var.fresh("j")
    where.execute(For(j, const(0), const(8), Assume(binary("gt", load(a, j), n)), "serial"))
    below = [t for t in facts_about(where, element) if "(< " in str(t)]
    assert len(below) == 1


SUMS = """
for i in range(7):
    X[0] = B[i]
    T.assume(A[i] + A[i + 1] == X[0])
if A[2] == A[4]:
    B[0] = 1
"""


def test_what_changes_while_it_is_assumed_is_told_apart() -> None:
    """A[2] + A[3] and A[3] + A[4] were equal to X[0], which was another number each time."""
    assert not known(SUMS)
    assert known(SUMS.replace("A[i] + A[i + 1] == X[0]", "A[i] == A[i + 1]").replace("A[4]", "A[3]"))
