"""Whole modules with Relax, as the document on layout planning and TVM 0.27 write them, to graphs and back."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.graph import GraphBuilder, GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.text import graph_text, parse_graph
from verified_tir.graph.write_relax import large_constants, relax_text

FIRST = """
@R.function
def main(x: Tensor((16, 16), "float32"), w: Tensor((16, 16), "float32")) -> Tensor((16, 16), "float32"):
    gv0 = R.call_tir(matmul, (x, w), (16, 16), dtype="float32")
    return gv0

@T.prim_func
def matmul(A: T.Buffer[(16, 16), "float32"], B: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]) -> \\
None:
    B_ = T.alloc_buffer([16, 4, 4], dtype="float32")
    for i0_o, i1_o in T.grid(16, 16):
        with T.block("layout_rewrite"):
            i0, i1 = T.axis.remap("SS", [i0_o, i1_o])
						# optional attribute annotation to identify layout rewrite blocks
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
SECOND = """
@R.function
def main(x: Tensor((16, 16), "float32"), w: Tensor((16, 16), "float32")) -> Tensor((16, 16), "float32"):
    gv = relax.call_tir(layout_rewrite, (w,), (16, 4, 4), dtype="float32")
    gv0 = relax.call_tir(matmul, (x, gv), (16, 16), dtype="float32")
    return gv0

@T.prim_func
def matmul(A: T.Buffer[(16, 16), "float32"], B: T.Buffer[(16, 4, 4), "float32"], C: T.Buffer[(16, 16), "float32"]):
    for i0, j, k0, i1, k1 in T.grid(4, 16, 4, 4, 4):
        with T.block("matmul"):
            vi = T.axis.spatial(16, i0 * 4 + i1)
            vj = T.axis.spatial(16, j)
            vk = T.axis.reduce(16, k0 * 4 + k1)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk // 4, vk % 4]

@T.prim_func
def layout_rewrite(SRC: T.Buffer[(16, 16), "float32"], TGT: T.Buffer[(16, 4, 4), "float32"]):
    for i, j in T.grid(16, 16):
        with T.block("layout_rewrite"):
            i0, i1 = T.axis.remap("SS", [i, j])
            TGT[i1, i0 // 4, i0 % 4] = SRC[i0, i1]
"""


@pytest.mark.parametrize("text", [FIRST, SECOND])
def test_the_modules_of_the_layout_planning_document(text: str) -> None:
    graph = parse_graph(text)
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-3, 4, (16, 16)).astype(np.float32) for _ in range(2))
    found = build(graph)(x, w)
    np.testing.assert_array_equal(found, x @ w)
    again = parse_graph(relax_text(graph))
    np.testing.assert_array_equal(build(again)(x, w), found)
    assert relax_text(again) == relax_text(graph)


MODULE = """\
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((n, T.int64(16)), "float32"), C: T.Buffer((n, T.int64(16)), "float32")):
        # with T.sblock("root"):
        for i, j in T.grid(n, T.int64(16)):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] * T.float32(2.0)

    @R.function
    def other(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((2,), dtype="float32") = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((n, 16), dtype="float32")) -> R.Tensor((2, n, 8), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_ty=R.Tensor((n, 16), dtype="float32"))
            lv1: R.Tensor((n, 16), dtype="float32") = R.add(lv, R.const(1.0, "float32"))
            lv2: R.Tuple(R.Tensor((n, 8), dtype="float32"), R.Tensor((n, 8), dtype="float32")) = \\
R.split(lv1, indices_or_sections=2, axis=1)
            lv3: R.Tensor((n, 8), dtype="float32") = lv2[1]
            lv4: R.Tensor((n, 8), dtype="float32") = lv2[0]
            lv5: R.Tensor((n, 16), dtype="float32") = R.concat((lv3, lv4), axis=1)
            gv: R.Tensor((2, n, 8), dtype="float32") = \\
R.layout_transform(lv5, index_map=T.index_map(lambda i, j: (j // 8, i, j % 8)), pad_value=None)
            R.output(gv)
        return gv
"""


def test_a_module_as_tvm_prints_it() -> None:
    graph = parse_graph(MODULE)
    assert (
        graph_text(graph).split("@R.function\n")[1]
        == """\
def main(x: R.Tensor((n, 16), "float32")):
    const = R.const(1.0, "float32")
    lv = R.call_tir(double, (x,), out_sinfo=R.Tensor((n, 16), "float32"))
    lv1 = R.add(lv, const)
    lv2_0, lv2_1 = R.split(lv1, sections=2, axis=1)
    lv5 = R.concat(lv2_1, lv2_0, axis=1)
    gv = R.layout_transform(lv5, index_map=lambda i, j: [j // 8, i, j % 8], pad_value=None)
    return gv"""
    )
    x = np.arange(48, dtype=np.float32).reshape(3, 16)
    y = 2 * x + 1
    expected = np.stack([y[:, 8:], y[:, :8]])
    np.testing.assert_array_equal(build(graph)(x), expected)
    assert [n.op for n in parse_graph(MODULE, name="other").nodes] == ["nn.relu"]


def test_symbols_in_quotes_and_declared() -> None:
    graph = parse_graph("""
@R.function
def main(x: R.Tensor(("n", 4)), y: R.Tensor(("n + 1", 4), "float32")) -> R.Tensor(("2 * n + 1", 4), "float32"):
    n = T.int64()
    with R.dataflow():
        z = R.concat((x, y), axis=0)
        alias = z
        R.output(alias)
    return alias
""")
    assert str(graph.outputs[0].type) == 'R.Tensor((n * 2 + 1, 4), "float32")'


def test_written_for_tvm() -> None:
    g = GraphBuilder()
    x = g.input("x", ("n", 8))
    w = g.constant(np.ones((8, 8), np.float32), "w")
    y = g.op("nn.relu", g.op("nn.hard_swish", g.op("matmul", x, w)))
    graph = g.finish(g.op("add", y, g.constant(np.float32(0.5), "half")))
    assert (
        relax_text(graph)
        == """\
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def nn_hard_swish(x: T.Buffer(("n", 8), "float32"), hard_swish: T.Buffer((n, 8), "float32")):
        for i0, i1 in T.grid(n, 8):
            with T.sblock("hard_swish"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                hard_swish[v_i0, v_i1] = x[v_i0, v_i1] * T.min(T.float32(1.0), T.max(T.float32(0.0), x[v_i0, v_i1] * \
T.float32(0.1666666716337204) + T.float32(0.5)))

    @T.prim_func(s_tir=True)
    def nn_relu(x: T.Buffer(("n", 8), "float32"), relu: T.Buffer((n, 8), "float32")):
        for i0, i1 in T.grid(n, 8):
            with T.sblock("relu"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                relu[v_i0, v_i1] = T.max(T.float32(0.0), x[v_i0, v_i1])

    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        cls = Module
        with R.dataflow():
            half = R.const(0.5, "float32")
            lv = R.matmul(x, w)
            lv_1 = R.call_tir(cls.nn_hard_swish, (lv,), out_ty=R.Tensor((n, 8), "float32"))
            lv_2 = R.call_tir(cls.nn_relu, (lv_1,), out_ty=R.Tensor((n, 8), "float32"))
            lv_3 = R.add(lv_2, half)
            R.output(lv_3)
        return lv_3"""
    )
    assert [*large_constants(graph)] == ["w"]
    assert [n.op for n in parse_graph(relax_text(graph)).nodes] == ["matmul", "call_tir", "call_tir", "add"]


HEAD = '@R.function\ndef main(x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((3, 2, 1, 1), "float32")):\n'


def body(lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines.strip("\n").split("\n"))


def test_attributes_that_say_what_is_so_anyway() -> None:
    graph = parse_graph(
        body("""
y = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], data_layout="NCHW", kernel_layout="OIHW", out_dtype="void")
s = R.sum(y, 1)
c = R.clip(s, R.prim_value(0.0), R.prim_value(6.0))
r = R.reshape(c, R.shape([4, 4]))
return r""")
    )
    assert graph.outputs[0].shape == (4, 4)
    assert [sorted(n.attrs) for n in graph.nodes] == [
        ["data_layout", "kernel_layout", "padding", "strides"], ["axis"], ["max", "min"], ["shape"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            "y = R.nn.conv2d(x, w, data_layout='NCHW4c')\nreturn y",
            "a layout here is an arrangement of NCHW, not 'NCHW4c'",
        ),
        ("y = R.matmul(x, x, out_dtype='float64')\nreturn y", "out_dtype='void' only, not 'float64'"),
        ("y: R.Tensor((2,), 'float32') = R.nn.relu(x)\nreturn y", r"this is R.Tensor\(\(1, 2, 4, 4\)"),
        ("with R.dataflow():\n    y = R.nn.relu(x)\nreturn y", r"a dataflow block ends with R.output"),
        (
            "with R.dataflow():\n    y = R.nn.relu(x)\n    z = R.nn.relu(y)\n    R.output(z)\nreturn y",
            "y is not a value",
        ),
        ("with R.dataflow():\n    y = R.nn.relu(x)\n    R.output(q)\nreturn y", "q is not a value"),
        ("m = T.int64()\nreturn x", "m is not the extent of an input"),
        ("y = R.split(x, sections=2, axis=1)\nz = y[2]\nreturn z", "y has 2 values"),
        ("y = R.call_tir(cls.f, (x,), (2, 2), dtype='float32')\nreturn y", "cls.f is not one"),
        ("y = metadata['ir.GenericConst'][0]\nreturn y", r"give it as constants=\{'metadata\[0\]'"),
    ],
)
def test_what_is_refused(lines: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        parse_graph(body(lines))


DOUBLE = """
@T.prim_func
def double(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j] + A[i, j]

@R.function
def main(x: R.Tensor((4, 4), "float32")):
    y = {call}
    return y
"""
TYPE = 'R.Tensor((4, 4), "float32")'


@pytest.mark.parametrize(
    "call",
    [
        f"R.call_tir(double, (x,), out_sinfo={TYPE})",
        f"R.call_tir(double, (x,), out_ty={TYPE})",
        f"R.call_tir(double, (x,), {TYPE})",
        "R.call_tir(double, (x,), (4, 4), dtype='float32')",
    ],
)
def test_ways_to_call_a_program(call: str) -> None:
    (node,) = parse_graph(DOUBLE.format(call=call)).nodes
    assert str(node.output.type) == TYPE


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (f"R.call_tir(double, (x,), out_sinfo={TYPE}, tir_vars=R.shape([4]))", "call_tir here has no tir_vars"),
        (f"R.call_tir(double, (x,), out_sinfo={TYPE}, dtype='int32')", "says the type of the result twice"),
        (f"R.call_tir(double, (x,), out_sinfo={TYPE}, out_ty={TYPE})", "says the type of the result twice"),
        (f"R.call_tir(double, (x,), (2, 2), out_sinfo={TYPE})", "says the type of the result twice"),
        (f"R.call_tir(double, (x,), {TYPE}, dtype='int32')", "says the type of the result twice"),
        ("R.call_tir(double, (x,), (4, 4), dtype='float32', inplace=0)", "call_tir here has no inplace"),
        (f"R.add(x, x, out_sinfo={TYPE})", "is not a constant"),
        ("R.const(1.0, 'float32', span=3)", "const here has no span"),
    ],
)
def test_no_keyword_is_passed_over(call: str, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        parse_graph(DOUBLE.format(call=call))


def test_what_a_function_says_of_its_result_must_hold() -> None:
    text = '@R.function\ndef main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):\n    return x\n'
    with pytest.raises(GraphError, match=r"<string>:2:45: this is R.Tensor"):
        parse_graph(text)


def test_several_functions_need_a_name() -> None:
    with pytest.raises(GraphError, match=r"there is no one function third with @R.function; there are other, main"):
        parse_graph(MODULE, name="third")
    with pytest.raises(GraphError, match=r"a graph is one function with @R.function; there are 2"):
        parse_graph(MODULE.replace("def main", "def more"))
