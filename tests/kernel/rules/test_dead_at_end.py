"""A statement goes whose results are written anew before anybody reads them."""

from __future__ import annotations

import pytest

from tests.kernel.faults import stores_change_nothing
from tests.kernel.programs import AB, accepted, buffer, gives, program, refused
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import FALSE, TRUE, Call, StringImm
from verified_tir.ir.stmt import Allocate, Assert, Evaluate, While, seq
from verified_tir.kernel.rules.erase import Erase

TEXT = """
t = T.alloc_buffer((8,), "int32")
for x in range(8):
    t[x] = A[0]
{}
"""
SEEN = "no later read sees it (Refuted)"


@pytest.mark.parametrize(
    ("later", "fine"),
    [
        ("for y in range(3):\n    t[y] = 1\n    B[y] = t[y]", True),
        ("for y in range(3):\n    t[y] = 1\n    B[y] = t[y + 1]", False),
        ("for y in range(3):\n    t[y + 1] = 1\n    B[y] = t[y]", False),
        ("for y in range(3):\n    if y == 0:\n        t[0] = 1\n    B[y] = t[0]", True),
        ("for y in range(3):\n    if y == 1:\n        t[0] = 1\n    B[y] = t[0]", False),
        ("for y in range(3):\n    B[y] = t[y]\n    t[y + 1] = 1", False),
        ("t[0] = 1\nfor y in range(3):\n    B[y] = t[y]\n    t[y + 1] = 1", True),
        ("for y in range(3):\n    t[y] = 1\nfor y in range(3):\n    B[y] = t[y]", True),
        ("for y in range(B[0]):\n    t[y] = 1\nfor y in range(3):\n    B[y] = t[y]", False),
        ("for y in range(2):\n    t[y] = 1\nt[2] = 2\nfor y in range(3):\n    B[y] = t[y]", True),
        ("for y in range(3):\n    t[2 - y] = 1\nfor y in range(3):\n    B[y] = t[y]", True),
        ("for y in range(3):\n    t[y] = t[y] + 1\nB[0] = 1", False),
        ("if B[0] > 0:\n    t[0] = 1\nB[0] = t[0]", False),
        ("if n > 0:\n    t[0] = 1\nelse:\n    t[0] = 2\nB[0] = t[0]", True),
        ("while B[0] > 0:\n    B[0] = B[0] - 1\n    t[0] = 1\nB[0] = t[0]", False),
        ("while t[0] > 0:\n    t[0] = 0", False),
        ("t[0] = 3\nwhile t[0] > 0:\n    t[0] = t[0] - 1", True),
        ("t[B[1]] = 3\nB[0] = t[B[1]]", True),
        ("t[B[1]] = 3\nB[1] = 0\nB[0] = t[B[1]]", False),
        ("B[0] = 1", True),
    ],
)
def test_each_read_sees_a_later_write(later: str, fine: bool) -> None:
    f = program(TEXT.format(later), AB + ", n: T.int32")
    if fine:
        gives(f, Erase((0, 0), dead_at_end=True), f't = T.alloc_buffer((8,), "int32")\n{later}')
    else:
        refused(f, Erase((0, 0), dead_at_end=True), SEEN)


PART = """
t = T.alloc_buffer((8,), "int32")
t[5] = 7
{}
for y in range(3):
    t[y] = 1
{}
"""


@pytest.mark.parametrize(
    ("erased", "read", "fine"),
    [
        ("for x in range(3):\n    t[x] = A[0]", "B[0] = t[0] + t[5]", True),
        ("for x in range(3):\n    t[x] = A[0]", "B[0] = t[3]", True),
        ("for x in range(3):\n    t[x + 1] = A[0]", "B[0] = t[3]", False),
        ("for x in range(3):\n    t[x + n] = A[0]", "B[0] = t[5]", False),
        ("for x in range(n):\n    t[x] = A[0]", "B[0] = t[n]", True),
        ("for x in range(n):\n    t[x] = A[0]", "B[0] = t[n - 1]", False),
        ("for x in range(0):\n    t[x + 5] = A[0]", "B[0] = t[5]", True),
        ("for x in range(3, 9):\n    if x > 5:\n        t[x - 1] = A[0]", "B[0] = t[4]", True),
        ("for x in range(3, 9):\n    if x > 5:\n        t[x - 1] = A[0]", "B[0] = t[5]", False),
        ("if A[0] > 0:\n    t[5] = 1", "B[0] = t[5]", False),
        ("if A[0] > 0:\n    t[5] = 1", "if A[0] <= 0:\n    B[0] = t[5]", True),
        ("if A[0] > 0:\n    t[5] = 1", "A[0] = 0\nif A[0] <= 0:\n    B[0] = t[5]", False),
        ("t[A[0]] = 1", "B[0] = t[5]", False),
        ("t[A[0]] = 1", "B[0] = t[A[0] + 1]", True),
        ("t[A[0]] = 1", "A[0] = A[0] - 1\nB[0] = t[A[0] + 1]", False),
        ("t[t[5]] = 1", "B[0] = t[5]", False),
        ('u = T.alloc_buffer((9,), "int32")\nu[5] = 1\nt[0] = u[5]', "B[0] = t[5]", True),
    ],
)
def test_what_the_statement_does_not_store_may_be_read(erased: str, read: str, fine: bool) -> None:
    inside = erased.replace("\n", "\n    ") if erased.startswith("u") else erased
    inside = inside.replace('u = T.alloc_buffer((9,), "int32")', 'with T.alloc_buffer((9,), "int32") as u:')
    f = program(PART.format(inside, read), AB + ", n: T.int32")
    if fine:
        accepted(f, Erase((0, 1), dead_at_end=True))
    else:
        refused(f, Erase((0, 1), dead_at_end=True), SEEN)


def test_what_is_stored_through_a_view_is_stored() -> None:
    text = """
t = T.alloc_buffer((8,), "int32")
v = T.decl_buffer((2, 4), "int32", data=t.data)
t[5] = 7
v[1, {}] = 3
B[0] = t[5]
"""
    refused(program(text.format(1)), Erase((0, 0, 1), dead_at_end=True), SEEN)
    accepted(program(text.format(2)), Erase((0, 0, 1), dead_at_end=True))


def test_only_local_blocks_without_loops_between() -> None:
    refused(program("A[0] = 1\nA[0] = 2"), Erase((0,), dead_at_end=True), "A outlives the function")
    text = 't = T.alloc_buffer((2,), "int32")\nfor i in range(3):\n    B[i] = {}\n    t[0] = i\n    t[1] = i'
    refused(program(text.format("t[0]")), Erase((0, 0, 1), dead_at_end=True), "sink the allocation first")
    inside = 'for i in range(3):\n    t = T.alloc_buffer((2,), "int32")\n    t[0] = i\n    t[0] = 1\n    B[i] = t[0]'
    after = 'for i in range(3):\n    t = T.alloc_buffer((2,), "int32")\n    t[0] = 1\n    B[i] = t[0]'
    gives(program(inside), Erase((0, 0, 0), dead_at_end=True), after)
    refused(program(inside), Erase((0, 0, 1), dead_at_end=True), SEEN)
    refused(program(inside), Erase((0, 0, 9), dead_at_end=True), "no statement at step 9")


def test_conditions_between_the_allocation_and_the_statement() -> None:
    text = 't = T.alloc_buffer((2,), "int32")\nif A[0] > 0:\n    t[0] = 1\n    {}\nB[0] = t[0]'
    refused(program(text.format("B[1] = 0")), Erase((0, 0, 0, 0), dead_at_end=True), SEEN)
    gives(program(text.format("t[0] = 5")), Erase((0, 0, 0, 0), dead_at_end=True),
          't = T.alloc_buffer((2,), "int32")\nif A[0] > 0:\n    t[0] = 5\nB[0] = t[0]')  # fmt: skip


def test_what_is_stored_elsewhere_is_seen() -> None:
    text = 't = T.alloc_buffer((2,), "int32")\nfor i in range(2):\n    t[i] = 1\n    {}\nB[0] = 1'
    refused(program(text.format("A[i] = 1")), Erase((0, 0), dead_at_end=True), "A outlives the function")
    gives(
        program(text.format("t[i] = 2")), Erase((0, 0), dead_at_end=True), 't = T.alloc_buffer((2,), "int32")\nB[0] = 1'
    )


def test_another_view_reads() -> None:
    head = 't = T.alloc_buffer((4,), "int32")\nV = T.decl_buffer((2, 2), "int32", data=t.data)\n'
    text = head + "t[3] = 1\n{}\nB[0] = V[1, 1]"
    refused(program(text.format("t[2] = 2")), Erase((0, 0, 0), dead_at_end=True), SEEN)
    kept = text.replace("t[3] = 1\n", "").format("t[3] = 2")
    gives(program(text.format("t[3] = 2")), Erase((0, 0, 0), dead_at_end=True), kept)
    other = text.replace('(2, 2), "int32"', '(2, 2), "float32"').replace(
        "B[0] = V[1, 1]", "B[0] = T.Cast('int32', V[1, 1])"
    )
    refused(program(other.format("t[3] = 2")), Erase((0, 0, 0), dead_at_end=True), SEEN)


def test_barriers() -> None:
    f = program('t = T.alloc_buffer((4,), "int32")\nt[0] = 1\nB[0] = 1')
    t, first, last = buffer(f, "t"), f.body.body.stmts[0], f.body.body.stmts[1]  # type: ignore[attr-defined]
    call = Evaluate(Call(INT32, "call_extern", (StringImm("g"),)))
    for s in (call, Assert(TRUE, "m"), While(FALSE, first)):
        erased = f.with_body(Allocate(t, seq(s, last)))
        refused(erased, Erase((0, 0), dead_at_end=True), "cannot be erased")
    refused(f.with_body(Allocate(t, seq(first, call))), Erase((0, 0), dead_at_end=True), "an opaque call comes later")


STALE = """
t = T.alloc_buffer((1,), "int32")
t[0] = 7
if B[0] > 0:
    t[0] = 1
B[{}] = 1
if B[0] > 0:
    B[1] = t[0]
"""


def test_a_condition_on_memory_ends_with_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted(program(STALE.format(1)), Erase((0, 0), dead_at_end=True))
    refused(program(STALE.format(0)), Erase((0, 0), dead_at_end=True), SEEN)
    stores_change_nothing(monkeypatch)
    accepted(program(STALE.format(0)), Erase((0, 0), dead_at_end=True))
