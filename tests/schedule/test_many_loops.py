"""Many loops at once: split and fused two at a time, with the result that one step would have."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.parts.work import calls
from verified_tir import Refuted, Schedule
from verified_tir.schedule.tactics import in_turn, loops

SIZES = (2, 3, 4, 5, 2, 3, 4)


def nest(*sizes: int | str, guard: str = "", start: int = 0, assumed: str = "") -> str:
    """A program with one loop for each size, which is a number or the name of a symbol."""
    names = [f"i{k}" for k in range(len(sizes))]
    shape = ", ".join(map(str, sizes))
    symbols = "".join(f", {s}: T.int32" for s in sizes if isinstance(s, str))
    ends = [s if start == 0 else f"{start}, {start} + {s}" for s in sizes]
    at = ", ".join(f"{n} - {start}" if start else n for n in names)
    lines = ["@T.prim_func", f"def f(a: T.handle, b: T.handle{symbols}):"]
    lines += [f'    A = T.match_buffer(a, ({shape},), "float32")', f'    B = T.match_buffer(b, ({shape},), "float32")']
    lines += [f"    T.assume({assumed})"] if assumed else []
    for k, (name, end) in enumerate(zip(names, ends, strict=True)):
        lines.append("    " * (k + 1) + f"for {name} in range({end}):")
    inside = "    " * (len(names) + 1)
    if guard:
        lines.append(f"{inside}if {guard}:")
        inside += "    "
    lines.append(f"{inside}B[{at}] = A[{at}] * 2.0")
    return "\n".join(lines)


def fused(text: str, count: int) -> Callable[[], Schedule]:
    def make() -> Schedule:
        s = Schedule(text)
        s.fuse(*[f"i{k}" for k in range(count)])
        return s

    return make


def split(text: str, factors: list[int | None]) -> Callable[[], Schedule]:
    def make() -> Schedule:
        s = Schedule(text)
        s.split("i0", factors)
        return s

    return make


BOTH_WAYS = [
    fused(nest(*SIZES[:4]), 4),
    fused(nest(*SIZES[:5], start=3), 5),
    fused(nest(*SIZES[:4], guard="i0 + i3 < 4 and i1 < i2"), 4),
    fused(nest(3, 1, 4, 1, 2), 5),
    fused(nest(3, 0, 4, 2), 4),
    split(nest(2880), [None, 3, 4, 5, 2]),
    split(nest(100, start=7), [3, 2, 4, None]),
    split(nest(101), [None, 2, 3, 5]),
    split(nest(48), [2, 3, 4, 2]),
    split(nest("n"), [None, 2, 3, 4]),
    split(nest(30, guard="i0 < 20"), [None, 2, 3, 2]),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("k", range(len(BOTH_WAYS)))
def test_the_result_is_that_of_one_step(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_turn_ = BOTH_WAYS[k]()
    monkeypatch.setattr(loops, "AT_ONCE", 99)
    at_once = BOTH_WAYS[k]()
    assert in_turn_.script() == at_once.script()
    assert len(in_turn_.theorem.derivation) > len(at_once.theorem.derivation)
    assert [step.name for step in in_turn_.steps] == [step.name for step in at_once.steps]


def test_seven_loops_are_fused_at_once() -> None:
    """It was not always decided."""
    assert calls(fused(nest(*SIZES), 7)) < 500_000


@pytest.mark.sample(2)
@pytest.mark.parametrize("sizes", [("m", "n", "k"), ("m", "n", "k", "p"), ("n", 4, 8, 3), (4, 8, "n"), (4, "n", 8)])
def test_symbolic_loops_are_fused_at_once(sizes: tuple[int | str, ...]) -> None:
    """Three symbols were out of reach."""
    assumed = " and ".join(f"{s} >= 1" for s in sizes if isinstance(s, str))
    make = fused(nest(*sizes, assumed=assumed), len(sizes))
    assert calls(make) < 400_000
    text = make().script()
    factors = [str(s) for s in sizes]
    assert text.count("for ") == 1 and all(s in text.split("for ")[1].split(":")[0] for s in factors if s.isalpha())


def test_digits_of_symbolic_loops_are_written_as_usual() -> None:
    text = fused(nest("m", "n", "k", assumed="k >= 1"), 3)().script()
    x = "i0_i1_i2_fused"
    assert f"B[{x} // (n * k), {x} // k % n, {x} % k]" in text


def test_an_empty_last_loop_bounds_no_product() -> None:
    """The near neighbour that is rightly refused: were k 0, nothing would bound m * n."""
    s = Schedule(nest("m", "n", "k"))
    before = s.script()
    with pytest.raises(Refuted, match="m \\* n does not overflow"):
        s.fuse("i0", "i1", "i2")
    assert s.script() == before, "none of the steps is taken"


def test_many_symbolic_splits_are_proved() -> None:
    s = Schedule(nest("n"))
    names = [v.name for v in s.split("i0", [None, 2, 3, 4, 5, 6])]
    assert names == [f"i0_{k}" for k in range(6)]
    assert "i0_0 * 720 + i0_1 * 360 + i0_2 * 120 + i0_3 * 30 + i0_4 * 6 + i0_5 < n" in s.script()


def test_a_fused_loop_is_serial_whatever_they_are_marked() -> None:
    s = Schedule(nest(2, 3, 4, 5))
    for k in range(4):
        s.parallel(f"i{k}")
    s.fuse("i0", "i1", "i2", "i3")
    assert "in range(120)" in s.script() and "T.parallel" not in s.script()
    s = Schedule(nest(2, 3, 4, 5))
    s.parallel("i0")
    s.fuse("i0", "i1", "i2", "i3")
    assert "in range(120)" in s.script()


def test_what_stands_between_is_said_as_before() -> None:
    s = Schedule(nest(2, 3, 4, 5))
    with pytest.raises(Exception, match="fuse takes all loops of a nest"):
        s.fuse("i0", "i1", "i3", "i2")
    assert in_turn.AT_ONCE == 3
