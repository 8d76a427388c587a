"""Statements appear: stores of the bits that are there, of anything where nothing is, and dead ones."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, buffer, gives, load, program, refused, store, variable
from verified_tir.ir.expr import FloatImm, Var
from verified_tir.ir.stmt import Assert, Assume, For, If, seq
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule.rule_builders import with_else

FG = 'F: T.Buffer((4,), "float32"), G: T.Buffer((4,), "float32")'
CHANGES = "no-op: the inserted store to {} writes the bits that are there already (Refuted)"


def test_the_bits_that_are_there() -> None:
    f = program("A[0] = 3\nB[0] = 1")
    a = buffer(f, "A")
    gives(f, Insert((1,), store(a, 3, 0)), "A[0] = 3\nA[0] = 3\nB[0] = 1")
    gives(f, Insert((0,), store(a, load(a, 0), 0), "after"), "A[0] = 3\nA[0] = A[0]\nB[0] = 1")
    refused(f, Insert((0,), store(a, 3, 0)), CHANGES.format("A"))
    refused(f, Insert((1,), store(a, 4, 0)), CHANGES.format("A"))


def test_anything_where_nothing_is() -> None:
    f = program('t = T.alloc_buffer((4,), "int32")\nB[0] = 1\nt[1] = 2\nB[1] = t[1]')
    t = buffer(f, "t")
    text = 't = T.alloc_buffer((4,), "int32")\nt[1] = 7\nB[0] = 1\nt[1] = 2\nB[1] = t[1]'
    gives(f, Insert((0, 0), store(t, 7, 1)), text)
    refused(f, Insert((0, 2), store(t, 7, 1)), CHANGES.format("t"))


def test_what_it_evaluates_is_safe() -> None:
    f = program("A[0] = 1", AB + ", n: T.int32")
    a, n, i = buffer(f, "A"), variable(f, "n"), Var.fresh("i")
    same = For(i, const(0), n, store(a, load(a, i), i))
    refused(f, Insert((), same), "safety: A[i]: in bounds (Refuted)")
    gives(f, Insert((), For(i, const(0), const(4), store(a, load(a, i), i))),
          "for i in range(4):\n    A[i] = A[i]\nA[0] = 1")  # fmt: skip
    refused(f, Insert((), If(load(a, 0) > 0, store(a, load(a, 0), 0))), "safety: A[0] > 0: a branch on undef (Refuted)")
    refused(f, Insert((), Assume(n > 0)), "safety: n > 0: the assumption holds (Refuted)")
    refused(f, Insert((), Assert(n > 0, "positive")), "an opaque call, an assert or a while loop cannot be inserted")


def test_what_is_there_after_a_statement_is_what_it_left() -> None:
    f = program("T.assume(A[0] == 5)\nA[0] = 1")
    a = buffer(f, "A")
    accepted(f, Insert((1,), store(a, 1, 0), "after"))
    refused(f, Insert((1,), store(a, 5, 0), "after"), CHANGES.format("A"))
    accepted(f, Insert((1,), store(a, 5, 0)))


def test_what_the_statement_reads_itself_is_read() -> None:
    """It would copy B[1] to B[2]; what it reads of t is looked at where it begins, and there it is 1."""
    f = program('t = T.alloc_buffer((1,), "int32")\nt[0] = 1\nB[0] = 3')
    t, b = buffer(f, "t"), buffer(f, "B")
    copy = store(b, load(b, 1), load(t, 0))
    accepted(f, Insert((0, 1), copy, "after"))
    refused(f, Insert((0, 1), seq(store(t, 2, 0), copy), "after"), CHANGES.format("t"))
    accepted(f, Insert((0, 1), seq(store(t, 2, 0), store(b, load(b, 1), 1)), "after"))


def test_else() -> None:
    text = "for i in range(4):\n    A[i] = i\nfor i in range(4):\n    if B[i] > 0:\n        A[i] = 7"
    f = program(text)
    a, i = buffer(f, "A"), f.body.stmts[1].var  # type: ignore[attr-defined]
    f = accepted(f, with_else((1, 0)))
    arm = text + "\n    else:\n        {}"
    gives(f, Insert((1, 0, 1), store(a, i, i)), arm.format("A[i] = i"))
    gives(f, Insert((1, 0, 1), store(a, load(a, i), i)), arm.format("A[i] = A[i]"))
    earlier = store(a, 3 - i, 3 - i)  # an earlier iteration may have stored a 7 there
    refused(f, Insert((1, 0, 1), earlier), CHANGES.format("A"))
    refused(f, Insert((1, 0, 1), store(a, 7, i)), CHANGES.format("A"))  # what the other arm stores


def test_minus_zero() -> None:
    text = "F[0] = T.float32({})\nfor i in range(4):\n    F[0] = F[0] + G[i]\n{}G[0] = T.float32(1.0)"
    for start, unchanged in (("0.0", True), ("-0.0", False)):
        f = program(text.format(start, ""), FG)
        total = buffer(f, "F")
        rule = Insert((2,), store(total, load(total, 0) + FloatImm(total.dtype, 0.0), 0))
        if unchanged:  # 0.0 + x is never -0.0
            gives(f, rule, text.format(start, "F[0] = F[0] + T.float32(0.0)\n"))
        else:
            refused(f, rule, CHANGES.format("F"))


def test_a_dead_store() -> None:
    text = "B[0] = 1\nB[1] = {}\nA[0] = 2"
    f = program(text.format("A[1]"))
    a = buffer(f, "A")
    gives(f, Insert((0,), store(a, 9, 0), overwritten_by=3), "A[0] = 9\nB[0] = 1\nB[1] = A[1]\nA[0] = 2")
    reads = "dead-store: the store to A is dead: no later read sees it (Refuted)"
    refused(
        program(text.format("A[0]")), Insert((0,), store(a, 9, 0), overwritten_by=3), "buffer A is not declared here"
    )
    g = program(text.format("A[0]"))
    refused(g, Insert((0,), store(buffer(g, "A"), 9, 0), overwritten_by=3), reads)
    refused(f, Insert((0,), store(a, 9, 1), overwritten_by=3), "dead-store: the store to A is dead: ")
    refused(f, Insert((0,), store(a, 9, 0), overwritten_by=4), "there are no 3 statements after this one")


def test_what_does_not_fit() -> None:
    f = program("for i in range(4):\n    A[i] = i\nB[0] = 1")
    a, i = buffer(f, "A"), variable(f, "i")
    refused(f, Insert((1,), store(a, i, 0)), "i is not in scope here")
    other = program('t = T.alloc_buffer((4,), "int32")\nB[0] = 1')
    refused(f, Insert((1,), store(buffer(other, "t"), 1, 0)), "buffer t is not declared here")
    refused(f, with_else((1,)), "not an if without else")


# ------------------------------------------------------------------------- dead stores that the statement itself reads

DEAD = "the store to {} is dead: it is certainly overwritten later (Refuted)"


def test_a_dead_store_may_read_what_is_dead() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    a = buffer(f, "A")
    twice = seq(store(a, load(a, 0) * 2, 0), store(a, load(a, 0) + 1, 0))
    gives(f, Insert((0,), twice, "before", 1), "A[0] = A[0] * 2\nA[0] = A[0] + 1\nA[0] = 1\nB[0] = 2")
    refused(f, Insert((1,), twice, "before", 1), DEAD.format("A"))  # B[0] = 2 overwrites nothing of A


def test_a_dead_value_goes_nowhere_else() -> None:
    f = program("B[1] = 0\nA[0] = 1\nB[0] = 2")
    a, b = buffer(f, "A"), buffer(f, "B")
    leak = seq(store(a, 7, 0), store(b, load(a, 0) * 0, 1))
    refused(f, Insert((1,), leak, "before", 1), DEAD.format("B"))
    gives(f, Insert((1,), seq(store(a, load(a, 0), 0), store(b, 0, 1)), "before", 1),
          "B[1] = 0\nA[0] = A[0]\nB[1] = 0\nA[0] = 1\nB[0] = 2")  # fmt: skip


def test_indices_and_conditions_do_not_rest_on_dead_values() -> None:
    f = program("A[0] = 3\nB[0] = 2\nA[0] = 1")
    a, b = buffer(f, "A"), buffer(f, "B")
    dead = store(a, load(a, 0) + 100, 0)
    refused(f, Insert((1,), seq(dead, store(a, 9, load(a, 0))), "before", 2), "safety: A[A[0]]")
    refused(f, Insert((1,), seq(dead, store(b, load(b, load(a, 0)), 3)), "before", 2), "safety: B[A[0]]")
    branch = If(load(a, 0) > 5, store(a, 7, 0))
    refused(f, Insert((1,), seq(dead, branch), "before", 2), "safety: A[0] > 5: a branch on undef (Refuted)")


def test_every_element_is_overwritten_and_none_is_read_before() -> None:
    for body, claim in (
        ("for i in range(4):\n    A[i] = i", None),
        ("for i in range(3):\n    A[i] = i", DEAD.format("A")),
        ("for i in range(4):\n    A[i] = A[3 - i]", "no later read sees it"),
        ("for i in range(4):\n    if B[i] > 0:\n        A[i] = i", DEAD.format("A")),
    ):
        f = program("B[0] = 1\n" + body)
        a, i = buffer(f, "A"), Var.fresh("i")
        rule = Insert((0,), For(i, const(0), const(4), store(a, load(a, i) + 1, i)), "after", 1)
        if claim is None:
            gives(f, rule, "B[0] = 1\nfor i in range(4):\n    A[i] = A[i] + 1\n" + body)
        else:
            refused(f, rule, claim)


def test_a_call_that_may_write_anything_writes_nothing_by_itself() -> None:
    """Arrays that are only read may coincide, and what is looked for at entry is what the program stores itself."""
    f = program('T.evaluate(T.call_extern("int32", "g", B.data))\nB[0] = A[0]')
    again = store(buffer(f, "A"), load(buffer(f, "A"), 0), 0)
    refused(f, Insert((0,), again, "after"), "A would be written, which was only read")


def test_what_is_computed_with_the_result_of_a_call_may_be_undefined() -> None:
    """A call's result is defined; a sum with what was never stored is not."""
    text = 't = T.alloc_buffer((1,), "int32")\n{}x: T.int32 = T.call_extern("int32", "g") + {}\nB[0] = x'
    for before, term, fine in (("", "t[0]", False), ("", "n", True)):
        f = program(text.format(before, term), AB + ", n: T.int32")
        b = buffer(f, "B")
        rule = Insert((0, 0), If(variable(f, "x") > 0, store(b, load(b, 0), 0)))
        if fine:
            accepted(f, rule)
        else:
            refused(f, rule, "safety: x > 0: a branch on undef (Refuted)")
