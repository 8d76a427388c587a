"""HoistLayoutRewrite: rewrites leave PrimFuncs, the kernel proves the graph that comes of it, planning folds them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from verified_tir import Schedule
from verified_tir.certificate.check import check
from verified_tir.certificate.store import save
from verified_tir.certificate.write import Origin, Written
from verified_tir.graph import Graph, GraphBuilder, GraphError, TensorType
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.hoist import FROZEN, Hoisted, hoist
from verified_tir.graph.plan import plan
from verified_tir.graph.program import program_of_graph, same_program
from verified_tir.graph.rewrite_passes import frozen_by_hoisting, hoist_layout_rewrites
from verified_tir.graph.text import parse_graph
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer[(16, 16), "float32"], B: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]):
    B_ = T.alloc_buffer([16, 4, 4], dtype="float32")
    for i0_o, i1_o in T.grid(16, 16):
        with T.block("layout_rewrite"):
            i0, i1 = T.axis.remap("SS", [i0_o, i1_o])
            T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
            B_[i1, i0 // 4, i0 % 4] = B[i0, i1]
    for i0, j, k0, i1, k1 in T.grid(4, 16, 4, 4, 4):
        with T.block("matmul"):
            vi = T.axis.spatial(16, i0 * 4 + i1)
            vj = T.axis.spatial(16, j)
            vk = T.axis.reduce(16, k0 * 4 + k1)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B_[vj, vk // 4, vk % 4]
"""
"""The example of Relax's design."""

BOTH_SIDES = """
@T.prim_func
def dense(A: T.Buffer((14, 8), "float32"), B: T.Buffer((8, 14), "float32"), C: T.Buffer((14, 14), "float32")):
    A_ = T.alloc_buffer((4, 8, 4), "float32")
    B_ = T.alloc_buffer((4, 4, 8), "float32")
    C_ = T.alloc_buffer((4, 4, 4, 4), "float32")
    for a, b, c in T.grid(4, 8, 4):
        with T.block("A_"):
            A_[a, b, c] = T.if_then_else(a * 4 + c < 14, A[a * 4 + c, b], T.float32(0))
    for a, b, c in T.grid(4, 4, 8):
        with T.block("zero"):
            B_[a, b, c] = T.float32(0)
    for b in range(8):
        for a in T.vectorized(14):
            with T.block("fill"):
                B_[a // 4, a % 4, b] = B[b, a]
    for i0, i1, j0, j1, k in T.grid(4, 4, 4, 4, 8):
        with T.block("matmul"):
            u, v, w, x, r = T.axis.remap("SSSSR", [i0, i1, j0, j1, k])
            with T.init():
                C_[u, w, v, x] = T.float32(0)
            C_[u, w, v, x] = C_[u, w, v, x] + A_[u, r, v] * B_[w, x, r]
    for i, j in T.grid(14, 14):
        with T.block("out"):
            C[i, j] = C_[i // 4, j // 4, i % 4, j % 4]
"""


def small(body: str, shape: tuple[int, ...] = (4, 6)) -> PrimFunc:
    """A function of two arrays of one shape; t and u are arrays of its own, with dimensions exchanged."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    back = tuple(reversed(shape))
    return parse_func(f"""
@T.prim_func
def f(A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32"), C: T.Buffer({shape}, "float32")):
    t = T.alloc_buffer({back}, "float32")
    u = T.alloc_buffer({back}, "float32")
{lines}
""")


def operations(graph: Graph | None) -> list[str]:
    assert graph is not None
    return [n.op for n in graph.nodes]


def agrees(made: Hoisted) -> None:
    """The theorem leads from the function to the graph, and both give the same bits."""
    assert made.theorem is not None and made.graph is not None
    assert same_program(made.theorem.before, Schedule(made.func).func)
    assert same_program(made.theorem.after, program_of_graph(made.graph))
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(v.shape).astype(np.float32) for v in made.graph.inputs]
    g = GraphBuilder()
    types = [TensorType(v.shape, v.dtype) for v in made.graph.outputs]
    called = g.call_tir(made.func, [g.input(v.name, v.shape) for v in made.graph.inputs], types)
    whole = g.finish(*(called if isinstance(called, tuple) else (called,)))
    for given, wanted in zip(evaluate(made.graph, arrays), evaluate(whole, arrays), strict=True):
        np.testing.assert_array_equal(given, wanted)


@pytest.mark.nightly
def test_the_example_of_the_design() -> None:
    made = hoist(parse_func(MATMUL))
    assert (
        str(made.graph)
        == """\
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((16, 16), "float32"), B_: T.Buffer((16, 4, 4), "float32"), C: T.Buffer((16, 16), "float32")):
    T.func_attr({"frozen_layout": True})
    for i0, j, k0, i1, k1 in T.grid(4, 16, 4, 4, 4):
        with T.sblock("matmul"):
            if k0 * 4 + k1 == 0:
                C[i0 * 4 + i1, j] = T.float32(0.0)
            C[i0 * 4 + i1, j] = C[i0 * 4 + i1, j] + A[i0 * 4 + i1, k0 * 4 + k1] * {read}


@R.function
def main(A: R.Tensor((16, 16), "float32"), B: R.Tensor((16, 16), "float32")):
    B_ = R.layout_transform(B, index_map=lambda i0, i1: [i1, i0 // 4, i0 % 4], pad_value=None)
    C = R.call_tir(matmul, (A, B_), out_sinfo=R.Tensor((16, 16), "float32"))
    return C""".replace("{read}", "B_[j, (k0 * 4 + k1) // 4, (k0 * 4 + k1) % 4]")
    )
    assert [str(x).partition(":")[0] for x in made.lifted] == ["B_ from B"] and not made.left
    agrees(made)


@pytest.mark.nightly
def test_rewrites_on_both_sides_padded_and_cropped_and_in_two_statements() -> None:
    made = hoist(parse_func(BOTH_SIDES))
    assert operations(made.graph) == ["layout_transform", "layout_transform", "call_tir", "layout_transform", "crop"]
    assert [x.side for x in made.lifted] == ["operand", "operand", "result"]
    assert [s.attrs.get("pad_value") for x in made.lifted for s in x.steps] == [0.0, 0.0, None, None]
    assert "alloc" not in str(made.graph)
    agrees(made)


@pytest.mark.nightly
def test_an_array_that_is_allocated_later_is_filled_in_front_all_the_same() -> None:
    later = MATMUL.replace(
        "    B_ = T.alloc",
        '    X = T.alloc_buffer((16, 16), "float32")\n    for i, j in T.grid(16, 16):\n        with T.block("X"):\n'
        '            vi, vj = T.axis.remap("SS", [i, j])\n            X[vi, vj] = A[vi, vj] * T.float32(2)\n'
        "    B_ = T.alloc",
    ).replace("+ A[vi, vk]", "+ X[vi, vk]")
    made = hoist(parse_func(later))
    assert operations(made.graph) == ["layout_transform", "call_tir"]
    assert "X gets A[i, j] * T.float32(2.0): what is computed from A is not a copy" in made.left[0]
    agrees(made)


def test_one_rewrite_after_another() -> None:
    made = hoist(
        small("""
for i, j in T.grid(4, 6):
    t[j, i] = A[i, j]
for j, i in T.grid(6, 4):
    u[5 - j, i] = t[j, i]
for i, j in T.grid(4, 6):
    C[i, j] = u[j, i] + B[i, j]
""")
    )
    assert operations(made.graph) == ["layout_transform", "layout_transform", "call_tir"]
    agrees(made)


def test_an_operand_that_is_read_directly_too_is_passed_as_well() -> None:
    made = hoist(
        small("""
for i, j in T.grid(4, 6):
    t[j, i] = A[i, j]
for i, j in T.grid(4, 6):
    C[i, j] = t[j, i] + A[i, j] * B[i, j]
""")
    )
    assert [b.name for b in made.core.buffers] == ["A", "t", "B", "C"]
    agrees(made)


def test_a_rewrite_moves_past_what_it_does_not_touch() -> None:
    made = hoist(
        small("""
for i, j in T.grid(4, 6):
    u[j, i] = B[i, j] + T.float32(1)
for i, j in T.grid(4, 6):
    t[j, i] = A[i, j]
for i, j in T.grid(4, 6):
    C[i, j] = t[j, i] + u[j, i]
""")
    )
    assert operations(made.graph) == ["layout_transform", "call_tir"]
    agrees(made)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "for i, j in T.grid(4, 6):\n    t[j, i] = A[i, j] * T.float32(2)",
            r"t: t gets A\[i, j\] \* T.float32\(2.0\): what is computed from A is not a copy",
        ),
        (
            "for i, j in T.grid(4, 6):\n    t[j, i] = T.float32(0)\nfor i, j in T.grid(4, 5):\n    t[j, i] = A[i, j]",
            r"t: A\[\d, 5\] is copied nowhere, and nothing is copied to t\[5, \d\]",
        ),
        (
            "for i, j in T.grid(4, 6):\n    t[j, i] = A[i, j // 2]",
            r"t: A\[.*\] is copied to t\[.*\] and t\[.*\]: that is not a bijection",
        ),
    ],
)
def test_near_misses_stay_and_the_report_says_why(body: str, reason: str) -> None:
    made = hoist(small(f"{body}\nfor i, j in T.grid(4, 6):\n    C[i, j] = t[j, i] + B[i, j]"))
    assert made.graph is None and made.theorem is None and not made.lifted
    assert made.core is made.func
    (left,) = [x for x in made.left if x.startswith("t:")]
    assert re.fullmatch(reason, left)


def test_what_is_stored_to_between_cannot_be_moved() -> None:
    """t is filled, read, and filled again: the second filling must not come before the reading."""
    made = hoist(
        small("""
for i, j in T.grid(4, 6):
    t[j, i] = A[i, j]
for i, j in T.grid(4, 6):
    C[i, j] = t[j, i] + B[i, j]
for i, j in T.grid(4, 6):
    t[j, i] = A[i, 5 - j]
for i, j in T.grid(4, 6):
    C[i, j] = C[i, j] + t[j, i]
""")
    )
    assert made.graph is None and any("t: " in x and "change places" in x for x in made.left)


def test_what_is_copied_in_and_out_again_is_lifted_once() -> None:
    """D comes from t, which hoisting has lifted: t is no result of what is left."""
    made = hoist(
        parse_func("""
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
    t = T.alloc_buffer((6, 4), "float32")
    for i, j in T.grid(4, 6):
        t[j, i] = A[i, j]
    for i, j in T.grid(4, 6):
        C[i, j] = A[i, j] + T.float32(1)
    for i, j in T.grid(4, 6):
        D[i, j] = t[j, 3 - i]
""")
    )
    assert operations(made.graph) == ["layout_transform", "call_tir"]
    assert [b.name for b in made.core.buffers] == ["A", "t", "C", "D"]
    agrees(made)


def test_only_marked_blocks() -> None:
    assert hoist(parse_func(BOTH_SIDES), annotated_only=True).graph is None
    assert operations(hoist(parse_func(MATMUL), annotated_only=True).graph) == ["layout_transform", "call_tir"]


def test_a_marked_block_that_is_no_rewrite_is_a_function_of_its_own() -> None:
    made = hoist(parse_func(MATMUL.replace("= B[i0, i1]", "= B[i0, i1] * T.float32(0.5)")))
    assert operations(made.graph) == ["call_tir", "call_tir"]
    assert made.left[0].startswith("B_: B_ gets B[") and "a function of its own" in made.left[0]
    agrees(made)


def test_a_function_that_is_a_rewrite_itself_is_left_alone() -> None:
    func = parse_func("""
@T.prim_func
def move(A: T.Buffer((4, 6), "float32"), C: T.Buffer((6, 4), "float32")):
    for i, j in T.grid(4, 6):
        C[j, i] = A[i, j]
""")
    assert hoist(func).graph is None


def test_scalars_are_refused() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), n: T.int32, C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[i]
""")
    with pytest.raises(GraphError, match="f takes scalars; call_tir passes arrays only"):
        hoist(func)


def test_the_proof_can_be_certified_and_is_checked_by_other_solvers(tmp_path: Path) -> None:
    written = Written()
    func = small("""
for i, j in T.grid(4, 6):
    t[j, i] = A[i, j]
for i, j in T.grid(4, 6):
    C[i, j] = t[j, i] + B[i, j]
""")
    schedule = hoist(func).schedule
    assert schedule is not None
    written.add("f", schedule, Origin("f"))
    save(tmp_path, written.certificates, written.queries)
    found = check(tmp_path, ("z3", "cvc5"))
    assert found.exit_code == 0 and len(list(found.claims)) > 5


# -- graphs ------------------------------------------------------------------------------------------------------------


def two_layers() -> Graph:
    g = GraphBuilder()
    rng = np.random.default_rng(1)
    func, t = parse_func(MATMUL), [TensorType((16, 16), "float32")]
    x, w = g.input("x", (16, 16)), g.constant(rng.standard_normal((16, 16)).astype(np.float32), "w")
    y = g.op("nn.relu", g.call_tir(func, [x, w], t))
    return g.finish(g.call_tir(func, [y, w], t))


@pytest.mark.nightly
def test_a_graph_is_hoisted_and_planned_with_the_weights_packed() -> None:
    graph = two_layers()
    made = hoist_layout_rewrites(graph)
    assert len(made.theorems) == 1  # both calls are of one program
    assert [n.op for n in made.graph.nodes] == [
        "layout_transform",
        "call_tir",
        "nn.relu",
        "layout_transform",
        "call_tir",
    ]
    frozen = frozen_by_hoisting(made.graph)
    assert [n.op for n in frozen] == ["call_tir", "call_tir"]
    planned = plan(made.graph, frozen)
    assert planned.cost == 0 and not planned.rewrites
    assert [n.op for n in planned.graph.nodes] == ["call_tir", "nn.relu", "call_tir"]
    x = np.random.default_rng(2).standard_normal((16, 16)).astype(np.float32)
    np.testing.assert_array_equal(build(planned.graph)(x), build(graph)(x))


def test_frozen_functions_are_known_after_text() -> None:
    made = hoist_layout_rewrites(two_layers()).graph
    arrays = {v.name: a for v, a in made.constants.items()}
    again = parse_graph(str(made), arrays)
    assert len(frozen_by_hoisting(again)) == 2 and str(again) == str(made)
    assert all(dict(n.func.attrs)[FROZEN] for n in again.nodes if n.func is not None)
