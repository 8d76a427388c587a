"""Schedules of nodes' programs: what they come to, that the bits stay, and that they are proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap, Schedule, build, script
from verified_tir.codegen.target import Target
from verified_tir.graph import GraphBuilder, TensorType, schedules
from verified_tir.graph.execute import build as build_graph
from verified_tir.graph.memory import place
from verified_tir.graph.nests import nests
from verified_tir.graph.operators import legalize
from verified_tir.graph.schedules import Machine, scheduled
from verified_tir.ir.expr import IntImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.lower.vectorize_loop import VECTORS

WIDE = Machine(16, 28)
"""Vectors of 16 elements, so that texts do not depend on the processor."""

HEADER = "@T.prim_func\ndef f("


def operator(name: str, *shapes: tuple[int, ...], **attrs: Any) -> PrimFunc:
    return legalize(name, [TensorType(s, "float32") for s in shapes], attrs)


def blocked(channels: int, size: int) -> str:
    """A convolution with a bias in NCHW16c, as planning makes it; the sum stands in a plain layout."""
    tiles = -(-channels // 16)
    guard = f"if 16 * c_0 + c_1 < {channels}:\n            " if channels % 16 else ""
    return f"""{HEADER}x: T.Buffer((1, 2, {size}, {size}, 16), "float32"),
      w: T.Buffer(({tiles}, 2, 16, 1, 1, 16), "float32"),
      b: T.Buffer(({tiles}, 16), "float32"), r: T.Buffer((1, {tiles}, {size}, {size}, 16), "float32")):
    t = T.alloc_buffer((1, {channels}, {size}, {size}), "float32")
    for k, y, z, rc in T.grid({channels}, {size}, {size}, 32):
        with T.sblock("t"):
            if rc == 0:
                t[0, k, y, z] = T.float32(0.0)
            t[0, k, y, z] = t[0, k, y, z] + x[0, rc // 16, y, z, rc % 16] * w[k // 16, rc // 16, rc % 16, 0, 0, k % 16]
    for c_0, h, v, c_1 in T.grid({tiles}, {size}, {size}, 16):
        {guard}with T.sblock("r"):
                r[0, c_0, h, v, c_1] = t[0, 16 * c_0 + c_1, h, v] + b[c_0, c_1]
"""


def arrays_for(func: PrimFunc, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = [[e.value for e in b.shape if isinstance(e, IntImm)] for b in func.buffers]
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def same_bits(func: PrimFunc, constants: tuple[str, ...] = ()) -> Any:
    """Machine code with and without the schedule on random arrays; gives the schedule."""
    made = scheduled(func, constants, WIDE)
    f, plain = build(made.schedule, threads=1, pipeline=VECTORS), build(Schedule(func), threads=1)
    arrays = arrays_for(func)
    expected = [a.copy() for a in arrays]
    plain(*expected)
    result = func.buffers[-1].name
    packed = [f.pack(b.name, a) if b.name in constants else a for b, a in zip(func.buffers, arrays, strict=True)]
    f(*packed)
    np.testing.assert_array_equal(packed[-1], expected[-1], err_msg=result)
    return made


def pooled(channels: int) -> str:
    """Maxima over windows in NCHW16c, where the last block of channels is not whole."""
    return f"""{HEADER}x: T.Buffer((1, 2, 20, 20, 16), "float32"), r: T.Buffer((1, 2, 18, 18, 16), "float32")):
    for k_0, y, z, k_1 in T.grid(2, 18, 18, 16):
        if 16 * k_0 + k_1 < {channels}:
            for u, v in T.grid(3, 3):
                with T.sblock("r"):
                    if u == 0 and v == 0:
                        r[0, k_0, y, z, k_1] = T.float32("-inf")
                    r[0, k_0, y, z, k_1] = T.max(x[0, k_0, y + u, z + v, k_1], r[0, k_0, y, z, k_1])
"""


def grouped(channels: int, size: int, groups: int) -> PrimFunc:
    """A convolution in groups, in NCHW16c; the last block of channels need not be whole."""
    tiles, each = -(-channels // 16), channels // groups
    guard = f"if 16 * k_0 + k_1 < {channels}:" if channels % 16 else "if True:"
    first = f"(16 * k_0 + k_1) // {each} * {each} + rc"
    return parse_func(f"""{HEADER}x: T.Buffer((1, {tiles}, {size}, {size}, 16), "float32"),
      w: T.Buffer(({tiles}, {-(-each // 16)}, 16, 16), "float32"),
      r: T.Buffer((1, {tiles}, {size}, {size}, 16), "float32")):
    for k_0, y, z, k_1 in T.grid({tiles}, {size}, {size}, 16):
        {guard}
            for rc in range({each}):
                with T.sblock("r"):
                    if rc == 0:
                        r[0, k_0, y, z, k_1] = T.float32(0.0)
                    r[0, k_0, y, z, k_1] = r[0, k_0, y, z, k_1] + x[0, ({first}) // 16, y, z, ({first}) % 16] * w[k_0, rc // 16, rc % 16, k_1]
""")  # noqa: E501


def channels_last(channels: int, size: int, groups: int) -> PrimFunc:
    """A convolution in groups, in NHWC."""
    shape, weights = (1, size, size, channels), (channels, channels // groups, 1, 1)
    return operator("nn.conv2d", shape, weights, groups=groups, data_layout="NHWC")


CASES: dict[str, tuple[PrimFunc, tuple[str, ...]]] = {
    "a convolution, blocked": (parse_func(blocked(32, 6)), ()),
    "channels that make no whole vectors": (parse_func(blocked(24, 6)), ()),
    "one vector of channels": (parse_func(blocked(16, 7)), ()),
    "a prime width": (parse_func(blocked(32, 13)), ()),
    "a dense layer": (operator("nn.dense", (2, 64), (160, 64), (160,)), ("w",)),
    "a dense layer whose weights are no constant": (operator("nn.dense", (2, 64), (160, 64)), ()),
    "columns that make vectors of eight": (operator("nn.dense", (1, 256), (72, 256)), ("w",)),
    "a product": (operator("matmul", (12, 20), (20, 96)), ()),
    "maxima": (operator("nn.max_pool2d", (1, 4, 19, 32), pool_size=(3, 1), strides=(1, 1), padding=(1, 0, 1, 0)), ()),
    "sums along the first axis": (operator("sum", (64, 512), axis=(0,)), ()),
    "sums along the last axis": (operator("sum", (64, 512), axis=(1,)), ()),
    "elements": (operator("add", (16, 8, 16, 16), (8, 1, 1)), ()),
    "a transposition": (operator("permute_dims", (128, 160), axes=(1, 0)), ()),
    "padding": (operator("nn.pad", (1, 8, 46, 48), pad_width=(0, 0, 0, 0, 1, 1, 0, 0)), ()),
    "windows, each channel for itself": (operator("nn.conv2d", (1, 16, 12, 18), (16, 1, 3, 3), groups=16), ("w",)),
    "maxima of some channels of the last block": (parse_func(pooled(24)), ()),
    "maxima of few channels of the last block": (parse_func(pooled(18)), ()),
    "groups that are not whole vectors": (grouped(48, 8, 2), ("w",)),
    "groups of which few elements follow each other": (grouped(96, 6, 16), ("w",)),
    "groups that end within the last block": (grouped(72, 6, 4), ("w",)),
    "groups of whole blocks": (grouped(64, 6, 2), ("w",)),
    "groups, channels last": (channels_last(40, 10, 2), ("w",)),
    "groups that are whole vectors, channels last": (channels_last(64, 6, 2), ("w",)),
    "groups whose weights are not constant": (grouped(48, 8, 2), ()),
    "softmax": (operator("nn.softmax", (64, 512), axis=0), ()),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_the_bits_stay(name: str) -> None:
    func, constants = CASES[name]
    assert same_bits(func, constants).refused == ()


TILE = """\
    for y in range(6):
        t_local = T.alloc_buffer((1, 2, 1, 6, 16), "float32", scope="local")
        for z_init in T.unroll(6):
            for k_0_init in T.unroll(2):
                for k_1_init in T.vectorized(16):
                    with T.sblock("t_init"):
                        t_local[0, k_0_init, 0, z_init, k_1_init] = T.float32(0.0)
        for rc_0, rc_1 in T.grid(2, 16):
            for z in T.unroll(6):
                for k_0 in T.unroll(2):
                    for k_1 in T.vectorized(16):
                        with T.sblock("t"):
                            t_local[0, k_0, 0, z, k_1] = t_local[0, k_0, 0, z, k_1] + x[0, rc_0, y, z, rc_1] * w[k_0, rc_0, rc_1, 0, 0, k_1]
        for ax1 in T.unroll(2):
            for ax3 in T.unroll(6):
                for ax4 in T.vectorized(16):
                    with T.sblock("t_local_back"):
                        t[0, ax1, y, ax3, ax4] = t_local[0, ax1, 0, ax3, ax4]
    for c_0, h, v, c_1 in T.grid(2, 6, 6, 16):
        if 16 * c_0 + c_1 < 24:
            with T.sblock("r"):
                r[0, c_0, h, v, c_1] = t[0, c_0, h, v, c_1] + b[c_0, c_1]
"""  # noqa: E501


@pytest.mark.nightly
def test_a_register_tile() -> None:
    """The elements from 24 on are computed in the tile, where nobody reads them, and are not stored."""
    s = scheduled(parse_func(blocked(24, 6)), (), WIDE).schedule
    assert script(s.func).partition("    t = ")[2].splitlines()[1:] == TILE.splitlines()


def test_less_work_is_left_alone() -> None:
    made = scheduled(operator("nn.relu", (1, 4, 3, 3)), (), WIDE)
    assert len(made.schedule.steps) == 1


def test_programs_of_other_forms_are_left_alone() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((256, 256), "float32")):
    for i in range(255):
        for j in range(256):
            with T.sblock("scan"):
                A[i + 1, j] = A[i + 1, j] + A[i, j]
""")
    made = same_bits(func)
    assert made.refused == ()
    assert [n.block for n in nests(func)] == ["scan"]


def test_a_step_that_is_refused_is_reported_and_does_no_harm() -> None:
    """The rows of one column need later columns of the rows before."""
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((257, 65), "float32")):
    for j in range(64):
        for i in range(256):
            with T.sblock("wave"):
                A[i + 1, j] = A[i, j + 1] + A[i + 1, j]
""")
    made = same_bits(func)
    assert [w.partition(":")[0] for w in made.refused] == ["wave"]


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "func",
    [
        operator("nn.softmax", (5, 1, 16), axis=1),
        operator("add", (16,), ()),
        operator("nn.conv2d", (1, 1, 1, 4), (16, 1, 1, 1)),
        operator("nn.dense", (1, 1), (4, 1)),
        operator("nn.relu", (0, 16)),
    ],
    ids=lambda f: f.name,
)
def test_loops_that_run_once_or_never(func: PrimFunc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reductions over one element are none any more once conditions were decided."""
    monkeypatch.setattr(schedules, "WORTH_IT", 0)
    assert same_bits(func).refused == ()


def test_machines() -> None:
    assert Machine.of(Target("x86_64-unknown-linux-gnu", "znver5", "+avx512f,+avx")) == Machine(16, 28)
    assert Machine.of(Target("x86_64-unknown-linux-gnu", "haswell", "+avx")) == Machine(8, 12)
    assert Machine.of(Target("aarch64-unknown-linux-gnu", "generic", "")) == Machine(4, 28)


@pytest.mark.nightly
def test_a_machine_with_fewer_registers_has_smaller_tiles() -> None:
    func = parse_func(blocked(32, 14))
    made = scheduled(func, (), Machine(8, 12))
    assert "t_local = T.alloc_buffer((1, 2, 1, 2, 16)" in script(made.schedule.func)
    assert made.refused == ()
    arrays, expected = arrays_for(func), arrays_for(func)
    build(made.schedule, threads=1, pipeline=VECTORS)(*arrays)
    build(Schedule(func), threads=1)(*expected)
    np.testing.assert_array_equal(arrays[-1], expected[-1])


def test_constants_are_packed_once_and_only_where_it_helps() -> None:
    rng = np.random.default_rng(0)
    g = GraphBuilder()
    x = g.input("x", (1, 128))
    w = g.constant(rng.standard_normal((128, 128)).astype(np.float32), "w")
    y = g.op("nn.dense", g.op("nn.dense", x, w), w)
    z = g.op("nn.dense", y, g.input("v", (64, 128)))  # no constant
    f = build_graph(g.finish(z, w))
    a, v = rng.standard_normal((1, 128)).astype(np.float32), rng.standard_normal((64, 128)).astype(np.float32)
    got, weights = f(a, v)
    expected, _ = build_graph(f.graph, schedules=False)(a, v)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(weights, f.graph.constants[w])
    assert len({id(p) for p in f._packed.values()}) == 1
    assert [p.shape for p in f._packed.values()] == [(8, 128, 16)] * 2


def test_values_share_memory_only_if_they_do_not_live_together() -> None:
    g = GraphBuilder()
    x = g.input("x", (100,))
    values = [g.op("nn.relu", x)]
    for _ in range(10):
        values.append(g.op("add", values[-1], x))
    graph = g.finish(g.op("add", values[-1], values[0]))
    made = place(graph)
    assert len(made.sizes) == 3  # the first value lives to the end, and two take turns
    assert made.nbytes == 3 * 400
    last = {v: k for k, n in enumerate(graph.nodes) for v in n.inputs}
    born = {v: k for k, n in enumerate(graph.nodes) for v in n.outputs}
    for v, p in made.piece.items():
        for u, q in made.piece.items():
            if u is not v and p == q:
                assert last[u] < born[v] or last[v] < born[u]


def test_calls_at_the_same_time_do_not_meet() -> None:
    from concurrent.futures import ThreadPoolExecutor

    g = GraphBuilder()
    v = x = g.input("x", (5000,))
    for _ in range(4):
        v = g.op("add", g.op("multiply", v, v), x)
    f = build_graph(g.finish(v))
    inputs = [np.full(5000, k / 10, np.float32) for k in range(8)]
    expected = [f(a) for a in inputs]
    with ThreadPoolExecutor(4) as pool:
        for got, want in zip(pool.map(f, inputs * 20), expected * 20, strict=True):
            np.testing.assert_array_equal(got, want)


def test_layouts_are_undone_by_the_theorem() -> None:
    """What is packed is what the theorem says of the parameter."""
    func = operator("nn.dense", (2, 64), (160, 64))
    f = build(scheduled(func, ("w",), WIDE).schedule, threads=1, pipeline=VECTORS)
    w = np.arange(160 * 64, dtype=np.float32).reshape(160, 64)
    packed = IndexMap.from_func(lambda i, k: [i // 16, k, i % 16], 2).pack(w)
    np.testing.assert_array_equal(f.pack("w", w), packed)
