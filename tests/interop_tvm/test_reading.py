"""What TVM 0.27 prints, read: and what cannot be read is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm.s_tir import transform as s_tir

from tests.interop_tvm.programs import function, module
from verified_tir.interop.tvm import Limits, ValidatedSchedule, ValidatingInstrument, read
from verified_tir.interop.tvm.judge import judge
from verified_tir.interop.tvm.layouts import Beyond, layout
from verified_tir.interop.tvm.reading import read_text, same_program
from verified_tir.semantics.interpreter import run

THREADS = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = A[vi] * T.float32(2)
"""
VIEWS = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 2):
        with T.sblock("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            T.writes(C[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            a = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", strides=("s", "t"), offset_factor=1)
            c = T.match_buffer(C[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", strides=("u", "w"), offset_factor=1)
            for k, l in T.grid(4, 4):
                with T.sblock("inner"):
                    vk, vl = T.axis.remap("SS", [k, l])
                    c[vk, vl] = a[vk, vl] + T.float32(1)
"""  # noqa: E501 (as TVM prints it)
LETS = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i in range(16):
        x: T.let[T.int32] = A[i] * 3
        C[i] = x + T.Let(y * y, where={y: x + 1})
""".replace("T.Let(y * y, where={y: x + 1})", "(x + 1) * (x + 1)")
CALLS = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = T.call_pure_extern("float32", "unheard_of", A[vi])
"""


def statuses(text: str) -> set[str]:
    """What is said of the passes of a whole build."""
    instrument = ValidatingInstrument(on_different="raise")
    with tvm.transform.PassContext(instruments=[instrument]):
        tvm.tirx.get_default_tir_pipeline(tvm.target.Target("llvm"))[0](
            tvm.tirx.transform.BindTarget(tvm.target.Target("llvm").with_host("llvm"))(module(text))
        )
    found = [r for r in instrument.reports if r.status not in ("unchanged", "composed", "not validated")]
    assert len(found) >= 2
    return {r.status for r in found}


@pytest.mark.parametrize("text", [VIEWS, LETS, CALLS], ids=["match_buffer", "lets", "unknown calls"])
def test_a_build_of_it_is_equal_throughout(text: str) -> None:
    assert statuses(text) == {"equal"}


def test_thread_bindings_are_loops() -> None:
    sch = ValidatedSchedule(function(THREADS))
    block, thread = sch.split(sch.get_loops("C")[0], [None, 32])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    assert [r.status for r in sch.reports] == ["equal"] * 3
    lowered = s_tir.LowerOpaqueBlock()(s_tir.ConvertBlocksToOpaque()(sch.mod))
    printed = read(lowered["main"], "main")
    assert "T.launch_thread" in printed.text or "thread_binding" in printed.text
    assert printed.func is not None
    a = np.arange(64, dtype=np.float32)
    assert (run(printed.func, {"A": a, "C": a.copy()}).arrays["C"] == 2 * a).all()


def test_unknown_calls_with_equal_arguments_are_equal_and_others_are_not() -> None:
    other = CALLS.replace("unheard_of", "another")
    found = [judge("s", read(function(CALLS), "f"), read(function(t), "f"), Limits()) for t in (CALLS, other)]
    assert [r.status for r in found] == ["unchanged", "unknown"]


def test_what_cannot_be_printed_or_read_has_a_reason() -> None:
    class Broken:
        def script(self) -> str:
            raise RuntimeError("no printer")

    broken = type("PrimFunc", (Broken,), {})()
    assert read(broken, "f").problem == "TVM cannot print it: RuntimeError: no printer"
    problem = read_text("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = nowhere", "f").problem
    assert problem == "not read: unknown name nowhere (line 3: A[0] = nowhere)"
    assert read_text("x = 1", "f").problem == "the text has 0 functions"
    assert read(tvm.ir.GlobalVar("g"), "g").problem == "it is a GlobalVar, no function of TIR"


def test_the_same_reason_twice_is_said_once() -> None:
    bad = read_text("@T.prim_func\ndef f():\n    nowhere()", "f")
    other = read_text("@T.prim_func\ndef f():\n    nowhere()\n", "f")
    assert judge("s", bad, other, Limits()).text.startswith("unknown: before and after: not read: ")


def test_names_and_attributes_do_not_count() -> None:
    a, b = (
        read_text(f'@T.prim_func\ndef {n}({n}: T.Buffer((4,))):\n    T.func_attr({{"{n}": 1}})\n    {n}[0] = {v}', n)
        for n, v in (("f", 1.0), ("g", 1.0))
    )
    c = read_text("@T.prim_func\ndef f(f: T.Buffer((4,))):\n    f[0] = -0.0", "f")
    assert same_program(a, b)
    assert not same_program(a, c)
    assert not same_program(read_text("x = 1", "f"), read_text("x = 2", "f"))


# -- index maps --------------------------------------------------------------------------------------------------------


def the(index_map: Any, pad: Any = None, injective: bool = False) -> Any:
    return layout(tvm.tirx.IndexMap.from_func(index_map), pad, injective)


@pytest.mark.parametrize(
    "index_map",
    [
        lambda i, j: [i // 4, j, i % 4],
        lambda i, j: [j * 2 + 1, i - 3],
        lambda i, j: [tvm.tirx.max(i, j), tvm.tirx.min(i, 5)],
        lambda i, j: [(i - 9) // 4, (i - 9) % 4],
        lambda i, j: [tvm.tirx.Select(i < j, i, j)],
        lambda i, j: [tvm.tirx.if_then_else(tvm.tirx.any(i < 3, j >= 2), i, j * 2)],
        lambda i, j: [(i << 1) | (j & 1), (i >> 1) ^ 3],
    ],
)
def test_index_maps_are_those_that_tvm_computes(index_map: Any) -> None:
    ours, theirs = the(index_map), tvm.tirx.IndexMap.from_func(index_map)
    i, j = (k.reshape(-1) for k in np.indices((7, 6)))
    found = np.stack([np.broadcast_to(k, i.shape) for k in ours.move(i, j)])
    for k in range(0, 42, 5):
        assert found[:, k].tolist() == [int(e) for e in theirs.map_indices([int(i[k]), int(j[k])])]


def test_maps_that_cannot_be_told_are_beyond() -> None:
    n = function("@T.prim_func\ndef f(n: T.int64):\n    T.evaluate(n)").params[0]
    with pytest.raises(Beyond, match="the index map reads n"):
        the(lambda i: [i + n])
    with pytest.raises(Beyond, match="the index map has a Div"):
        the(lambda i: [tvm.tirx.truncdiv(i, 3)])
    pad = tvm.tirx.IndexMap.from_func(lambda i: [i])
    with pytest.raises(Beyond, match="the padding is not one number"):
        the(lambda i: [i // 4, i % 4], pad)


def test_paddings_compose_only_if_they_are_alike() -> None:
    def padded(value: float) -> Any:
        return the(lambda i: [i], tvm.tirx.IndexMap.from_func(lambda i: [tvm.tirx.const(value, "float32")]))

    plain, open_ = the(lambda i: [i]), the(lambda i: [i], injective=True)
    assert (plain.padding, open_.padding, padded(1.5).padding) == (None, "undef", 1.5)
    assert padded(1.5).then(plain).padding == plain.then(padded(1.5)).padding == 1.5
    assert padded(float("nan")).then(padded(float("nan"))).padding != 0
    for one, two in ((0.0, -0.0), (1.5, 2.5), (0.0, float("nan"))):
        with pytest.raises(Beyond, match="padded with"):
            padded(one).then(padded(two))
    with pytest.raises(Beyond, match="padded with undef and then with 0"):
        open_.then(padded(0.0))
