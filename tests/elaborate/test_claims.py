"""Claims of blocks, one condition at a time: each false claim beside a true one that differs in little."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, program, take, why
from verified_tir.elaborate.claims import verify_program
from verified_tir.elaborate.meaning import has_meaning
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Block, For, seq
from verified_tir.ir.visit import nodes_of, refresh_binders
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Outcome, Question, Unproved, discharge
from verified_tir.kernel.theorem import reflexive
from verified_tir.logic.verdict import Obligation, Unknown
from verified_tir.schedule import moves
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'

AXES = """
for i, k in T.grid(2, 2):
    with T.block("b"):
        v = T.axis.spatial(2, i)
        w = T.axis.{kind}(2, {value})
        {store}
"""
LABEL = """
for i in range(2):
    with T.block("label"):
        A[i] = 0
        for j in range(2):
            with T.block("b"):
                w = T.axis.spatial(2, j)
                {}
"""
ARMS = """
if X[0] > 0:
    for i in range(2):
        with T.block("yes"):
            v = T.axis.spatial(2, i)
            B[v] = 1
else:
    for i in range(2):
        with T.block("no"):
            v = T.axis.spatial(2, i)
            {}
"""
INIT = """
X[0] = {before}
for i in range(2):
    with T.block("outer"):
        v = T.axis.opaque(2, i)
        with T.init():
            X[0] = {init}
        with T.block("inner"):
            w = T.axis.opaque(1, X[0])
            B[w] = 1
        X[0] = {after}
"""
IN_INIT = """
X[0] = {before}
with T.block("outer"):
    v = T.axis.spatial(1, 0)
    with T.init():
        with T.block("inner"):
            w = T.axis.opaque(1, X[0])
            X[0] = 0
    B[v] = 1
"""
ONE = """
for i in range({extent}):
    with T.block("b"):
        {axis}
        {body}
"""
TWO = """
if n >= 0:
    for i in range(2):
        for j in range(n):
            with T.block("first"):
                v = T.axis.spatial(2, i)
                w = T.axis.opaque(n, j)
                A[v] = w
        with T.block("second"):
            x = T.axis.spatial(2, i)
            B[x * {}] = 1
"""
"""With n = 0 both instances of the second block store to B[0]."""
AFTER = """
X[0] = 0
with T.block("a"):
    v = T.axis.spatial(1, 0)
    X[v] = {}
with T.block("b"):
    w = T.axis.opaque(1, X[0])
    B[w] = 1
"""
LET = """
for i in range(4):
    x: T.let[T.int32] = {}
    with T.block("b"):
        v = T.axis.spatial(4, x)
        B[v] = i
"""
LOOKED_UP = """
X[0] = 0
with T.block("b"):
    v = T.axis.spatial(1, 0)
    T.{claim}
    {place} = 5
    B[X[0]] = A[X[0]]
"""


def one(body: str, axis: str = "v = T.axis.spatial(4, i)", extent: int = 4) -> str:
    return ONE.format(extent=extent, axis=axis, body=body.replace("\n", "\n        "))


CASES = {
    "instances that differ in both": (
        AXES.format(kind="reduce", value="k", store="B[v + w] = B[v + w] + A[v]"),
        "differ only in reduction axes",
        AXES.format(kind="reduce", value="k", store="B[v] = B[v] + A[v + w]"),
    ),
    "an opaque axis does not free the others": (
        AXES.format(kind="opaque", value="k", store="B[v + w] = A[v]"),
        "differ only in reduction axes",
        AXES.format(kind="opaque", value="k", store="B[v] = A[v + w]"),
    ),
    "an opaque axis need not differ, a reduction must": (
        AXES.format(kind="reduce", value="0", store="B[v] = B[v] + A[k]"),
        "differ only in reduction axes",
        AXES.format(kind="opaque", value="0", store="B[v] = B[v] + A[k]"),
    ),
    "loops around a label count": (LABEL.format("B[w] = i"), "block b: instances", LABEL.format("B[2 * i + w] = i")),
    "each arm has its own condition": (ARMS.format("B[0] = v"), "block no: instances", ARMS.format("B[v] = v")),
    "the initialisation has run before the body": (
        INIT.format(before=0, init=5, after=0),
        "the binding of w lies in its domain",
        INIT.format(before=5, init=0, after=5),
    ),
    "and not before itself": (
        IN_INIT.format(before=5),
        "the binding of w lies in its domain",
        IN_INIT.format(before=0),
    ),
    "the initialisation stores, too": (
        one("with T.init():\n    X[0] = 0\nB[v] = A[v]"),
        "block b: instances that meet in X",
        one("with T.init():\n    X[v] = 0\nB[v] = A[v]"),
    ),
    "the predicate limits the bindings": (
        one("B[v] = 1", extent=5),
        "the binding of v lies in its domain",
        one("T.where(v < 4)\nB[v] = 1", extent=5),
    ),
    "blocks without axes promise nothing of their instances": (
        one("T.writes(B[1:8])\nB[0] = i", axis="pass"),
        "writes only what it declares of B",
        one("T.writes(B[0:8])\nB[0] = i", axis="pass"),
    ),
    "the predicate tells instances apart": (
        one("B[v] = B[v] + 1", axis="v = T.axis.spatial(4, i % 4)", extent=5),
        "block b: instances",
        one("T.where(i < 4)\nB[v] = B[v] + 1", axis="v = T.axis.spatial(4, i % 4)", extent=5),
    ),
    "that one loop of two has iterations says nothing of the other block": (
        TWO.format("T.min(n, 1)"),
        "block second: instances",
        TWO.format("1"),
    ),
    "an instance that runs twice knows of no loop": (
        one("B[v] = i", axis="v = T.axis.spatial(4, i % 4)", extent=5),
        "block b: instances",
        one("B[v] = v", axis="v = T.axis.spatial(4, i % 4)", extent=5),
    ),
    "nor does what it stores come from what it stored": (
        one("B[v] = B[v] + A[v]", axis="v = T.axis.spatial(4, i % 4)", extent=5),
        "block b: instances",
        one("B[v] = A[v]", axis="v = T.axis.spatial(4, i % 4)", extent=5),
    ),
    "nor does it call what nobody knows": (
        one("B[0] = A[v]\nT.evaluate(T.call_extern('int32', 'g'))"),
        "block b: instances that meet in B",
        one("B[v] = A[v]\nT.evaluate(T.call_extern('int32', 'g'))"),
    ),
    "a block without axes that names one region names all": (
        one("T.reads(A[0])\nT.writes()\nB[0] = A[0]", axis="pass"),
        "writes only what it declares of B",
        one("T.reads()\nT.writes()\nB[0] = A[0]", axis="pass"),
    ),
    "a view of another region": (
        one("T.reads()\nT.writes(A[v])\nw = T.match_buffer(B[v], (), 'int32')\nw[()] = 1"),
        "writes only what it declares of w",
        one("T.reads()\nT.writes(B[v])\nw = T.match_buffer(B[v], (), 'int32')\nw[()] = 1"),
    ),
    "what is written meanwhile is read anew, of writes": (
        LOOKED_UP.format(claim="writes(B[0:1], X[0:2])", place="X[0]"),
        "writes only what it declares of B",
        LOOKED_UP.format(claim="writes(B[0:1], A[0:2])", place="A[1]"),
    ),
    "what an earlier block stored is there": (
        AFTER.format(5),
        "the binding of w lies in its domain",
        AFTER.format(0),
    ),
    "a let has another value in each instance": (LET.format("i // 2"), "block b: instances", LET.format("3 - i")),
    "what an assumption evaluates is safe": (
        "T.assume(A[X[0]] > 0)\nB[0] = 1",
        "in bounds",
        "T.assume(A[T.max(0, T.min(X[0], 7))] > 0)\nB[0] = 1",
    ),
}


def meaning(text: str) -> str:
    found = verify_program(program(text, PARAMS), PROVER)
    return why(found) if isinstance(found, (NoMatch, Unproved)) else ""


@pytest.mark.parametrize(("bad", "claim", "good"), CASES.values(), ids=CASES)
def test_a_false_claim_is_refused_and_its_neighbour_accepted(bad: str, claim: str, good: str) -> None:
    assert claim in meaning(bad)
    assert meaning(good) == ""


def test_arguments_of_a_program_are_defined() -> None:
    """A binding is known to lie in its domain since X[0] is defined, and so is what is made of it."""
    text = 't = T.alloc_buffer((1,), "int32")\nt[0] = T.max(X[0], 0)\nwith T.block("b"):\n'
    text += "    v = T.axis.opaque(8, T.min(t[0], 7))\n    B[v] = 1"
    assert meaning(text) == ""
    assert "the binding of v lies in its domain" in meaning(text.replace("T.max(X[0], 0)", "X[0]"))


def test_assumptions_about_what_is_defined_contradict_each_other() -> None:
    """X[1] is not negative, since X[0] is defined."""
    text = "X[1] = T.max(X[0], 0)\nT.assume(X[1] {} 0)\nB[0] = 1"
    assert "no input satisfies them" in meaning(text.format("<"))
    assert meaning(text.format(">=")) == ""


def test_what_is_undefined_may_be_stored_by_a_block() -> None:
    text = 'for i in range(4):\n    t = T.alloc_buffer((1,), "int32")\n    with T.block("b"):\n'
    assert meaning(text + "        v = T.axis.spatial(4, i)\n        B[v] = t[0]") == ""


def test_what_verification_gives() -> None:
    """The expanded program, what was proved, and that it has a meaning; which it has not before."""
    func = program(one("A[v] = 3 + v"), PARAMS)
    assert not has_meaning(func)
    found = verify_program(func, PROVER)
    assert isinstance(found, tuple)
    expanded, proved = found
    assert "axis" not in script(expanded) and has_meaning(expanded)
    assert any("differ only in" in d.obligation.claim for d in proved)
    apart, _ = verify_program(func, PROVER, Entry(definite=True))  # type: ignore[misc]
    assert apart is expanded


def test_stores_that_no_run_gets_to() -> None:
    text = "for i in range(4):\n    if i > 4:\n        A[i] = 1\n        T.evaluate(n)\n    A[i] = 2\n"
    func = program(text + "for i in range(0):\n    B[i] = 1\n    B[0] = 2", PARAMS)
    assert Schedule(func).unreachable == ["A[i] = 1", "B[i] = 1", "B[0] = 2"]


EXPANDED = """
B[0] = 0
if n >= 0:
    with T.block("a"):
        v = T.axis.reduce(1, 0)
        with T.init():
            X[0] = T.undef("int32")
        B[0] = T.max(X[0], 0)
with T.block("b"):
    w = T.axis.opaque(8, T.min(B[0], 7))
    A[w] = 1
"""


def test_a_block_that_is_not_expanded_is_not_walked_through() -> None:
    """Its initialisation runs before the rest of it: B[0] is not what X[0] held before."""
    assert "T.min(B[0], 7) is defined" in meaning(EXPANDED)
    stored = '    X[0] = {}\n    B[0] = T.max(X[0], 0)\nwith T.block("b"):'
    head, _, tail = EXPANDED.partition('    with T.block("a"):')
    plain = head + stored + tail.partition('with T.block("b"):')[2]
    assert meaning(plain.format("A[1]")) == ""
    assert "T.min(B[0], 7) is defined" in meaning(plain.format('T.undef("int32")'))


MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def g(A: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.sblock("b"):
                vi = T.axis.spatial({domain}, i)
                A[vi] = 1

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        M.g(A.data)
"""


@pytest.mark.parametrize("name", ["g", "main"])
def test_a_claim_is_asked_where_the_block_is_called_too(name: str) -> None:
    Schedule(MODULE.format(domain=8), name=name)
    with pytest.raises(ScheduleError, match="the binding of vi lies in its domain"):
        Schedule(MODULE.format(domain=4), name=name)


def test_nothing_is_proved_of_a_block_that_is_not_expanded() -> None:
    text = "for i in range(8):\n    with T.block('b'):\n        v = T.axis.spatial(8, i)\n        A[v] = 1"
    func = program(text, PARAMS)
    assert isinstance(func.body, For) and any(not b.is_label for b in nodes_of(func.body, Block))
    twice = seq(func.body, refresh_binders(func.body)[0])
    found = take(moves.swap((), 0), reflexive(func.with_body(twice)))
    assert isinstance(found, NoMatch) and "expanded" in found.reason
    meaningless = prove_program(func, PROVER, Entry())
    assert isinstance(meaningless, NoMatch) and "its blocks are not expanded" in meaningless.reason


def test_a_claim_that_is_not_decided_is_dropped_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    text = program(one("T.reads(A[v])\nB[v] = A[v]"), PARAMS)
    assert not Schedule(text).notes

    def undecided(prover: Prover, questions: list[Question]) -> Outcome:
        (question,) = questions
        if "reads only" not in str(question.claim):
            return discharge(prover, questions)
        return (), (Obligation(question.name, question.claim, (), question.goal), Unknown("nobody knows"))

    monkeypatch.setattr("verified_tir.elaborate.claims.discharge", undecided)
    assert Schedule(text).notes == ["not decided, and dropped: block b reads only what it declares of A"]
