"""Which sides of a branch are taken: what a few iterations say is true, and the kernel is asked about the rest."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_tir import Schedule
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import If
from verified_tir.schedule.tactics.branches import decide_branches, sides_taken

LOOPS = [("i", 2, 5), ("j", 0, 3), ("k", -1, 1)]
"""Variables, first values and extents."""


def nest(*conditions: str, before: str = "", value: str = "1.0") -> PrimFunc:
    """A store under the loops above and guards, one in the other."""
    lines = ["@T.prim_func", 'def f(A: T.Buffer((64,), "float32"), N: T.Buffer((1,), "int32")):']
    for name, low, extent in LOOPS:
        lines.append(f"{'    ' * (len(lines) - 1)}for {name} in range({low}, {low + extent}):")
    indent = "    " * (len(lines) - 1)
    lines += [f"{indent}{before}"] if before else []
    for c in conditions:
        lines.append(f"{indent}if {c}:")
        indent += "    "
    return parse_func("\n".join([*lines, f"{indent}A[i * 3 + j + k + 1] = T.float32({value})"]))


def sides(func: PrimFunc) -> set[bool]:
    """Of the innermost branch."""
    *_, (path, stmt) = places(func.body, lambda s: isinstance(s, If))
    assert isinstance(stmt, If)
    return sides_taken(func, path, stmt.condition)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["i == 2"], {True, False}),
        (["i >= 2"], {True}),
        (["i + j > 8"], {False}),
        (["i * 3 + j < 20"], {True, False}),  # false in the last iteration alone
        (["k + 1 == 0"], {True}),
        (["j == 0", "j == 2"], {False}),
        (["j == 0", "j < 2"], {True}),
        (["j == 0", "i < 4"], {True, False}),
        (["i > 9", "j == 0"], set()),  # nothing comes there
        (["N[0] == 0"], set()),
        (["i == N[0]"], set()),
        (["N[0] == 0", "i == 2"], set()),
        (["i // j == 2"], set()),  # it is not safe
    ],
)
def test_sides(conditions: list[str], expected: set[bool]) -> None:
    assert sides(nest(*conditions)) == expected


@pytest.mark.parametrize("before", ["T.assume(i < 4)", 'assert i < 4, "small"'])
def test_nothing_is_said_where_a_run_may_end_before(before: str) -> None:
    func = nest("i < 4", before=before)
    assert sides(func) == set()
    s = Schedule(func)
    assert s.simplify() and "if " not in s.script()  # the kernel knows more


_CONDITIONS = st.builds(
    "({} * {} + {}) {} {}".format,
    st.sampled_from("ijk"), st.integers(-2, 3), st.sampled_from("ijk"), st.sampled_from(["<", ">=", "==", "!="]),
    st.integers(-3, 12),
)  # fmt: skip


@pytest.mark.nightly
@given(st.lists(_CONDITIONS, min_size=1, max_size=3))
def test_a_side_that_is_named_is_taken(conditions: list[str]) -> None:
    points = [dict(zip("ijk", p, strict=True)) for p in product(*(range(a, a + n) for _, a, n in LOOPS))]
    reached = [p for p in points if all(eval(c, {}, p) for c in conditions[:-1])]
    assert sides(nest(*conditions)) <= {bool(eval(conditions[-1], {}, p)) for p in reached}


@pytest.mark.own_store
@pytest.mark.parametrize(("condition", "decided", "asked"), [("i * 3 + j < 20", 0, 0), ("i * 3 + j < 21", 1, 1)])
def test_the_kernel_is_not_asked_what_cannot_be_proved(condition: str, decided: int, asked: int) -> None:
    session = Schedule(nest(condition))._session
    before = session.solver.statistics.queries
    assert decide_branches(session) == decided
    assert session.solver.statistics.queries - before == asked
