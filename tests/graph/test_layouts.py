"""Layouts of operands from layouts of results (and back), and the programs that they lead to, proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap, build, script
from verified_tir.graph import TensorType
from verified_tir.graph.infer import infer
from verified_tir.graph.operators import legalize
from verified_tir.graph.relayout import relayout
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func

X = (1, 8, 6, 6)


def by_four(n: Any, c: Any, h: Any, w: Any) -> list[Any]:
    return [n, c // 4, h, w, c % 4]


def operator(name: str, *shapes: tuple[int, ...], **attrs: Any) -> PrimFunc:
    return legalize(name, [TensorType(s, "float32") for s in shapes], attrs)


def layouts(func: PrimFunc, which: int, layout: Callable[..., Any]) -> dict[str, str]:
    b = func.buffers[which]
    found = infer(func, {b: IndexMap.from_func(layout, len(b.shape))})
    return {x.name: str(m).partition(": ")[2] for x, m in found.maps.items() if x is not b}


WHOLE = "[i0, i1 // 4, i2, i3, i1 % 4]"
CASES: dict[str, tuple[PrimFunc, int, Callable[..., Any], dict[str, str]]] = {
    "element by element": (operator("nn.relu", X), -1, by_four, {"x": WHOLE}),
    "broadcast": (operator("add", X, (8, 1, 1)), -1, by_four, {"a": WHOLE, "b": "[i0 // 4, i1, i2, i0 % 4]"}),
    "from an operand": (operator("add", X, (8, 1, 1)), 0, by_four, {"add": WHOLE, "b": "[i0 // 4, i1, i2, i0 % 4]"}),
    "a statistic": (
        operator("nn.batch_norm", X, (8,), (8,), (8,), (8,)), -1, by_four,
        {"x": WHOLE} | dict.fromkeys(["gamma", "beta", "moving_mean", "moving_var"], "[i0 // 4, i0 % 4]"),
    ),
    "a reduction": (operator("sum", X, axis=(2, 3)), -1, lambda n, c: [n, c // 4, c % 4], {"x": WHOLE}),
    "windows, and what stands around": (
        operator("nn.max_pool2d", X, pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1)), -1, by_four,
        {"padded": WHOLE, "x": WHOLE},
    ),
    "a convolution": (
        operator("nn.conv2d", X, (8, 8, 3, 3)), -1, by_four,
        {"x": "[i0, i1, i2, i3]", "w": "[i0 // 4, i1, i2, i3, i0 % 4]"},
    ),
    "a convolution of each channel": (
        operator("nn.conv2d", X, (8, 1, 3, 3), groups=8), -1, by_four,
        {"x": WHOLE, "w": "[i0 // 4, i1, i2, i3, i0 % 4]"},
    ),
    "several blocks": (
        operator("nn.softmax", X, axis=1), -1, by_four,
        {"x": WHOLE, "exponential": WHOLE, "total": "[i0, i1, i2, i3]", "greatest": "[i0, i1, i2, i3]"},
    ),
    "whole tiles apart": (operator("concat", X, X, axis=1), -1, by_four, {"x0": WHOLE, "x1": WHOLE}),
    "a transposed operand": (
        operator("permute_dims", X, axes=(0, 2, 3, 1)), -1, lambda n, h, w, c: [n, c // 4, h, w, c % 4], {"x": WHOLE}
    ),
    "parts of tiles apart": (operator("concat", (1, 2, 6, 6), (1, 6, 6, 6), axis=1), -1, by_four, {"x0": WHOLE}),
    "other dimensions altogether": (operator("reshape", X, shape=(1, -1)), -1, lambda n, k: [n, k // 4, k % 4], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_maps_are_carried_over(name: str) -> None:
    func, which, layout, expected = CASES[name]
    assert layouts(func, which, layout) == expected


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_programs_in_other_layouts_are_proved_and_give_the_same(name: str) -> None:
    func, which, layout, _ = CASES[name]
    b = func.buffers[which]
    made = relayout(func, infer(func, {b: IndexMap.from_func(layout, len(b.shape))}).maps)
    assert not made.left_out
    f = build(made.theorem, threads=1)
    rng = np.random.default_rng(0)
    arrays = {x.name: rng.integers(1, 5, [e.value for e in x.shape]).astype(np.float32) for x in func.buffers}  # type: ignore[attr-defined]
    packed = [f.pack(n, a) for n, a in arrays.items()]
    f(*packed)
    plain = {n: a.copy() for n, a in arrays.items()}
    build(_theorem(func), threads=1)(*plain.values())
    result = func.buffers[-1].name
    np.testing.assert_array_equal(f.unpack(result, packed[-1]), plain[result])


def _theorem(func: PrimFunc) -> Any:
    from verified_tir import Schedule

    return Schedule(func)


def test_loops_follow_the_layout() -> None:
    func = operator("add", X, (8, 1, 1))
    b = func.buffers[-1]
    made = relayout(func, infer(func, {b: IndexMap.from_func(by_four, 4)}).maps)
    assert script(made.func).split("\n")[4:] == [
        "    for i1_0, i2, i3, i1_1 in T.grid(2, 6, 6, 4):",
        '        with T.sblock("add"):',
        "            add[0, i1_0, i2, i3, i1_1] = a[0, i1_0, i2, i3, i1_1] + b[i1_0, 0, 0, i1_1]",
    ]


def test_no_table_of_operators_is_asked() -> None:
    """A program that is not an operator, with a temporary between."""
    func = parse_func("""
@T.prim_func
def odd(A: T.Buffer((8, 6), "float32"), s: T.Buffer((8,), "float32"), C: T.Buffer((6, 8), "float32")):
    t = T.alloc_buffer((8, 6), "float32")
    for i, j in T.grid(8, 6):
        with T.sblock("t"):
            v, w = T.axis.remap("SS", [i, j])
            t[v, w] = A[v, w] * s[v]
    for j, i in T.grid(6, 8):
        with T.sblock("C"):
            w, v = T.axis.remap("SS", [j, i])
            C[w, v] = t[v, w] + A[v, 5 - w]
""")
    assert layouts(func, 2, lambda j, i: [i // 4, j, i % 4]) == {
        "t": "[i0 // 4, i1, i0 % 4]", "A": "[i0 // 4, i1, i0 % 4]", "s": "[i0 // 4, i0 % 4]"
    }  # fmt: skip


def test_why_there_is_none_is_said() -> None:
    func = operator("reshape", X, shape=(1, -1))
    b = func.buffers[-1]
    found = infer(func, {b: IndexMap.from_func(lambda n, k: [n, k // 4, k % 4], 2)})
    assert found.problems[func.buffers[0]] == (
        "from reshape to x: axis 1 (i1) is in the layout's index k // 4, and axes 1, 2, 3 of the other mix it with "
        "others; it is [0, i1] here and [0, i1 // 36, i1 // 6 % 6, i1 % 6] there"
    )


def test_why_a_slice_is_not_carried_over() -> None:
    func = operator("strided_slice", X, axes=(1,), begin=(2,), end=(8,))
    found = infer(func, {func.buffers[0]: IndexMap.from_func(by_four, 4)})
    assert "axis 1 of the other is 2 apart, no multiple of 4" in found.problems[func.buffers[1]]
