"""Wrong acceptances that reading and enumeration found in the kernel; each must stay refused.

Beside most of them stands a neighbour that is right and must be accepted.
"""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.programs import (
    AB,
    PROVER,
    accepted,
    body_of,
    buffer,
    function,
    load,
    program,
    refused,
    store,
    take,
    variable,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, INT64, DType
from verified_tir.ir.expr import (
    FALSE,
    TRUE,
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Ramp,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import (
    SKIP,
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LetStmt,
    Store,
    seq,
)
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.access import BARRIER
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.rules.bind import Bind
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import in_a_loop, moved, run_once

# ------------------------------------------------------------------------------------ scopes, binders, declarations


def test_a_view_that_is_not_declared() -> None:
    f = program("B[0] = A[1, 0]", 'A: T.Buffer((2, 3), "int32"), B: T.Buffer((4,), "int32")')
    view = Buffer.declare("V", (3, 2), "int32", data=buffer(f, "A").data)
    refused(f, rewritten((), (0,), load(view, 1, 0)), "buffer V is not declared here")


def test_a_let_does_not_outlive_its_expression() -> None:
    f = program("B[0] = 0\nB[1] = A[0]")
    a, b, x = buffer(f, "A"), buffer(f, "B"), Var.fresh("x")
    value = IfThenElse(load(a, 1) > 0, LetExpr(x, load(a, 0), x), const(0))
    f = f.with_body(seq(store(b, value, 0), store(b, load(a, 0), 1)))
    refused(f, rewritten((1,), (0,), x), "variable x is not in scope")


def test_an_expression_may_not_bind_a_variable_again() -> None:
    f = program("B[0] = 1")
    x = Var.fresh("x")
    f = f.with_body(LetStmt(x, const(1), store(buffer(f, "B"), x, 0)))
    refused(f, moves.introduce((0,), LetExpr(x, const(5), x > 0)), "x is bound twice")
    y = Var.fresh("y")
    accepted(f, moves.introduce((0,), LetExpr(y, const(5), y > 0)))


def test_an_inserted_statement_uses_its_loop_variable_inside_the_loop_only() -> None:
    f = program("B[0] = 1")
    b, k = buffer(f, "B"), Var.fresh("k")
    after = Store(b, load(b, k % 4), (k % 4,))
    refused(f, Insert((), seq(For(k, const(0), const(0), SKIP), after)), "variable k is not in scope here")
    accepted(f, Insert((), For(k, const(0), const(4), after)))


def test_new_variables_occur_nowhere_else() -> None:
    f = program("for i in range(2):\n    for j in range(2):\n        B[i] = j")
    outer, inner = f.body, f.body.body  # type: ignore[attr-defined]
    i, j = outer.var, inner.var  # type: ignore[attr-defined]
    refused(f, moves.reindex((0,), 1, (NewLoop(i, const(0), const(2)),), (), (i,), (j,)), "is bound twice")
    refused(f, in_a_loop((0,), i), "is bound twice")
    refused(f, Bind((0,), i, const(1)), "is bound twice")


def test_a_name_for_a_shape_symbol_would_change_the_buffers_of_the_statement() -> None:
    n, i, y = Var.fresh("n"), Var.fresh("i"), Var.fresh("y")
    a = Buffer.declare("A", (n,), "int32")
    f = function([a, n], For(i, const(0), n, Store(a, n, (i,))))
    refused(f, Bind((), y, n), "buffer A is not declared here")
    accepted(f, in_a_loop((), y))


# ---------------------------------------------------------------------------------------------------------- vectors


def test_with_lanes_both_operands_of_and_are_evaluated() -> None:
    f = program("B[0] = 1", 'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32")')
    flags, ramp = Buffer.declare("L", (4,), "bool"), Ramp(const(0), const(1), 4)
    low = binary("lt", ramp, 2)

    def guarded(first: Expr, second: Expr) -> Insert:
        return Insert((), Allocate(flags, Store(flags, Binary("and", first, second), (ramp,))))

    refused(f, guarded(low, binary("eq", load(buffer(f, "A"), ramp), 0)), "in bounds")
    accepted(f, guarded(low, binary("eq", load(buffer(f, "B"), ramp), 0)))


def test_a_shuffle_evaluates_the_lanes_that_it_drops() -> None:
    f = program("B[0] = 1", 'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32")')
    one = Buffer.declare("L", (1,), "int32")

    def first_of(lanes: int) -> Insert:
        value = Shuffle((load(buffer(f, "A"), Ramp(const(0), const(1), lanes)),), (0,))
        return Insert((), Allocate(one, store(one, value, 0)))

    refused(f, first_of(4), "in bounds")
    accepted(f, first_of(2))


def test_reinterpret_may_change_the_number_of_lanes() -> None:
    f = program("B[0] = T.int64(0)", 'B: T.Buffer((4,), "int64")')
    joined = Call(INT64, "reinterpret", (Broadcast(const(1), 2),))
    f = f.with_body(store(buffer(f, "B"), joined, 0))
    refused(f, rewritten((), (0,), const(1, INT64)), "the logic knows single lanes")


# ------------------------------------------------------------------------------------------------ views and extents


def test_no_view_is_inserted() -> None:
    f = program("A[0, 0] = 1", 'A: T.Buffer((2, 3), "int32"), B: T.Buffer((4,), "int32")')
    a = buffer(f, "A")
    view = Buffer.declare("V", (3, 2), "int32", data=a.data)
    same_indices = store(view, load(a, 1, 0), 1, 0)  # another element of the block
    refused(f, Insert((), DeclBuffer(view, same_indices)), "none can be inserted")
    refused(f, Insert((), If(TRUE, DeclBuffer(view, same_indices))), "none can be inserted")
    accepted(f, Insert((), store(a, load(a, 1, 0), 1, 0)))


def test_a_place_that_is_undefined_at_one_type_may_hold_something_at_another() -> None:
    params = 'A: T.Buffer((2,), "float32"), B: T.Buffer((4,), "int32")'
    f = program('V = T.decl_buffer((2,), "int32", data=A.data)\nB[1] = V[1]', params)
    view = buffer(f, "V")
    unchanged = store(view, load(view, 0), 0)  # destroys a NaN, which is undefined as an integer
    refused(f, Insert((0,), unchanged), "views of several types")
    refused(f, Insert((0,), If(binary("lt", load(view, 0), const(3)), unchanged)), "views of several types")


def test_extents_that_read_memory_are_bound_first() -> None:
    f = program("B[0] = 1")
    b, local, i = buffer(f, "B"), Buffer.declare("D", (1,), "int32"), Var.fresh("i")
    sized = Buffer.declare("E", (load(local, 0),), "int32")
    body = seq(If(i > 0, Allocate(sized, store(b, 9, 0))), store(local, 3, 0))
    f = f.with_body(Allocate(local, For(i, const(0), const(2), body)))
    refused(f, moved((), "sink"), "an extent of E reads memory")


def test_the_extents_of_an_inserted_allocation_are_defined() -> None:
    f = program("x = A[0]\nB[0] = 1")
    x = variable(f, "x")
    local = Buffer.declare("D", (binary("max", x, 0),), "int32")
    refused(f, Insert((0,), Allocate(local, SKIP)), "an extent that is undef")
    known = program("T.assume(A[0] < 9)\nx = A[0]\nB[0] = 1")
    local = Buffer.declare("D", (binary("max", variable(known, "x"), 0),), "int32")
    accepted(known, Insert((1, 0), Allocate(local, SKIP)))


def identity(extent: int) -> LayoutMap:
    """The identity, into a buffer of another extent, without padding."""
    x, y = Var.fresh("x"), Var.fresh("y")
    return LayoutMap((x,), (x,), (y,), (y,), (const(extent),), FALSE)


def test_new_extents_are_not_negative() -> None:
    f = program('C = T.alloc_buffer((0,), "int32")\nB[0] = 1')
    refused(f, Couple((), identity(-1)), "the negative extent -1")
    accepted(f, Couple((), identity(0)))


# ------------------------------------------------------------------------------------------------------ assumptions


def test_an_accessibility_claim_is_no_comparison() -> None:
    f = program("T.assume(A[0] == T.undef())\nif B[0] == 0:\n    B[1] = 1")
    refused(f, moves.decide((1,), True), "the branch is always taken here")
    refused(f, rewritten((0,), (0,), FALSE), "not a comparison that could be replaced")
    refused(f, rewritten((0,), (0, 1), const(5)), "not a comparison that could be replaced")
    refused(f, Bind((0,), Var.fresh("u"), Undef(INT32)), "undef cannot be bound")


def test_what_one_iteration_loaded_is_not_what_another_did() -> None:
    f = program(
        """
t = T.alloc_buffer((1,), "float32")
for i in range(2):
    t[0] = C[i]
    T.assume((A[i] < A[i + 1]) == (t[0] > T.float32(0)))
if (A[0] < A[1]) == (A[1] < A[2]):
    B[0] = 1
""",
        AB + ', C: T.Buffer((4,), "float32")',
    )
    refused(f, moves.decide((0, 1), True), "the branch is always taken here")


def test_the_condition_under_which_an_overwriting_statement_stores_may_change_between_iterations() -> None:
    f = program(
        """
t = T.alloc_buffer((1,), "float32")
B[1] = 7
for i in range(3):
    t[0] = C[i]
    if t[0] > T.float32(0):
        B[i] = 1
    else:
        B[i + 1] = 1
""",
        AB + ', C: T.Buffer((4,), "float32")',
    )
    refused(f, Erase((0, 0), overwritten_by=1), "it is certainly overwritten later")


# ------------------------------------------------------------------------------------------- bounds that are data


def test_a_loop_that_would_not_have_started_may_overflow() -> None:
    f = program("T.assume(A[0] >= 0)\nT.assume(A[1] >= 0)\nif B[0] > 0:\n    B[1] = 1")
    a, branch = buffer(f, "A"), f.body.stmts[2]  # type: ignore[attr-defined]
    i, out = Var.fresh("i"), Buffer.declare("C", (1,), "int32")
    loop = For(i, load(a, 0), load(a, 1), store(out, 1, 0))
    f = f.with_body(Allocate(out, seq(*f.body.stmts[:2], If(branch.condition, loop))))  # type: ignore[attr-defined]
    refused(f, moves.sink((0, 2)), "the loop's last value fits int32")


def test_the_sum_of_two_loaded_extents_may_wrap() -> None:
    f = program("B[0] = 1", 'A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int32")')
    a, b, zero = buffer(f, "A"), buffer(f, "B"), const(0, "int8")

    def join(limit: int) -> PrimFunc:
        loops = [
            For(Var.fresh("i", DType.parse("int8")), low, extent, store(b, load(b, 0) + 1, 0))
            for low, extent in ((zero, load(a, 0)), (load(a, 0), load(a, 1)))
        ]
        bounds = [Assume(c) for k in (0, 1) for c in (load(a, k) >= 0, load(a, k) <= limit)]
        return f.with_body(seq(*bounds, *loops))

    refused(join(64), moves.join_index_sets((), 4), "is run")
    accepted(join(63), moves.join_index_sets((), 4))


# ----------------------------------------------------------------------------------------------- data and its names


def test_a_let_in_an_expression_keeps_its_users_data() -> None:
    f = program("B[0] = A[0]", AB + ", n: T.int32")
    a, b, n, x = buffer(f, "A"), buffer(f, "B"), variable(f, "n"), Var.fresh("x")
    wide = Cast(INT32, Cast(INT64, n))  # n, but data: operations on x wrap
    f = f.with_body(store(b, LetExpr(x, wide, load(a, 0) + x * 65536), 0))
    refused(f, rewritten((), (0, 0), n), "what wrapped would overflow")


# -------------------------------------------------------------------------------------------- opaque calls, barriers

OPAQUE = Call(INT32, "call_extern", (StringImm("next_number"),))


def test_an_opaque_call_is_made_as_often_as_before() -> None:
    f = program("B[0] = 1\nB[1] = 2")
    i, asked = Var.fresh("i"), binary("gt", OPAQUE, 0)
    once = f.with_body(For(i, OPAQUE, const(1), f.body))
    refused(once, run_once(()), "the body writes what bounds or guards read")
    stays = "the body writes what bounds or guards read"
    for rule in (moves.fission((), 1), moves.decide((), True)):
        refused(f.with_body(If(asked, f.body)), rule, stays)
    refused(f.with_body(If(asked, For(i, const(0), const(3), f.body))), moves.sink(()), stays)
    refused(f.with_body(If(asked, f.body, f.body)), moves.merge(()), stays)


def test_an_opaque_index_is_not_mapped() -> None:
    f = program("B[0] = 3")
    local, x, y, z, k = Buffer.declare("C", (4,), "int32"), *(Var.fresh(v) for v in "xyzk")
    tiles = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(2), const(2)), FALSE)  # x occurs twice
    refused(f.with_body(Allocate(local, store(local, 1, OPAQUE))), Couple((), tiles), "an opaque call is an index of C")
    accepted(f.with_body(Allocate(local, LetStmt(k, OPAQUE, store(local, 1, k)))), Couple((), tiles))


def test_what_an_opaque_call_is_given_may_be_an_address() -> None:
    f = program("B[0] = 3")
    b = buffer(f, "B")
    address = Call(HANDLE, "address_of", (load(b, 0),))
    f = f.with_body(seq(f.body, Evaluate(Call(HANDLE, "call_extern", (StringImm("g"), address)))))
    refused(f, rewritten((1,), (0, 1, 0), const(3)), "by address")


def test_what_an_opaque_call_finds_from_an_address_does_not_move() -> None:
    """Who is told where C[0] lives knows where C[1] does."""
    x, y = Var.fresh("x"), Var.fresh("y")
    turned = LayoutMap((x,), (3 - x,), (y,), (3 - y,), (const(4),), FALSE)
    text = 'C = T.alloc_buffer((4,), "int32")\nC[0] = 1\nT.evaluate(T.call_extern("int32", "g", T.address_of({}[0])))'
    for rule in (Couple((), turned), Couple((), turned, "accessed")):
        refused(program(text.format("C")), rule, "the address of an element of C may escape to an opaque call")
        accepted(program(text.format("B")), rule)


def test_nothing_moves_past_an_assertion() -> None:
    f = program("B[A[1]] = 1")
    check = Assert(load(buffer(f, "A"), 0) > 0, "positive")
    local = Buffer.declare("t", (4,), "int32")
    inside = Allocate(local, store(local, 1, load(buffer(f, "A"), 1)))  # touches no memory but its own
    for other in (f.body, inside, Assume(load(buffer(f, "A"), 1) > 0)):
        refused(f.with_body(seq(check, other)), moves.swap((), 0), "stays in its place")
        refused(f.with_body(seq(other, check)), moves.swap((), 0), "stays in its place")


def test_what_nothing_moves_past_is_no_buffer_of_a_program() -> None:
    """A block that is allocated in a statement is not business of another one; so this one must not be a program's."""
    f = program("B[1] = 1")
    check = Assert(load(buffer(f, "A"), 0) > 0, "positive")
    hidden = f.with_body(seq(f.body, Allocate(BARRIER, check)))
    refused(hidden, moves.swap((), 0), "no buffer of a program is what nothing moves past")
    assert isinstance(prove_program(hidden, PROVER, Entry()), NoMatch)
    loop = For(Var.fresh("i"), const(0), const(4), Allocate(BARRIER, check), "parallel")
    assert isinstance(prove_race_free(f.with_body(loop), PROVER, Entry()), NoMatch)


def test_a_view_that_is_not_declared_is_no_way_to_a_block() -> None:
    """It is not known where in the block it lies, and would be what it says once it is declared."""
    f = program("A[0] = B[0]\nA[1] = 5")
    a, b, x = buffer(f, "A"), buffer(f, "B"), Var.fresh("x")
    view = replace(b, name="V", shape=(LetExpr(x, const(3), x),), elem_offset=const(1))
    refused(f, Insert((0,), store(a, load(view, 0), 0), "after"), "buffer V is not declared here")


# -------------------------------------------------------------------------------------------------- blocks and padding


def test_a_view_of_a_block_with_gaps_is_not_entered_anew() -> None:
    spread, out = Buffer.declare("A", (3,), "int32", strides=(2,)), Buffer.declare("B", (4,), "int32")
    view = Buffer.declare("V", (3,), "int32", data=spread.data)
    f = function([spread, out], DeclBuffer(view, seq(store(out, 1, 0), store(out, load(view, 0), 1))))
    refused(f, Insert((0, 0), Evaluate(load(view, 1))), "accessible")
    accepted(f, Insert((0, 0), Evaluate(load(spread, 1))))


def test_padding_reads_elements_that_were_there_before() -> None:
    f = program("B[0] = A[0]")
    a, x, y = buffer(f, "A"), Var.fresh("x"), Var.fresh("y")
    wider = LayoutMap((x,), (x,), (y,), (y,), (const(6),), binary("ge", y, 4))
    itself = "the padding of A is read from no padding that is undefined, or read itself"
    refused(f, Relayout(a, wider, load(a, y) + 1), itself)
    refused(f, Relayout(a, wider, load(a, y + 100)), "in bounds")
    refused(f, Relayout(a, wider, 4 // (y - 5)), "no division by zero")
    accepted(reflexive(f, definite=True), Relayout(a, wider, load(a, 3)))
    accepted(reflexive(f, definite=True), Relayout(a, wider, load(a, y - 4)))


def test_the_condition_of_a_while_loop_is_evaluated_again() -> None:
    text = """
t = T.alloc_buffer((2,), "int32")
for i in range(2):
    t[0] = 1
    if {}:
        t[1] = 0
    B[0] = 0
    while t[B[0]] > 0:
        B[0] = {}
    A[i] = 5
"""
    carried = "scope: the read of t sees a write of its own iteration"
    refused(program(text.format("i == 0", 1)), moved((), "sink"), carried)
    refused(program(text.format("i >= 0", 1)), moved((), "sink"), carried)  # right, but nothing bounds B[0]
    accepted(program(text.format("i >= 0", 1).replace("t[B[0]]", "t[B[1] % 2]")), moved((), "sink"))


def test_an_attribute_that_names_a_view_makes_no_block_of_it() -> None:
    """A view is as large as it says, the block behind it is not; what an attribute is about may live further inside."""
    f = program("t = T.alloc_buffer((4,), 'int32')\nV = T.decl_buffer((100,), 'int32', data=t.data)\nA[0] = 1")
    view = buffer(f, "V")
    theorem = take(Same((), AttrStmt("about", load(view, 0), const(0), f.body)), reflexive(f))
    assert isinstance(theorem, Refines)
    inside = take(Insert((0, 0, 0), store(view, 1, 3)), theorem)
    assert isinstance(inside, Refines)
    outside = take(Insert((0, 0, 0), store(view, 1, 4)), theorem)
    assert isinstance(outside, Unproved) and outside.obligation.claim == "V[4]: accessible"


def test_a_parameter_that_is_only_read_is_not_written() -> None:
    """Such parameters may coincide; a written one overlaps nothing, so the second program would allow less."""
    f = program("B[0] = A[0]")
    a, b = buffer(f, "A"), buffer(f, "B")
    refused(f, Insert((), store(a, load(a, 0), 0)), "A would be written, which was only read")
    accepted(f, Insert((), store(b, load(b, 0), 0)))
    turned = program("A[0] = B[0]")
    refused(turned, Insert((), store(buffer(turned, "B"), load(buffer(turned, "B"), 0), 0)), "B would be written")
    alone = program("x = A[0]\nT.evaluate(x)", 'A: T.Buffer((4,), "int32")')
    accepted(alone, Insert((), store(buffer(alone, "A"), load(buffer(alone, "A"), 0), 0)))


# ------------------------------------------------------------------------------------------------------------ calls


def test_an_argument_may_mention_what_the_function_binds() -> None:
    """``i`` is bound by the function and, around the call, by the caller: the function's own is another variable."""
    i, j, n = Var.fresh("i"), Var.fresh("j"), Var.fresh("n")
    x, b = Buffer.declare("X", (2,), "int32"), Buffer.declare("B", (2,), "int32")
    lemma = take(moves.unroll(()), reflexive(function([x, n], For(i, const(0), const(2), Store(x, n, (i,))))))
    assert isinstance(lemma, Refines)

    def caller(value: Var) -> PrimFunc:
        return function([b], For(i, const(0), const(2), For(j, const(0), const(2), Store(b, value, (j,)))))

    call = Refine((0,), lemma, Arguments((b,), ((n, i),)))
    refused(caller(j), call, "the statement is not f on the arguments")
    assert body_of(accepted(caller(i), call)) == "for i in range(2):\n    B[0] = i\n    B[1] = i"
