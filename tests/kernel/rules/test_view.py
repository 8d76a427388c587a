"""Views of a block: declared, used instead of another, allocated under another shape, shared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import accepted, body_of, buffer, load, program, refused, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Broadcast, Expr, Ramp, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse
from verified_tir.ir.stmt import Allocate, Evaluate, LetStmt, Seq, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite, substitute, walk
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.schedule.edits import redirected
from verified_tir.schedule.rule_builders import run_once, unlabelled

NEST = "for i in range({0}):\n    for j in range({1}):\n        B[i, j] = A[i, j] + 1"
SQUARE = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")'
SYMBOLIC = 'A: T.Buffer((n, m), "float32"), B: T.Buffer((n, m), "float32"), n: T.int32, m: T.int32'


def flat(f: PrimFunc, name: str, *shape: Expr | int, dtype: str = "float32") -> Buffer:
    return Buffer.declare(f"{name}_flat", shape, dtype, data=buffer(f, name).data)


def indices_of(f: PrimFunc, name: str) -> list[tuple[Expr, ...]]:
    b = buffer(f, name)
    return [n.indices for n in walk(f) if hasattr(n, "indices") and getattr(n, "buffer", None) is b]  # type: ignore[attr-defined]


def test_flattening_parameters() -> None:
    f = program(NEST.format(4, 8), SQUARE)
    i, j = variable(f, "i"), variable(f, "j")
    a, b = flat(f, "A", 32), flat(f, "B", 32)
    good, bad = (((i, j), (i * 8 + j,)),), (((i, j), (i * 7 + j,)),)
    declare = (Declare((), a, True), Declare((0,), b, True))
    moved = accepted(
        f, *declare, redirected((0, 0), buffer(f, "A"), a, good), redirected((0, 0), buffer(f, "B"), b, good)
    )
    assert body_of(moved) == (
        'A_flat = T.decl_buffer((32,), "float32", data=A.data)\nB_flat = T.decl_buffer((32,), "float32", data=B.data)\n'
        "for i, j in T.grid(4, 8):\n    B_flat[i * 8 + j] = A_flat[i * 8 + j] + T.float32(1.0)"
    )
    declared = accepted(f, *declare)
    refused(
        declared,
        redirected((0, 0), buffer(f, "A"), a, bad),
        "the load of A_flat reads where the one of A did (Refuted)",
    )
    refused(
        declared,
        redirected((0, 0), buffer(f, "B"), b, bad),
        "the store to B_flat goes where the one to B went (Refuted)",
    )
    refused(declared, redirected((0, 0), buffer(f, "A"), b, good), "not a view of the block")
    refused(f, redirected((), buffer(f, "A"), a, good), "not declared")
    small = accepted(f, Declare((), flat(f, "A", 31), True))
    new = buffer(small, "A_flat")
    refused(small, redirected((0,), buffer(f, "A"), new, good), "in bounds (Refuted)")
    large = accepted(f, Declare((), flat(f, "A", 33), True))  # a view may be larger than its block ...
    accepted(
        large, redirected((0,), buffer(f, "A"), buffer(large, "A_flat"), good)
    )  # ... if nothing beyond it is touched


def test_symbolic_extents() -> None:
    f = program(NEST.format("n", "m"), SYMBOLIC)
    i, j, n, m = (variable(f, name) for name in "ijnm")
    a = flat(f, "A", n * m)
    declared = accepted(f, Declare((), a, True))
    accepted(declared, redirected((0,), buffer(f, "A"), a, (((i, j), (i * m + j,)),)))
    refused(declared, redirected((0,), buffer(f, "A"), a, (((i, j), (i * n + j,)),)), "(Refuted)")


def test_lanes_and_pointer_casts() -> None:
    f = program("for i in range(2):\n    B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] + T.Broadcast(1.0, 4)",
                'A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32")')  # fmt: skip
    i = variable(f, "i")
    wide = flat(f, "A", 2, dtype="float32x4")
    ramp = Ramp(i * 4, const(1), 4)
    declared = accepted(f, Declare((), wide, True))
    moved = accepted(declared, redirected((0,), buffer(f, "A"), wide, (((ramp,), (i,)),)))
    assert "B[i * 4:i * 4 + 4] = A_flat[i] + " in body_of(moved)
    refused(declared, redirected((0,), buffer(f, "A"), wide, (((ramp,), (i * 4,)),)), "in bounds")
    three = accepted(f, Declare((), flat(f, "B", 3, dtype="float32x4"), True))
    b = buffer(three, "B_flat")  # its third element ends beyond the block
    accepted(three, redirected((0,), buffer(f, "B"), b, (((ramp,), (i,)),)))
    refused(three, redirected((0,), buffer(f, "B"), b, (((ramp,), (i + 1,)),)), "(Refuted)")
    wrong = accepted(f, Declare((), flat(f, "A", 8, dtype="int32"), True))
    refused(wrong, redirected((0,), buffer(f, "A"), buffer(wrong, "A_flat"), (((ramp,), (ramp,)),)), "holds float32")


def test_an_element_of_lanes_by_lanes_of_the_index() -> None:
    f = program("B[T.Ramp(0, 2, 4)] = A[T.Ramp(0, 2, 4)]",
                'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")')  # fmt: skip
    declared = accepted(f, Declare((), flat(f, "A", 4, dtype="float32x2"), True))
    ramp = Ramp(const(0), const(2), 4)
    pair = Ramp(const(0), const(1), 2)
    refused(declared, redirected((0,), buffer(f, "A"), buffer(declared, "A_flat"), (((ramp,), (pair,)),)), "(Refuted)")


def test_loads_within_indices_and_conditions() -> None:
    text = "if A[0] < 4:\n    if A[0] >= 0:\n        B[A[0]] = A[A[0]]\nwhile A[3] < 0:\n    A[3] = A[3] + 1"
    f = program(text, 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")')
    a = flat(f, "A", 2, 2, dtype="int32")
    moves = tuple((x, (x[0] // 2, x[0] % 2)) for x in indices_of(f, "A"))
    declared = accepted(f, Declare((), a, True))
    moved = accepted(declared, redirected((0,), buffer(f, "A"), a, moves))
    assert " A[" not in body_of(moved)
    unguarded = program("A[0] = 0\n" + text, 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")')
    assert isinstance(unguarded.body.stmts[0], Store)  # type: ignore[attr-defined]


def test_views_that_nobody_uses() -> None:
    f = program(NEST.format(4, 8), SQUARE)
    a = flat(f, "A", 32)
    declared = accepted(f, Declare((), a, True))
    assert accepted(declared, Drop(())) is f
    i, j = variable(f, "i"), variable(f, "j")
    moved = accepted(declared, redirected((0,), buffer(f, "A"), a, (((i, j), (i * 8 + j,)),)))
    refused(moved, Drop(()), "buffer A_flat is not declared here")
    refused(f, Drop(()), "no buffer is declared here")
    assert accepted(declared, Declare((0,), a, True), Drop((0,))) is declared  # said twice, it means the same
    refused(f, Declare((0, 0), Buffer.declare("v", (4,), data=buffer(f, "A").data, elem_offset=4 // i), True), "zero")
    refused(f, Declare((), Buffer.declare("v", (4,)), True), "is declared over v, which is not a block here")


LOCAL = 't = T.alloc_buffer((4, 8), "float32")\nfor i, j in T.grid(4, 8):\n    t[i, j] = 1.0\nB[0, 0] = t[3, 7]'


def test_a_local_buffer_of_another_shape() -> None:
    f = program(LOCAL, SQUARE)
    t = buffer(f, "t")
    i, j = variable(f, "i"), variable(f, "j")
    w = Buffer.declare("w", (32,), data=t.data)
    moves = (((i, j), (i * 8 + j,)), ((const(3), const(7)), (const(31),)))
    done = accepted(f, MergeAllocations((), (), w), redirected((0, 0), t, w, moves), Drop((0,)))
    assert body_of(done) == (
        'w = T.alloc_buffer((32,), "float32")\n'
        "for i, j in T.grid(4, 8):\n    w[i * 8 + j] = T.float32(1.0)\nB[0, 0] = w[31]"
    )
    accepted(f, MergeAllocations((), (), Buffer.declare("w", (9,), "float32x4", data=t.data)))
    refused(
        f,
        MergeAllocations((), (), Buffer.declare("w", (31,), data=t.data)),
        "the block of w is large enough for t (Refuted)",
    )
    of_another_block = accepted(f, MergeAllocations((), (), Buffer.declare("v", (32,))))
    assert 't = T.decl_buffer((4, 8), "float32", data=v.data)' in body_of(of_another_block)
    with pytest.raises(IRError, match="w is a view of a block in scope 'global', not in 'shared'"):
        Buffer.declare("w", (32,), data=t.data, scope="shared")
    refused(f, MergeAllocations((0,), (), w), "no buffer is allocated here")


def once(name: str, extent: int) -> str:
    """A loop of one iteration with a local buffer of this extent."""
    return (
        f'for k in range(1):\n    {name} = T.alloc_buffer(({extent},), "float32")\n    for i in range({extent}):\n'
        f"        {name}[i] = A[0, i]\n    B[0, 1] = {name}[{extent - 1}]\n"
    )


def test_sharing_a_block() -> None:
    f = program(once("t", 8) + "A[0, 0] = 1.0\n" + once("u", 4), SQUARE)
    scoped = accepted(f, run_once((0,)), run_once((2,)))
    w = Buffer.declare("w", (8,))
    shared = body_of(accepted(scoped, MergeAllocations((), (0, 2), w)))
    assert shared.startswith('w = T.alloc_buffer((8,), "float32")\n')
    assert shared.count("data=w.data") == 2
    refused(
        scoped,
        MergeAllocations((), (0, 2), Buffer.declare("w", (7,))),
        "the block of w is large enough for t (Refuted)",
    )
    assert body_of(accepted(scoped, MergeAllocations((), (2, 0), w))) == shared
    assert body_of(accepted(scoped, MergeAllocations((), (0,), w))).count("data=w.data") == 1
    refused(scoped, MergeAllocations((), (0, 1), w), "no buffer is allocated here")
    refused(scoped, MergeAllocations((), (0, 3), w), "no statement at step 3")
    refused(scoped, MergeAllocations((), (-1, 0), w), "no statement at step -1")
    refused(scoped, MergeAllocations((), (0, 2), buffer(scoped, "A")), "A is bound twice")
    refused(scoped, MergeAllocations((), (0,), buffer(scoped, "u")), "u is bound twice")
    refused(scoped, MergeAllocations((), (0, 2), Buffer.declare("w", (8,), scope="local")), "lives in scope")


def test_broadcast_indices_touch_one_element() -> None:
    f = program("B[0, 0:4] = A[0, T.Broadcast(1, 4)]", SQUARE)
    a = flat(f, "A", 32)
    declared = accepted(f, Declare((), a, True))
    ones = Broadcast(const(1), 4)
    accepted(declared, redirected((0,), buffer(f, "A"), a, (((const(0), ones), (ones,)),)))
    refused(
        declared,
        redirected((0,), buffer(f, "A"), a, (((const(0), ones), (Ramp(const(1), const(1), 4),)),)),
        "(Refuted)",
    )


def test_another_function_sees_the_shape_of_the_block_that_it_is_given() -> None:
    """The callee's size is that of the block: with a larger one it would store another number."""
    text = """
@I.ir_module
class M:
    @T.prim_func
    def size(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "int32")
        A[0] = n

    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        with T.sblock("outer"):
            with T.sblock("first"):
                t = T.alloc_buffer((4,), "int32")
                M.size(t.data)
                A[0] = t[0]
            with T.sblock("second"):
                u = T.alloc_buffer((4,), "int32")
                u[0] = 1
                A[1] = u[0]
"""
    f = dict(parse(text).functions)["f"]  # type: ignore[union-attr]
    rows = accepted(f, unlabelled)
    assert isinstance(rows.body, Seq) and all(isinstance(s, Allocate) for s in rows.body.stmts)
    why = "t is passed to size, which would see another shape"
    refused(rows, MergeAllocations((0,), (), Buffer.declare("w", (8,), "int32", data=buffer(f, "t").data)), why)
    accepted(rows, MergeAllocations((1,), (), Buffer.declare("w", (8,), "int32", data=buffer(f, "u").data)))
    refused(rows, MergeAllocations((), (0, 1), Buffer.declare("w", (8,), "int32")), why)
    pointer, name = buffer(f, "t").data, Var.fresh("p", HANDLE)
    named = rows.with_body(
        rewrite(
            rows.body,
            lambda n: LetStmt(name, pointer, substitute(n, {pointer: name})) if isinstance(n, Evaluate) else None,
        )
    )
    refused(named, MergeAllocations((0,), (), Buffer.declare("w", (8,), "int32", data=pointer)), why)


def test_the_same_value_at_another_place_is_not_the_same_access() -> None:
    """All of B is 0.0, but other iterations are writing it."""
    text = (
        "for k in range(4):\n    B[k] = T.float32(0)\nfor i in T.parallel(4):\n    A[i] = B[i]\n    B[i] = T.float32(0)"
    )
    f = program(text, 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")')
    i, v = variable(f, "i"), flat(f, "B", 4)
    declared = accepted(f, Declare((), v, True))
    place = (0, 1, 0, 0)
    accepted(declared, redirected(place, buffer(f, "B"), v, (((i,), (i,)),)))
    refused(declared, redirected(place, buffer(f, "B"), v, (((i,), (3 - i,)),)), "the load of B_flat reads where")


def test_indices_that_read_are_asked_about_in_parallel_loops() -> None:
    """The new index is 0 more than the old one, but it reads what another iteration writes."""
    text = "for k in range(4):\n    A[k] = 0\nfor i in T.parallel(4):\n    B[i] = 1\n    A[i] = A[i] * 1"
    f = program(text)
    i, v = variable(f, "i"), flat(f, "B", 4, dtype="int32")
    declared = accepted(f, Declare((), v, True))
    move = (((i,), (i + load(buffer(f, "A"), 3 - i) * 0,)),)
    refused(declared, redirected((0, 1, 0, 0), buffer(f, "B"), v, move), "no two of its iterations")


def test_the_allocation_keeps_its_annotations() -> None:
    f = program(LOCAL, SQUARE)
    assert isinstance(f.body, Allocate)
    noted = f.with_body(replace(f.body, annotations=(("pragma", const(1)),)))
    done = accepted(noted, MergeAllocations((), (), Buffer.declare("w", (32,))))
    assert isinstance(done.body, Allocate) and done.body.annotations == (("pragma", const(1)),)


def test_an_opaque_call_sees_the_address_and_no_shape() -> None:
    """Another function of the module would see the shape of what it is passed."""
    text = LOCAL + '\nT.evaluate(T.call_extern("int32", "g", t.data))'
    f = program(text, SQUARE)
    accepted(f, MergeAllocations((), (), Buffer.declare("w", (32,))))
