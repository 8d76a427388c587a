"""What is known where a function begins, on the way past statements, and inside of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernel.programs import PROVER, accepted, buffer, function, load, program, refused, store, variable, why
from tests.kernel.test_facts import known
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Ramp, Select, Var
from verified_tir.ir.paths import places, put
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import SKIP, Allocate, If, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.begin import begin, context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import read_blocks, written_blocks
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.memory import Entered, Entry, Padding, Stored
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.theorem import reflexive
from verified_tir.logic import formula as f
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.search.facts import sizes
from verified_tir.semantics.encode import Encoded, Unencodable
from verified_tir.semantics.interpreter import run

# -- the function begins -----------------------------------------------------------------------------------------------

SYMBOLS = """
@T.prim_func
def g(a: T.handle, b: T.handle, n: T.int32, m: T.int64, u: T.uint8, flag: T.bool, x: T.float32, p: T.handle):
    q = T.int32()
    s = T.int32()
    o = T.int32()
    w = T.int64()
    A = T.match_buffer(a, (n, 4, w), "float32")
    B = T.match_buffer(b, (q + 1, 2), "int32", strides=(s, 1), elem_offset=o)
    B[0, 0] = 1
"""


def _shown(terms: list[f.Term]) -> list[str]:
    """Terms as text, without the numbers of unknowns."""
    return [re.sub(r"![0-9]+", "", str(t)) for t in terms]


def test_what_symbols_and_shapes_promise() -> None:
    """An extent is not negative, and so small that its elements can be counted; other numbers fit their types."""
    where = begin(parse_func(SYMBOLS), Entry())
    assert _shown(where.path) == [
        "(and (<= (- 2147483648) n) (<= n 2147483647))",
        "(and (<= (- 9223372036854775808) m) (<= m 9223372036854775807))",
        "(and (<= 0 u) (<= u 255))",
        "(and (<= (- 9223372036854775808) w) (<= w 9223372036854775807))",
        *(f"(and (<= (- 2147483648) {v}) (<= {v} 2147483647))" for v in "qso"),
        "(<= 0 n)",
        "(<= n 2147418112)",
        "(<= 0 w)",
        "(<= w 140737488355328)",
        "(<= (* (* 4 n) w) 2147418112)",
        "(<= 0 (+ q 1))",
        "(<= (+ q 1) 2147418112)",
        "(<= (* 2 (+ q 1)) 2147418112)",
    ]
    assert {v.name: (*_shown([e.value]), e.defined is f.TRUE, e.data) for v, e in where.env.items()} == {
        name: (name, True, name == "x") for name in ("n", "m", "u", "flag", "x", "w", "q", "s", "o")
    }
    assert _shown([*sizes(where)]) == ["n", "m", "u", "w", "q", "s", "o"]
    assert [(v.name, version.event) for v, version in where.memory.items()] == [("A", Entered()), ("B", Entered())]


def test_counts_of_elements_are_as_wide_as_the_symbols() -> None:
    wide, short = Var.fresh("w", DType.parse("int64")), Var.fresh("h", DType.parse("int16"))
    where = begin(function([Buffer.declare("A", (4, wide)), wide], SKIP), Entry())
    assert _shown(where.path)[-1] == "(<= (* 4 w) 140737488355328)"
    where = begin(function([Buffer.declare("A", (short,)), short], SKIP), Entry())
    assert _shown(where.path)[0] == "(and (<= (- 32768) h) (<= h 32767))"


def test_a_parameter_is_the_same_unknown_in_each_context() -> None:
    """Whatever it is called, and wherever it stands among parameters of the same name."""
    one, two = Var.fresh("n"), Var.fresh("n")
    here = begin(function([Buffer.declare("A", (one,)), one, two], SKIP), Entry())
    there = begin(function([Buffer.declare("A", (two, one))], SKIP), Entry())
    assert all(here.env[v].value is there.env[v].value for v in (one, two))
    assert here.env[one].value is not here.env[two].value


def test_no_parameter_is_called_as_something_else_is() -> None:
    """Neither as another parameter, which was given another name than its own, nor as ``fresh`` calls what it makes."""
    a, names = Buffer.declare("A", (4,)), ("n", "n", "n.0", "i!7")
    params = [Var.fresh(name) for name in names]
    where = begin(function([a, *params], SKIP), Entry())
    assert len({where.env[v].value for v in params}) == len(names)
    for k, one in enumerate(params):
        for m, two in enumerate(params):
            f = function([a, *params], If(binary("eq", one, two), store(a, 1, 0)))
            if k == m:
                accepted(f, moves.decide((), True))
            else:
                refused(f, moves.decide((), True), "always taken")


def test_padding_belongs_to_its_buffer_and_earlier_shapes_count() -> None:
    n, i = Var.fresh("n"), Var.fresh("i")
    a, b, old = Buffer.declare("A", (8,)), Buffer.declare("B", (8,)), Buffer.declare("A", (n,))
    padding = Padding(a, (i,), const(1) > i, None)
    where = begin(function([a, b, n], SKIP), Entry((padding,), shapes=(old,)))
    assert [v.event for v in where.memory.values()] == [Entered(), Entered()]
    bounds = ["(<= 0 n)", "(<= n 2147418112)", "(<= n 2147418112)"]
    assert _shown(where.path) == ["(and (<= (- 2147483648) n) (<= n 2147483647))", *bounds]


# -- elements ----------------------------------------------------------------------------------------------------------


def test_elements_are_known_by_indices_or_by_flat_address() -> None:
    a = Buffer.declare("A", (4, 4), "int32x2")
    strided = Buffer.declare("S", (4, 4), "int32", strides=(8, 2))
    where = begin(function([a, strided], seq(store(a, load(a, 0, 0), 0, 0), store(strided, 1, 0, 0))), Entry())
    one, two, lane = f.integer(1), f.integer(2), f.var("lane", f.INT)
    assert where.address(a, (one, two), lane) == (one, two, lane)
    added = Buffer.declare("N", (4, 4), "int32")  # it has no other view, since the program does not know it
    assert where.address(added, (one, two), None) == (one, two)
    assert where.address(strided, (one, two), None) == (f.integer(12),)
    assert not where.several_views(a.data) and where.several_views(strided.data)
    found = where.load_from(where.memory, a, (one, two), lane)
    assert where.element_of(found.value) == found == where.element_of(found.defined)


def test_stores_to_a_shadow_count_as_defined() -> None:
    func = program("A[0] = T.undef('int32')")
    where = begin(func, Entry())
    a, b = (buffer(func, name) for name in "AB")
    unknown = Encoded(f.integer(3), f.FALSE, True)
    assert where.held(a, unknown) is unknown
    where.shadow = a.data
    held = where.held(a, unknown)
    assert held.defined is f.TRUE and held.data and held.value.op == "var", "any value of its type"
    assert where.held(a, Encoded(f.integer(3), f.TRUE, True)) == Encoded(f.integer(3), f.TRUE, True)
    assert where.held(b, unknown) is unknown


def test_stores_to_a_licensed_block_hold_what_any_order_may_give() -> None:
    """One term is what it is; of a sum it is known when it may be -0.0, and of an integer sum nothing."""
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), D: T.Buffer((4,), "int32")'
    func = program("A[0] = B[1]\nA[0] = A[0] + B[1]\nD[0] = D[0] + 1\nD[1] = 2", params)
    a, b, d = (buffer(func, name) for name in "ABD")
    where = begin(func, Entry(licensed=frozenset({a.data, d.data})))
    old, term = (where.load_from(where.memory, x, (f.integer(k),), None) for x, k in ((a, 0), (b, 1)))
    zero = f.negative_zero(old.value.sort)

    def after(value: f.Term, x: Buffer = a) -> tuple[f.Term, tuple[f.Term, ...]]:
        held = where.held(x, Encoded(value, f.TRUE, True))
        known = where.held_facts[held.value]
        assert held.value is not value and where.usable_facts(x.data, *known) == known
        assert not where.usable(f.le(held.value, f.integer(9)) if x is d else f.eq(held.value, old.value))
        return held.value, known

    one = Encoded(term.value, f.TRUE, True)
    assert where.held(a, one) is one
    both, known = after(f.fp("fp.add", old.value.sort, old.value, term.value))
    assert known == (f.implies(f.eq(both, zero), f.and_(f.eq(old.value, zero), f.eq(term.value, zero))),)
    product, known = after(f.fp("fp.mul", old.value.sort, old.value, term.value))
    assert known == (f.implies(f.eq(product, zero), f.TRUE),)
    count = where.load_from(where.memory, d, (f.integer(0),), None)
    assert after(f.add(count.value, f.integer(1)), d)[1] == ()
    two = Encoded(f.integer(2), f.TRUE, True)
    assert where.held(d, two) is two


# -- past statements, and into them ------------------------------------------------------------------------------------

KEPT = "for i in range(4):\n    A[i] = 5\n    x: T.let[T.int32] = A[i]\n    A[i] = 6\n"

CASES = [
    # one store, and stores past which little is known
    ("A[0] = 5\nB[1] = A[0]\nif B[1] == 5:\n    B[0] = 1", True),
    ("A[0] = 5\nT.evaluate(T.call_extern('int32', 'g'))\nif A[0] == 5:\n    B[0] = 1", False),
    ("A[0] = 5\nB[2] = T.call_extern('int32', 'g')\nif A[0] == 5:\n    B[0] = 1", False),
    ("B[2] = T.call_extern('int32', 'g')\nA[0] = 5\nif A[0] == 5:\n    B[0] = 1", True),
    ("A[0] = 5\nif T.call_extern('int32', 'g') > 0:\n    if A[0] == 5:\n        B[0] = 1", False),
    ("A[0] = 5\nx: T.let[T.int32] = T.call_extern('int32', 'g')\nif A[0] == 5:\n    B[0] = 1", False),
    ("x: T.let[T.int32] = T.call_extern('int32', 'g')\nA[0] = x\nif A[0] == x:\n    B[0] = 1", True),
    ("x: T.let[T.int32] = T.call_extern('int32', 'g')\nif x == 0:\n    B[0] = 1", False),
    ("x: T.let[T.int32] = T.call_extern('int32', 'g')\nif x + 1 > x:\n    B[0] = 1", False),
    ("x: T.let[T.int32] = T.call_extern('int32', 'g')\nif x + 0 == x:\n    B[0] = 1", True),
    ("A[0] = 5\nA[0:4] = B[0:4]\nif A[0] == 5:\n    B[0] = 1", False),
    # labels, declarations and attributes do nothing by themselves
    ("with T.block('b'):\n    A[0] = 5\nif A[0] == 5:\n    B[0] = 1", True),
    ("with T.block('b'):\n    T.assume(A[0] == 5)\nif A[0] == 5:\n    B[0] = 1", True),
    ("with T.attr(0, 'k', 1):\n    A[0] = 5\nif A[0] == 5:\n    B[0] = 1", True),
    ("for i in range(2):\n    V = T.decl_buffer((4, 2), 'int32', data=A.data)\n    V[1, 1] = 5\n"
     "if A[3] == 5:\n    B[0] = 1", True),
    # a store within them is one store: what is added to is what was there just before
    ("A[0] = 5\nwith T.block('b'):\n    A[0] = A[0] + 1\nif A[0] == 6:\n    B[0] = 1", True),
    ("A[0] = 5\nwith T.attr(0, 'k', 1):\n    A[0] = A[0] + 1\nif A[0] == 6:\n    B[0] = 1", True),
    ("A[0] = 5\nwith T.decl_buffer((8,), 'int32', data=A.data) as V:\n    V[0] = A[0] + 1\n"
     "if A[0] == 6:\n    B[0] = 1", True),
    ("A[0] = 5\nwith T.block('b'):\n    A[0] = A[0] + 1\nif A[0] == 5:\n    B[0] = 1", False),
    # what was found true stays true
    ("T.assume(n > 3)\nif n > 2:\n    B[0] = 1", True),
    ("assert n > 3, 'no'\nif n > 2:\n    B[0] = 1", True),
    ("T.assume(A[0] == 5 and n == 3)\nif A[0] == 5:\n    if n == 3:\n        B[0] = 1", True),
    ("T.assume(A[0] == T.undef('int32'))\nif A[0] == 5:\n    B[0] = 1", False),
    # conditions of the place
    ("if n > 3:\n    if n > 2:\n        B[0] = 1", True),
    ("if n > 3:\n    A[0] = 1\nelse:\n    if n > 3:\n        B[0] = 1", False),
    ("if n > 3:\n    A[0] = 1\nelse:\n    if n <= 3:\n        B[0] = 1", True),
    ("if n > 3 and n < 9:\n    if n < 9:\n        B[0] = 1", True),
    ("if n > 3 or n < 9:\n    if n > 3:\n        B[0] = 1", False),
    ("if n > 3 or n < 1:\n    A[0] = 1\nelse:\n    if n <= 3:\n        B[0] = 1", True),
    # the iteration that runs
    ("for i in range(2, n):\n    if i >= 2 and i < 2 + n:\n        B[0] = 1", True),
    ("for i in range(2, 5):\n    if i >= 2 and i < 5:\n        B[0] = 1", True),
    ("for i in range(2, 5):\n    if i > 2:\n        B[0] = 1", False),
    ("for i in range(2, 5):\n    if i < 4:\n        B[0] = 1", False),
    ("A[0] = 5\nfor i in range(4):\n    if A[0] == 5:\n        B[0] = 1\n    A[0] = 6", False),
    ("A[0] = 5\nwhile X[0] > 3:\n    if A[0] == 5:\n        B[0] = 1\n    A[0] = 6", False),
    ("while X[0] > 3:\n    if X[0] > 2:\n        B[0] = 1\n    X[0] = X[1]", True),
    ("while X[0] > 3:\n    X[0] = X[1]\n    if X[0] > 3:\n        B[0] = 1", False),
    ("while T.call_extern('int32', 'g') > 3:\n    if n > 3:\n        B[0] = 1", False),
    # what came before within
    (KEPT + "    if x == 5:\n        B[0] = 1", True),
    (KEPT + "    if x == A[i]:\n        B[0] = 1", False),
    ("t = T.alloc_buffer((1,), 'int32')\nt[0] = 5\nif t[0] == 5:\n    B[0] = 1", True),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_what_is_known_on_the_way(body: str, expected: bool) -> None:
    assert known(body) is expected, body


PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'


def test_loops_whose_ranges_nobody_knows_are_not_entered() -> None:
    for bounds in ("T.call_extern('int32', 'g')", "T.call_extern('int32', 'g'), 4", "0, T.call_extern('int32', 'g')"):
        with pytest.raises(Unencodable, match="opaque call"):
            at_last_store(f"for i in range({bounds}):\n    A[i] = 0")


def at_last_store(text: str) -> Context:
    func = program(text, PARAMS)
    *_, (path, _) = places(func.body, lambda s: isinstance(s, Store))
    return context_at(func, path, Entry())


def test_a_store_is_one_step_of_its_block_alone() -> None:
    where = at_last_store("A[n] = X[0] + 1\nB[0] = 1")
    a, x = (v for v in where.memory if v.name in "AX")
    event = where.memory[a].event
    assert isinstance(event, Stored) and isinstance(where.memory[x].event, Entered)
    assert _shown(list(event.address)) == ["n"] and isinstance(event.before.event, Entered)


def test_which_statements_are_remembered_as_having_assumed_something() -> None:
    assumes = "for i in range(4):\n    T.assume(X[i] > 0)\n"
    silent = "for i in range(4):\n    A[i] = 1\n"
    asserts = "for i in range(4):\n    assert X[i] > 0, 'no'\n"
    where = at_last_store(silent + assumes + silent + asserts + "B[0] = 1")
    assert [type(stmt.body).__name__ for stmt in (run.stmt for run in where.observed)] == ["Assume", "Assert"]  # type: ignore[attr-defined]
    before = where.observed[1].memory
    assert before is not where.memory and [v.name for v in before] == ["X"]  # nothing else is read or written there


def test_what_a_statement_reads_and_writes() -> None:
    func = program("A[X[0]] = 1\nB[0] = T.popcount(n)", PARAMS)
    assert {v.name for v in read_blocks(func.body)} == {"X"}
    assert {v.name for v in written_blocks(func.body)} == {"A", "B"}
    opaque = program("T.evaluate(T.call_extern('int32', 'g', X.data))", PARAMS)
    assert len(read_blocks(opaque.body)) == len(written_blocks(opaque.body)) == 1
    assert read_blocks(opaque.body) == written_blocks(opaque.body) and variable(func, "n") not in read_blocks(func.body)


def test_what_was_branched_on_is_defined() -> None:
    for text, path, fine in (("if A[0] > 3:\n    B[0] = 0", (0,), True), ("if n > 3:\n    B[0] = 0", (0,), False)):
        func = program(text, PARAMS)
        rule = rewritten(path, (0,), binary("mul", load(buffer(func, "A"), 0), 0))
        if fine:
            accepted(func, rule)
        else:
            refused(func, rule, "equals")


@pytest.mark.parametrize("text", ["x: T.let[T.int32] = {}\nif x > 3:\n    B[0] = 1", "if {} > 3:\n    B[0] = 1"])
def test_the_result_of_an_opaque_call_is_some_value(text: str) -> None:
    assert isinstance(verify_program(program(text.format("T.call_extern('int32', 'g')"), PARAMS), PROVER), tuple)
    assert not isinstance(verify_program(program(text.format("T.undef('int32')"), PARAMS), PROVER), tuple)


DIVIDES = "for i in T.parallel(8):\n    with T.block('b'):\n        T.where(8 // n > 0)\n        A[i] = 1"
RACES = "for i in T.parallel(8):\n    with T.block('b'):\n        T.where(A[7 - i] > 0)\n        A[i] = 1"


@pytest.mark.parametrize(
    ("text", "ill"), [(DIVIDES, "no division by zero"), (RACES, "read and write the same element")]
)
def test_blocks_that_are_not_expanded_are_not_entered(text: str, ill: str) -> None:
    """Of what they evaluate themselves nothing would be asked."""
    func = program(text, PARAMS)
    for found in (prove_program(func, PROVER, Entry()), prove_race_free(func, PROVER, Entry())):
        assert isinstance(found, NoMatch) and found.reason == "its blocks are not expanded"
    found = verify_program(func, PROVER)
    assert isinstance(found, (NoMatch, Unproved)) and ill in why(found)


def test_what_is_compared_with_undef_is_undefined_unless_it_is_assumed() -> None:
    """``x == undef`` in an assumption says that x may be evaluated; anywhere else it compares."""
    func = program("x: T.let[T.bool] = A[0] == T.undef('int32')\nB[0] = 1", PARAMS)
    chosen = Select(variable(func, "x"), const(1), const(1))
    refused(func, rewritten((0,), (0,), chosen), "equals 1")
    wrong = func.with_body(put(func.body, (0,), store(buffer(func, "B"), chosen, 0)))
    arrays = {name: np.ones(8, "int32") for name in "ABX"} | {"n": 1}
    assert (run(func, arrays).defined["B"][0], run(wrong, arrays).defined["B"][0]) == (True, False)
    other = program("x: T.let[T.bool] = A[0] == X[0]\nB[0] = 1", PARAMS)
    defined = rewritten((0,), (0,), Select(variable(other, "x"), const(1), const(1)))
    accepted(reflexive(other, definite=True), defined)


def test_vectors_on_the_way_have_each_of_their_lanes() -> None:
    """What a let binds, and what is computed beside an opaque call."""
    bound = program("x: T.let[T.int32x4] = T.Ramp(n, 1, 4)\nB[0] = A[0] + 0", PARAMS)
    accepted(bound, rewritten((0,), (0,), load(buffer(bound, "A"), 0)))
    func = program("A[T.Ramp(n - n, 1, 4)] = X[0:4] + T.call_extern('int32x4', 'g')", PARAMS)
    accepted(func, rewritten((), (1,), Ramp(const(0), const(1), 4)))
    refused(func, rewritten((), (1,), Ramp(const(1), const(1), 4)), "equals")


def test_a_local_buffer_that_is_gone_is_not_alive() -> None:
    f = program("with T.alloc_buffer((2,), 'int32') as L:\n    L[0] = 3\n    A[0] = L[0]\nB[0] = 1")
    where = context_at(f, (1,), Entry())
    assert [data.name for data in where.memory] == ["A", "B"]
    with pytest.raises(Unencodable, match="buffer L is used outside of its lifetime"):
        where.encoder().encode(load(buffer(f, "L"), 0))


# -- forks -------------------------------------------------------------------------------------------------------------


def test_forks_know_their_own_states() -> None:
    """What one of two contexts walks past from where they part, the other has not been through."""
    func = program("if A[0] < 1:\n    A[0] = 1\nA[1] = 2\nM = T.alloc_buffer((4,), 'int32')\nA[2] = 3")
    outer = begin(func, Entry())
    first, untouched, line = outer.fork(), dict(outer.memory), set(outer.seen)
    second = first.fork()
    for walked in (second, outer, first):  # a fork of a fork, the origin, the one between
        walked.execute(func.body)
        (a, b) = untouched
        assert walked.memory[a] is not untouched[a] and walked.memory[b] is untouched[b]
        assert walked.memory.keys() == untouched.keys()
        assert walked.seen > line and walked.memory[a] in walked.seen
    seen = [context.seen - line for context in (outer, first, second)]
    assert all(seen) and not (seen[0] & seen[1] or seen[1] & seen[2] or seen[0] & seen[2])


def test_a_block_that_ends_stays_where_it_was_entered() -> None:
    func = program("M = T.alloc_buffer((4,), 'int32')\nA[0] = 3")
    outer = begin(func, Entry())
    assert isinstance(func.body, Allocate)
    outer.enter(func.body, 0)
    inner, m = outer.fork(), func.body.buffer.data
    outer.execute(func.body)
    assert m in inner.memory and m not in outer.memory
