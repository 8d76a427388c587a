"""The order of the loops over tiles, copies that are made row by row, and what is computed of sums in groups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graph.test_schedules import HEADER, WIDE, grouped, operator, same_bits
from verified_tir import Schedule, script
from verified_tir.graph.nests import alone, nests
from verified_tir.graph.schedules import scheduled
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func


def places(channels: int, size: int, out: int) -> PrimFunc:
    """A convolution 1x1 in NCHW16c."""
    return parse_func(f"""{HEADER}x: T.Buffer(({channels // 16}, {size}, {size}, 16), "float32"),
      w: T.Buffer(({out // 16}, {channels // 16}, 16, 16), "float32"),
      r: T.Buffer(({out // 16}, {size}, {size}, 16), "float32")):
    for k_0, y, z, k_1, rc_0, rc_1 in T.grid({out // 16}, {size}, {size}, 16, {channels // 16}, 16):
        with T.sblock("r"):
            if rc_0 == 0 and rc_1 == 0:
                r[k_0, y, z, k_1] = T.float32(0.0)
            r[k_0, y, z, k_1] = r[k_0, y, z, k_1] + x[rc_0, y, z, rc_1] * w[k_0, rc_0, rc_1, k_1]
""")


def loops(made: Any) -> list[str]:
    """The loops around the tile, by the variables that they came from."""
    around = script(made.schedule.func).partition("_local = T.alloc_buffer")[0].splitlines()
    return [v.strip() for v in around[-2].partition("for ")[2].partition(" in ")[0].split(",")]


@pytest.mark.parametrize(
    ("channels", "size", "out", "order"),
    [
        (256, 56, 64, ["y", "z_0", "k_0_0"]),  # 3.2 MB of places, 64 KB of weights
        (64, 56, 128, ["k_0_0", "y", "z_0"]),  # 0.8 MB of places: they stay in the cache
        (2048, 28, 256, ["k_0_0", "y", "z_0"]),  # 6.4 MB of places, but 2 MB of weights, too
    ],
)
def test_what_does_not_fit_is_gone_through_once(channels: int, size: int, out: int, order: list[str]) -> None:
    made = scheduled(places(channels, size, out), machine=WIDE)
    assert loops(made) == order
    assert made.refused == ()


def test_places_that_share_nothing_have_the_larger_tile() -> None:
    assert "(1, 1, 14, 16)" not in script(scheduled(window(), machine=WIDE).schedule.func)
    assert "alloc_buffer((2, 1, 14, 16)" in script(scheduled(places(64, 28, 64), machine=WIDE).schedule.func)


def window() -> PrimFunc:
    """A convolution with windows that overlap."""
    return operator("nn.conv2d", (1, 64, 30, 30), (64, 64, 3, 3))


def pool(size: int, more: str = "") -> PrimFunc:
    """Maxima over windows of a padded copy."""
    n, m = size + 2, size // 2
    return parse_func(f"""{HEADER}x: T.Buffer((2, {size}, {size}, 16), "float32"),
      r: T.Buffer((2, {m}, {m}, 16), "float32")):
    p = T.alloc_buffer((2, {n}, {n}, 16), "float32")
    for k, y, z, c in T.grid(2, {n}, {n}, 16):
        with T.sblock("p"):
            p[k, y, z, c] = T.if_then_else(
                y >= 1 and y <= {size} and z >= 1 and z <= {size}, x[k, y - 1, z - 1, c], T.float32("-inf"))
    for k, y, z, c, u, v in T.grid(2, {m}, {m}, 16, 3, 3):
        with T.sblock("r"):
            if u == 0 and v == 0:
                r[k, y, z, c] = T.float32("-inf")
            r[k, y, z, c] = T.max(p[k, 2 * y + u, 2 * z + v, c], r[k, y, z, c])
{more}""")


def test_a_large_padded_copy_is_made_row_by_row() -> None:
    made = same_bits(pool(56))
    assert "p = T.alloc_buffer((1, 3, 57, 16)" in script(made.schedule.func)
    assert made.refused == ()


def test_a_small_one_is_made_whole() -> None:
    made = same_bits(pool(20))
    assert "p = T.alloc_buffer((2, 22, 22, 16)" in script(made.schedule.func)


def test_one_that_others_read_is_made_whole() -> None:
    others = """
    for k, y, z, c in T.grid(2, 28, 28, 16):
        with T.sblock("s"):
            r[k, y, z, c] = r[k, y, z, c] + p[k, 29 - y, z, c]
"""
    made = same_bits(pool(56, others))
    assert "p = T.alloc_buffer((2, 58, 58, 16)" in script(made.schedule.func)


@pytest.mark.parametrize(("channels", "groups"), [(24, 2), (112, 4)])
def test_what_is_computed_of_groups_asks_no_element_for_its_tile(channels: int, groups: int) -> None:
    """Each element of a tile ran through all channels, to find the one that it is."""
    tiles = -(-channels // 16)
    shape = f'(1, {tiles}, 12, 12, 16), "float32"'
    head, _, body = script(grouped(channels, 12, groups)).partition("):\n")
    func = parse_func(f"""{head.replace("r: T.Buffer", "q: T.Buffer")}):
    r = T.alloc_buffer({shape})
{body}
    for c_0, h, v, c_1 in T.grid({tiles}, 12, 12, 16):
        if 16 * c_0 + c_1 < {channels}:
            with T.sblock("q"):
                q[0, c_0, h, v, c_1] = T.max(r[0, c_0, h, v, c_1] * 2.0, T.float32(0.0))
""")
    made = same_bits(func, ("w",))
    assert " == " not in script(made.schedule.func)


def test_loops_that_have_nothing_else_around_a_block() -> None:
    (first, second) = nests(
        parse_func(f"""{HEADER}a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
    for i in range(4):
        for j in range(8):
            with T.sblock("a"):
                a[i, j] = 0.0
        for k, m in T.grid(2, 4):
            with T.sblock("b"):
                b[i, k * 4 + m] = a[i, 0]
""")
    )
    assert [x.var.name for x in alone(first)] == ["j"]
    assert [x.var.name for x in alone(second)] == ["k", "m"]


def test_a_reduction_is_no_epilogue_of_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was tried, and refused after many seconds."""
    asked: list[str] = []
    monkeypatch.setattr(Schedule, "reverse_compute_inline", lambda self, block: asked.append(block))
    assert scheduled(pool(24), machine=WIDE).refused == ()
    assert asked == []
