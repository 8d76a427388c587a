"""The parts of the evaluation on demand, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_tir import parse_func
from verified_tir.ir.dtype import DType
from verified_tir.validate.demand.elements import choose
from verified_tir.validate.demand.frames import Frames
from verified_tir.validate.demand.instances import Effort, TooMuch, Writers
from verified_tir.validate.demand.levels import depths
from verified_tir.validate.demand.validator import Program, differing
from verified_tir.validate.demand.versions import SparseAccess, Versions
from verified_tir.validate.interface import Correspondence, Side, listed, parameters
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import Exit
from verified_tir.validate.terms import Terms

F32 = DType.parse("float32")


def writers(body: str, extent: int, effort: int = 10**6) -> Writers:
    """Of the one store in a program that writes B."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    func = parse_func(f'@T.prim_func\ndef f(B: T.Buffer(({extent},), "int32")):\n{lines}')
    program = Program.of(Side.of(func, {}))
    build = Builder(Terms())
    access = SparseAccess(build, program.outline, program.params, frozenset())
    frames = Frames(program.outline, access.evaluator, int(build.opaque("perhaps", DType.parse("bool"), 0)))
    (site,) = program.outline.sites
    return Writers(site, program.outline, frames.writes, Effort(1001 * effort, effort))  # a look at one box each


INDICES = [
    "i * 4 + j", "11 - i - j * 2", "(i * 7 + j) % 5", "(i * 4 + j) // 3", "T.min(i * 5, j + 2)", "T.max(i, j) * 2",
    "T.if_then_else(i < 2, j, i + 4)", "T.truncmod(i * 3, 4) + j", "T.shift_right(i * 4 + j, 1)", "i * j", "5",
    "T.bitwise_and(i * 3 + j, 7)",
]  # fmt: skip
GUARDS = ["True", "i + j < 4", "i != j", "i * 2 >= j and j < 3", "i < 1 or j == 3", "not (i == 2)", "(i + j) % 2 == 0"]


@pytest.mark.nightly
@settings(deadline=None)
@given(
    st.sampled_from(INDICES), st.sampled_from(GUARDS), st.integers(0, 4), st.integers(0, 4),
    st.integers(-1, 40), st.integers(-1, 40),
)  # fmt: skip
def test_branch_and_prune_finds_just_the_writers(index, guard, m, n, after, before):
    body = f"for i, j in T.grid({m}, {n}):\n    if {guard}:\n        B[{index}] = 1"
    if 0 in (m, n):
        return  # nothing is there to ask
    found = writers(body, 24)
    site = found.site
    points = np.array([(i, j) for i in range(m) for j in range(n)], dtype=np.int64).reshape(-1, 2)
    times = site.time(points)
    for address in range(24):
        wanted = np.full(times.size, address)
        these = sorted(t for t, w in zip(times.tolist(), found.check(site, times, wanted), strict=True)
                       if w and after < t < before)  # fmt: skip
        ask = np.array([address]), np.array([after]), np.array([before])
        assert found.every(*ask).tolist() == these
        assert found.last(*ask).tolist() == these[-1:] or (not these and found.last(*ask).tolist() == [-1])


def test_tiles_and_fused_loops_take_few_boxes():
    fused = writers("for f in range(16777216):\n    B[f % 128 * 131072 + f // 128] = 1", 1 << 24, effort=60)
    address = np.array([5 * 131072 + 77])
    assert fused.last(address, np.array([-1]), np.array([1 << 40])).tolist() == [77 * 128 + 5]
    tiled = writers(
        "for i0, i1, i2 in T.grid(1024, 128, 128):\n    B[i0 * 16384 + i1 * 128 + i2] = 1", 1 << 24, effort=60
    )
    assert tiled.last(address, np.array([-1]), np.array([1 << 40])).tolist() == address.tolist()
    with pytest.raises(TooMuch):
        writers("for i, j in T.grid(4096, 4096):\n    B[i * j % 4093] = 1", 4096, effort=10).every(
            np.array([17]), np.array([-1]), np.array([1 << 40])
        )


def test_versions():
    versions = Versions(np.array([3, 3, 5, 3]), np.array([10, 20, 15, 20]))
    versions.value[versions.place] = [100, 200, 300, 400]  # of one time and address the last lane stays

    def at(address: int, time: int, made: int = -1) -> int:
        k = int(versions.find(np.array([address]), np.array([time]), np.array([made]))[0])
        return -1 if k < 0 else int(versions.value[k])

    assert [at(3, 10), at(3, 11), at(3, 20), at(3, 21)] == [-1, 100, 100, 400]
    assert [at(5, 100), at(4, 100), at(6, 100), at(2, 100)] == [300, -1, -1, -1]
    assert [at(3, 15, made=10), at(3, 15, made=9)] == [-1, 100]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_depths(pairs):
    edges = [(max(p), min(p)) for p in pairs if p[0] != p[1]]
    consumers, producers = (np.array([e[k] for e in edges], dtype=np.int64) for k in (0, 1))
    want = [0] * 12
    for k in range(12):
        want[k] = max([want[p] + 1 for c, p in edges if c == k], default=0)
    assert depths(12, consumers, producers).tolist() == want


def test_pairs_that_differ_by_rounding_alone_are_not_replayed():
    build = Builder(Terms())
    x, y, z = (build.terms.sequence("input:0", F32, 3)[k : k + 1] for k in range(3))

    def plus(*terms: np.ndarray) -> np.ndarray:
        found = terms[0]
        for term in terms[1:]:
            found = build.binary("add", F32, found, term)
        return build.binary("mul", F32, found, found)

    left, right, other = (int(plus(*t)[0]) for t in ((x, y, z), (z, x, y), (x, y, y)))
    before = Exit({}, {}, (), 0)
    assert left != right and differing(build.terms, before, [(left, right)]) == []
    assert differing(build.terms, before, [(left, right), (left, other)]) == [(left, other)]


def test_elements_are_corners_boundaries_and_random_ones():
    chosen = choose((1000, 300), [[64], [7]], 100, 1)
    assert chosen.size == 100 and len(set(chosen.tolist())) == 100
    rows, columns = np.divmod(chosen, 300)
    assert {(0, 0), (0, 299), (999, 0), (999, 299)} <= set(zip(rows.tolist(), columns.tolist(), strict=True))
    assert {63, 64, 959, 960} <= set(rows.tolist()) and {6, 7, 293, 294} <= set(columns.tolist())
    assert (choose((1000, 300), [[64], [7]], 100, 1) == chosen).all()
    assert choose((3, 4), [[2], []], 100, 1).tolist() == list(range(12))
    assert choose((0, 4), [[], []], 5, 1).size == 0 and choose((), [], 5, 1).tolist() == [0]


def test_parameters_that_are_strided_and_moved_parameters():
    func = parse_func(
        '@T.prim_func\ndef f(a: T.handle, B: T.Buffer((3, 4), "float32")):\n'
        '    A = T.match_buffer(a, (3, 4), "float32", strides=[1, 5])\n    A[0, 0] = B[0, 0]\n'
    )
    before = listed(Side.of(func, {}))
    strided = before.params[0]
    every = np.arange(12)
    assert strided.positions(every).tolist() == [k // 4 + k % 4 * 5 for k in range(12)]
    assert strided.elements_at(strided.positions(every)).tolist() == every.tolist()
    assert strided.elements_at(np.array([3, 4, 19])).tolist() == [-1, -1, -1]
    moved = parse_func('@T.prim_func\ndef f(a: T.Buffer((3, 4), "float32"), B: T.Buffer((2, 7), "float32")):\n'
                       "    a[0, 0] = B[0, 0]\n")  # fmt: skip
    maps = {"B": Correspondence(lambda i, j: (j // 2, i * 2 + j % 2), padding=None)}
    _, after = listed(Side(moved, parameters(moved, {}, before.params, maps), {})).params
    assert after.elements_at(after.positions(every)).tolist() == every.tolist()
    assert after.is_padded and after.rest.tolist() == [6, 13]
    assert after.elements_at(np.array([5, 6])).tolist() == [9, -1]
