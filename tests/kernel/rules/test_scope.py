"""Allocations appear, go and move."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, gives, program, refused, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.rules.scope import Declare, Drop, Move
from verified_tir.kernel.theorem import reflexive
from verified_tir.schedule.rule_builders import moved, of_kind, rescoped

ABN = AB + ", n: T.int32"
ALLOC = 't = T.alloc_buffer((2,), "int32")'


def test_allocate_and_drop() -> None:
    f = program("B[0] = 1", ABN)
    t, n = Buffer.declare("t", (2,), "int32"), variable(f, "n")
    gives(f, Declare((), t), f"{ALLOC}\nB[0] = 1")
    gives(program(f"{ALLOC}\nB[0] = 1"), Drop(()), "B[0] = 1")
    refused(program(f"{ALLOC}\nt[0] = 1"), Drop(()), "buffer t is not declared here")
    refused(f, Declare((), Buffer.declare("t", (n,), "int32")), "safety: n: an extent that is not negative (Refuted)")
    refused(f, Declare((), Buffer.declare("t", (4 // n,), "int32")), "safety: 4 // n: no division by zero")
    used = program(f"{ALLOC}\nB[0] = 1")
    refused(used, Declare((0,), used.body.buffer), "t is bound twice")  # type: ignore[attr-defined]


LOOP = 'for i in range(n):\n    t = T.alloc_buffer(({},), "int32")\n    t[0] = i\n    B[0] = t[0]'


def test_hoist() -> None:
    result = f"{ALLOC}\nfor i in range(n):\n    t[0] = i\n    B[0] = t[0]"
    gives(program(LOOP.format(2), ABN), moved((), "hoist"), result)
    refused(program(LOOP.format("i + 1"), ABN), moved((), "hoist"), "i is not in scope here")
    refused(program(LOOP.format("n"), ABN), moved((), "hoist"), "safety: n: an extent that is not negative (Refuted)")


def test_sink() -> None:
    text = f"{ALLOC}\nfor i in range(3):\n    {{}}\n    B[i] = t[0]"
    result = f"for i in range(3):\n    {ALLOC}\n    t[0] = i\n    B[i] = t[0]"
    gives(program(text.format("t[0] = i")), moved((), "sink"), result)
    carried = "scope: the read of t sees a write of its own iteration (Refuted)"
    refused(program(text.format("t[i % 2] = i")), moved((), "sink"), carried)
    refused(program(text.format("if i < 1:\n        t[0] = i")), moved((), "sink"), carried)
    refused(program(text.format("t[0] = t[0] + 1")), moved((), "sink"), carried)


def test_narrow() -> None:
    text = f"{ALLOC}\nA[0] = 1\nt[0] = 2\nB[0] = t[0]\nA[1] = 3"
    result = 'A[0] = 1\nwith T.alloc_buffer((2,), "int32") as t:\n    t[0] = 2\n    B[0] = t[0]\nA[1] = 3'
    gives(program(text), moved((), "narrow"), result)
    refused(program(f"{ALLOC}\nA[0] = 1\nA[1] = 3"), moved((), "narrow"), "t is not used")
    branch = f"{ALLOC}\nif {{}} > 0:\n    t[0] = 1"
    gives(program(branch.format("A[0]")), moved((), "narrow"), f"if A[0] > 0:\n    {ALLOC}\n    t[0] = 1")
    refused(program(branch.format("t[0]")), moved((), "narrow"), "buffer t is not declared here")
    both = program(branch.format("A[0]") + "\nelse:\n    t[0] = 2")
    refused(both, moved((), "narrow"), "no allocation of the form that 'narrow' needs")


def test_two_allocations_change_places() -> None:
    text = f'{ALLOC}\nu = T.alloc_buffer(({{}},), "int32")\nt[0] = 1\nu[0] = t[0]'
    result = f'u = T.alloc_buffer((3,), "int32")\n{ALLOC}\nt[0] = 1\nu[0] = t[0]'
    gives(program(text.format(3)), moved((), "narrow"), result)
    with pytest.raises(Misfit, match="an extent of u reads memory"):
        reflexive(program(text.format("t[0]")))


def test_widen() -> None:
    text = 'A[0] = 1\nwith T.alloc_buffer((2,), "int32") as t:\n    t[0] = 2\n    B[0] = t[0]\nA[1] = 3\nA[2] = 4'
    wider = 'A[0] = 1\nwith T.alloc_buffer((2,), "int32") as t:\n    t[0] = 2\n    B[0] = t[0]\n    A[1] = 3\nA[2] = 4'
    gives(program(text), moved((1,), "widen"), wider)
    twice = accepted(program(text), moved((1,), "widen"), moved((1,), "widen"))
    refused(twice, moved((1,), "widen"), "there are no 4 statements after this one")
    refused(program(text), moved((0,), "widen"), "no allocation of the form that 'widen' needs")
    refused(program(f"{ALLOC}\nt[0] = 2"), moved((), "widen"), "there are no 1 statements after this one")


def test_an_allocation_goes_anywhere_around_its_uses() -> None:
    used = "t[0] = i\n        B[i] = t[0]\n    A[3] = 0"
    text = f"{ALLOC}\nfor i in range(3):\n    A[i] = i\n    if i > 1:\n        {used}"
    inner = f"for i in range(3):\n    A[i] = i\n    if i > 1:\n        {ALLOC}\n        {used}"
    gives(program(text), Move((), (0, 1, 0)), inner)
    gives(program(inner), Move((0, 1, 0), ()), text)
    refused(program(text), Move((), (0, 1, 0, 0)), "buffer t is not declared here")
    refused(program(text), Move((), (0, 0), 4), "there are no 3 statements after this one")
    refused(program(text), Move((0,), ()), "no buffer is allocated here")
    late = "for i in range(3):\n    if i > 1:\n        B[i] = t[0]\n    t[0] = i"
    refused(program(f"{ALLOC}\n{late}"), Move((), (0, 0), 2), "the read of t sees a write of its own iteration")
    loop = f"for j in range(2):\n    {ALLOC}\n    t[0] = 1\n    A[j] = t[0]"
    gives(program(loop), Move((0,), (0, 0), 2), loop)  # the loop stood around it before
    twice = f"{ALLOC}\nwhile A[0] > 0:\n    B[0] = t[0]\n    t[0] = 1\n    A[0] = A[0] - 1"
    refused(program(twice), Move((), (0, 0), 2), "the read of t sees a write of its own iteration")


def test_rescope() -> None:
    view = 'v = T.decl_buffer((2, 1), "int32", data=t.data{})\nt[0] = 1\nB[0] = v[0, 0]'
    shared = ALLOC.replace('"int32")', '"int32", scope="shared")')
    gives(
        program(f"{ALLOC}\n{view.format('')}"), rescoped((), "shared"), shared + "\n" + view.format(', scope="shared"')
    )
    refused(program("B[0] = 1"), rescoped((), "shared"), "no buffer is allocated here")


def test_rescope_of_what_threads_use() -> None:
    threads = '{}for i in T.thread_binding(2, thread="{}"):\n    {}t[{}] = i\n    B[i] = t[{}]'
    inside = program(threads.format("", "threadIdx.x", f"{ALLOC}\n    ", 0, 0))
    accepted(inside, rescoped((0,), "local"))
    refused(
        inside, rescoped((0,), "shared"), "no two of its iterations write and write the same element of t (Refuted)"
    )
    refused(inside, rescoped((0,), "shared.dyn"), "no two of its iterations")
    apart = program(threads.format("", "threadIdx.x", f"{ALLOC}\n    ", "i", "i"))
    accepted(apart, rescoped((0,), "shared"))
    outside = program(threads.format(f"{ALLOC}\n", "threadIdx.x", "", "i", "i"))
    accepted(outside, rescoped((), "shared"))
    refused(outside, rescoped((), "local"), "uses t of scope local from outside")
    for thread in ("blockIdx.x", "clusterCtaIdx.x", "blockIdx"):
        blocks = program(threads.format(f"{ALLOC}\n", thread, "", "i", "i"))
        for scope in ("local", "shared", "wmma.accumulator", "warp"):
            refused(blocks, rescoped((), scope), f"uses t of scope {scope} from outside")
    accepted(program(threads.format(f"{ALLOC}\n", "vthread.x", "", "i", "i")), rescoped((), "local"))


def test_a_loop_that_makes_no_iteration_uses_nothing() -> None:
    text = f'{ALLOC}\nfor i in T.thread_binding(0, thread="threadIdx.x"):\n    t[i] = i\n    B[i] = t[i]'
    accepted(program(text), rescoped((), "local"))


def test_what_is_bound_after_the_scope_was_set() -> None:
    text = 't = T.alloc_buffer((2,), "int32", scope="local")\nfor i in range(2):\n    t[i] = i\n    B[i] = t[i]'
    f = program(text)
    refused(f, of_kind((0,), "thread_binding", "threadIdx.x"), "uses t of scope local from outside")
    accepted(accepted(f, moved((), "sink")), of_kind((), "thread_binding", "threadIdx.x"))


def test_an_opaque_call_may_keep_a_pointer() -> None:
    """``h`` may touch t, of which ``g`` was told; it must not be gone by then."""
    text = f"{ALLOC}\nt[0] = 2\nT.evaluate(T.call_extern('int32', 'g', {{}}))\nB[0] = t[0]\n{{}}"
    other = "T.evaluate(T.call_extern('int32', 'h'))"
    for told in ("t.data", "T.address_of(t[0])"):
        refused(program(text.format(told, other)), Move((), (0,), 3), "an opaque call may access t")
        accepted(program(text.format(told, "A[0] = 1")), Move((), (0,), 3))
    accepted(program(text.format("A[0]", other)), Move((), (0,), 3))
    loop = (
        f"for i in range(2):\n    {ALLOC}\n    t[0] = 2\n    T.evaluate(T.call_extern('int32', 'g', t.data))\n{other}"
    )
    accepted(program(loop), Move((0, 0), (0,)))
    accepted(program(loop), Move((0, 0), ()))
