"""``Schedule.validate``: the validator agrees with what was proved; where a fault is planted in the kernel, it objects.

The kernel is made to accept everything; what then goes wrong must be found, at the step where it goes wrong.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verified_tir import Schedule
from verified_tir.kernel.facts import Prover
from verified_tir.logic.verdict import Proved
from verified_tir.schedule import second_opinion as module
from verified_tir.schedule.disagreement import BugInThisTool
from verified_tir.schedule.operations import operations
from verified_tir.schedule.tactics import branches
from verified_tir.validate import EqualOverReals, Report, Unknown

TOTAL = """
@T.prim_func
def total(A: T.Buffer((16, 14), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = 0.0
        for j in range(14):
            B[i] = B[i] + A[i, j]
"""
COPY = """
@T.prim_func
def copy(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m", "n"), "float32"), m: T.int32, n: T.int32):
    for i, j in T.grid(m, n):
        B[i, j] = A[i, j]
"""


@pytest.fixture
def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    believe(monkeypatch)


def believe(patch: pytest.MonkeyPatch) -> None:
    """A kernel that takes every obligation for proved, and tactics that ask it also what they know to be false."""
    patch.setattr(Prover, "prove", lambda self, context, given, goal: (Proved(), given))
    patch.setattr(branches, "sides_taken", lambda *_: set())


def padded_with_ones(s: Schedule) -> None:
    s.split("i", [4, 4])
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=1.0)
    s.sequential_buffer_access("A")  # the guard around the padding is thought to be true
    s.unroll("i_0")


def other_order(s: Schedule) -> None:
    s.split("i", [4, 4])
    outer, inner = s.split("j", [2, 7])
    s.reorder(inner, outer)
    s.unroll(outer)


def race(s: Schedule) -> None:
    s.split("i", [4, 4])
    s.parallel("j")
    s.unroll("i_0")


FAULTS: dict[str, tuple[Callable[[Schedule], None], str, str]] = {
    "padding that is added": (padded_with_ones, "sequential_buffer_access(A)", "different: B["),
    "another order": (other_order, "reorder(j_1, j_0)", "different: B["),
    "a race": (race, "parallel(j)", "race"),
}


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.usefixtures("believing")
@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_step_is_found_and_named(fault: str, every_step: bool) -> None:
    steps, name, found = FAULTS[fault]
    s = Schedule(TOTAL)
    steps(s)
    assert str(s.steps[-1]) != name
    with pytest.raises(BugInThisTool) as raised:
        s.validate(every_step=every_step)
    evidence = raised.value.evidence
    assert evidence.trace[-1] == name and evidence.trace[0] == "program(total)"
    assert found in evidence.found and f"after the step: {name}" in str(raised.value)


@pytest.mark.parametrize("steps", [other_order, race], ids=["another order", "a race"])
def test_the_kernel_itself_refuses_these(steps: Callable[[Schedule], None]) -> None:
    from verified_tir import Refuted

    with pytest.raises(Refuted):
        steps(Schedule(TOTAL))


@pytest.mark.nightly
@pytest.mark.usefixtures("believing")
def test_large_shapes_are_replayed_too() -> None:
    """Where terms differ, the search for an input may take longer."""
    s = Schedule(TOTAL.replace("16", "160"))  # more than 4000 steps
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=1.0)
    s.sequential_buffer_access("A")
    with pytest.raises(BugInThisTool, match=r"different: B\[0\]"):
        s.validate()


@pytest.mark.usefixtures("believing")
def test_symbols_that_were_exchanged_differ() -> None:
    """A wrong bound that shows only where m and n differ."""
    s = Schedule(COPY)
    j, _ = s.split("j", [1, None])
    s.remove_loop(j)
    assert s.validate().word == "agrees"
    s.partition("i", s.symbol("n"))
    with pytest.raises(BugInThisTool) as raised:
        s.validate()
    sizes = raised.value.evidence.report.sizes
    assert sizes["m"] != sizes["n"]


@pytest.mark.nightly
def test_the_evidence_runs_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        believe(patch)
        s = Schedule(TOTAL)
        padded_with_ones(s)
        with pytest.raises(BugInThisTool) as raised:
            s.validate()
    path = raised.value.evidence.write(tmp_path)
    assert path.parent == tmp_path and path.name.startswith("vtir-bug-total-")
    text = path.read_text()
    for words in ("z3-solver", "numpy", "seed:", "A[i, j] is A[i, j // 4, j % 4]", "A[i, jo, ji] == T.float32(1.0)"):
        assert words in text, words
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.splitlines()[0] == str(raised.value.evidence.found)
    assert "before leaves" in ran.stdout and "after leaves" in ran.stdout
    assert raised.value.evidence.write(tmp_path) == path, "the same evidence has the same name"


def test_evidence_goes_elsewhere_if_it_must(tmp_path: Path) -> None:
    s = Schedule(TOTAL)
    report = Report(EqualOverReals(("the sum of B",)))
    from verified_tir.schedule.disagreement import Evidence

    evidence = Evidence(s.func, s.func, s.theorem, ("program(total)",), report, {}, "nothing")
    path = evidence.write(tmp_path / "not there")
    try:
        assert path.exists() and path.parent != tmp_path / "not there"
    finally:
        path.unlink()


def test_agreement_names_the_sizes() -> None:
    s = Schedule(COPY)
    outer, _ = s.split("j", [None, 5])
    s.parallel(outer)
    found = s.validate()
    (opinion,) = found.opinions
    assert found.word == "agrees" and opinion.step == 2 and opinion.name == "parallel(j_0)"
    assert str(found).startswith("the validator agrees: equal at (m, n) = (0, 0), (1, 1), ")
    asked = [tuple(r.sizes.values()) for r in opinion.reports]
    assert (5, 5) in asked and (6, 6) in asked, "the factor and its neighbour"
    assert any(m != n for m, n in asked) and not opinion.left_out
    assert str(s.validate(sizes=[{"m": 4, "n": 9}])) == "the validator agrees: equal at (m, n) = (4, 9)"
    assert str(s.validate(sizes=[])) == "no input that the validator tried satisfies the assumptions"
    every = s.validate(every_step=True)
    assert [o.step for o in every.opinions] == [1, 2] and str(every).endswith("after each of 2 steps")


def test_larger_sizes_are_left_out_and_said_to_be() -> None:
    s = Schedule(COPY)
    s.split("j", [None, 5])
    found = s.validate(most_operations=400)
    assert found.word == "agrees" and found.opinions[0].left_out
    assert f"({len(found.opinions[0].left_out)} more would have taken too long)" in str(found)


def test_nothing_changed() -> None:
    s = Schedule(COPY)
    assert str(s.validate()) == str(s.validate(every_step=True)) == "nothing was asked: the schedule changed nothing"


def test_blocks_are_compared_as_they_were_written() -> None:
    """That they expand rightly is what the kernel believes; the validator runs them itself."""
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        with T.block("b"):
            v = T.axis.spatial(6, i)
            B[v] = A[v] * 2
""")
    assert s.steps[0].before is not s.func
    assert [o.name for o in s.validate().opinions] == ["program(f)"]


def test_a_symbol_that_became_a_parameter() -> None:
    s = Schedule(COPY.replace(", m: T.int32, n: T.int32", "").replace("def", "def", 1))
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=None)
    s.transform_layout("B", lambda i, j: [i, j // 4, j % 4], pad_value=None)
    assert len(s.func.params) == 3
    assert s.validate().word == "agrees"


@pytest.mark.parametrize("assumption", ["T.assume(n % 32 == 0)", "T.assume(n >= 100)"])
def test_sizes_that_the_program_rules_out_do_not_count(assumption: str) -> None:
    s = Schedule(COPY.replace("    for", f"    {assumption}\n    for").replace('"m"', "2").replace(", m: T.int32", "")
                 .replace("T.grid(m,", "T.grid(2,"))  # fmt: skip
    s.split("j", [None, 8])
    found = s.validate()
    if "100" in assumption:
        assert found.word == "undecided" and "no input that the validator tried" in str(found)
        assert s.validate(sizes=[{"n": 100}]).word == "agrees"
    else:
        assert found.word == "agrees" and " at n = 0, 32, 64" in str(found)


def test_what_it_cannot_say_is_no_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(TOTAL)
    s.split("i", [4, 4])
    monkeypatch.setattr(module, "validate", lambda *_, **__: Report(Unknown("it is Sunday")))
    found = s.validate()
    assert (found.word, str(found)) == ("undecided", "the validator did not decide: unknown: it is Sunday")
    s = Schedule(TOTAL)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=lambda i, j, k: T_float(i))
    assert s.validate().word == "undecided" and "depends on where it stands" in str(s.validate())


def T_float(i: object) -> object:
    from verified_tir.script import tir as T

    return T.Cast("float32", i)


def test_every_single_value_of_padding_is_carried_over() -> None:
    for pad in (None, -0.0, float("inf"), 7.0):
        s = Schedule(TOTAL)
        s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=pad)
        s.transform_layout("A", lambda i, j, k: [k, i, j])
        assert str(s.validate()) == "the validator agrees: equal", pad


def test_operations_are_estimated() -> None:
    s = Schedule(COPY)
    assert operations(s.func, {"m": 0, "n": 9}) == 1
    small, large = operations(s.func, {"m": 2, "n": 3}), operations(s.func, {"m": 20, "n": 30})
    assert 90 * small < large < 110 * small
    triangle = Schedule("""
@T.prim_func
def f(A: T.Buffer((100,), "int32")):
    for i in range(100):
        for j in range(i):
            A[i] = A[j]
""")
    assert 15_000 < operations(triangle.func, {}) < 25_000
