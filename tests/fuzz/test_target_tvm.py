"""The target ``tvm``: what it counts, what it calls TVM's, what it calls ours, and that planted faults are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("tvm")

import tvm

from tests.fuzz.targets import tvm_checks, tvm_worker
from tests.fuzz.targets.tvm import Case, Tvm
from tests.fuzz.targets.tvm_checks import examine
from tests.fuzz.targets.tvm_known import KNOWN
from tests.fuzz.targets.tvm_outcome import HEAD
from tests.fuzz.targets.tvm_programs import PRIMITIVES, Plan
from tests.fuzz.targets.tvm_steps import apply
from tests.fuzz.targets.tvm_worker import Died, Worker
from tests.nightly import sample
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.interop.tvm import ValidatedSchedule

Patch = pytest.MonkeyPatch

TWO = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    B0 = T.sblock_alloc_buffer((4, 4), "int32")
    for i, j in T.grid(4, 4):
        with T.sblock("B0"):
            vi, vj = T.axis.remap("SS", [i, j])
            B0[vi, vj] = A[vi, vj] * 2
    for i, j, k in T.grid(4, 4, 4):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + B0[vi, {index}]
"""
PLAIN = TWO.format(index="vk")


def case(plans: Sequence[Plan] = (), text: str = PLAIN) -> Case:
    return Case(text, tuple(plans), 0)


@pytest.mark.nightly
def test_steps_that_are_right() -> None:
    outcome = examine(
        PLAIN, [Plan("split", (1, 0, 0, 0)), Plan("reorder", (1, 0, 1, 0)), Plan("unroll", (0, 0, 0, 0))], 0
    )
    assert outcome.wrong == [] and outcome.bugs == []
    assert outcome.counts["accepted by TVM"] == 3 and outcome.counts["compiled"] == 1
    assert ("TVM pass", "tirx.FlattenBuffer") in outcome.covered


@pytest.mark.nightly
def test_a_step_that_tvm_gets_wrong_is_counted_and_no_finding() -> None:
    seen = Observed()
    Tvm(isolated=False).check(case([Plan("loop_partition", (1, 2, 0, 0))]), seen)
    assert seen.totals["TVM bugs"] == 1 and seen.totals["TVM bugs that are news"] == 0
    assert seen.covered["TVM bug", "loop_partition"] == 1


@pytest.mark.nightly
def test_a_bug_that_is_not_on_the_list_is_news(monkeypatch: Patch) -> None:
    monkeypatch.delitem(KNOWN, "loop_partition")
    seen = Observed()
    Tvm(isolated=False).check(case([Plan("loop_partition", (1, 2, 0, 0))]), seen)
    assert seen.covered["TVM bug that is news", "loop_partition"] == 1


@pytest.mark.nightly
def test_a_pass_that_is_wrong_in_every_build_is_tvms() -> None:
    outcome = examine(PLAIN.replace("A[vi, vj] * 2", "A[vi, (3 - vj) % 4]"), [], 0)
    assert outcome.wrong == []
    outcome = examine(
        PLAIN.replace("(4, 4)", "(4, 8)")
        .replace("grid(4, 4)", "grid(4, 8)")
        .replace("A[vi, vj]", "A[vi, (3 - vj) % 8]"),
        [],
        0,
    )
    assert outcome.wrong == [] and {where for where, _ in outcome.bugs} == {"tirx.FlattenBuffer"}


def test_the_end_of_tvms_process_is_attributed(monkeypatch: Patch) -> None:
    class Dies:
        at = "tvm: merge"

        def examine(self, *_: Any) -> Any:
            raise Died(self.at, "the process ended with -11")

    target, seen = Tvm(), Observed()
    target.__dict__["worker"] = Dies()
    target.check(case(), seen)
    assert seen.covered["TVM died", "merge"] == 1
    Dies.at = "validate: a step"
    with pytest.raises(Disagreement, match="validate: a step"):
        target.check(case(), seen)


@pytest.mark.nightly
def test_the_worker_says_what_it_did_when_it_ends() -> None:
    worker = Worker()
    try:
        assert worker.examine(PLAIN, [], 0).counts["programs"] == 1
        process = worker._process
        assert process is not None
        process.kill()
        process.wait()
        assert worker.examine(PLAIN, [], 0).counts["programs"] == 1  # another process
        with pytest.raises(Disagreement, match="ScriptError"):
            worker.examine("no program", [], 0)
        with pytest.raises(Died) as died:
            monkey = tvm_worker.SECONDS
            tvm_worker.SECONDS = 0  # type: ignore[misc]
            try:
                worker.examine(PLAIN, [], 0)
            finally:
                tvm_worker.SECONDS = monkey  # type: ignore[misc]
        assert died.value.at in ("starting", "tvm: reading")
    finally:
        worker.close()


@pytest.mark.nightly
def test_every_primitive_has_arguments() -> None:
    """Whatever the numbers are, a primitive is taken or refused by TVM: nothing of ours fails."""
    for name in PRIMITIVES:
        for numbers in sample([(0, 0, 0, 0), (1, 1, 1, 1), (1, 2, 3, 4)], 1, name):
            outcome = examine(PLAIN, [Plan(name, numbers)], 0, compile_it=False)
            assert outcome.wrong == [], (name, numbers)
            assert outcome.counts.get("accepted by TVM", 0) + outcome.counts.get("refused by TVM", 0) == 1


@pytest.mark.nightly
def test_a_finding_is_a_test() -> None:
    text = Tvm().as_test(case([Plan("split", (1, 0, 0, 0))]), "test_found")
    scope: dict[str, Callable[[], None]] = {}
    exec(compile(text, "found.py", "exec"), scope)
    scope["test_found"]()


def test_a_block_without_loops_has_none_to_choose() -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")):
    with T.sblock("B"):
        A[0] = 1
    with T.sblock("C"):
        C[0] = A[0]
"""
    outcome = examine(text, [Plan("compute_at", (0, 1, 0, 0)), Plan("reverse_compute_at", (1, 0, 0, 0))], 0)
    assert outcome.wrong == [] and outcome.counts["refused by TVM"] == 2


@pytest.mark.nightly
def test_what_tvm_raises_is_a_refusal() -> None:
    """TVM's C++ raises ``KeyError`` for a loop around a block of blocks: that is none of ours."""
    text = PLAIN.replace("(4, 4)", "(3, 3)").replace("grid(4, 4", "grid(3, 3").replace("4)", "3)")
    plans = [Plan("blockize", (0, 1, 0, 0)), Plan("loop_partition", (0, 0, 1, 0))]
    with pytest.raises(KeyError):
        sch = ValidatedSchedule(tvm.script.from_source(HEAD + text.strip()))
        for plan in plans:
            apply(sch, plan)
    outcome = examine(text, plans, 0, compile_it=False)
    assert outcome.wrong == [] and outcome.counts["refused by TVM"] == 1


def test_programs_whose_types_tvm_loses_are_left_out() -> None:
    undefined = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1,), "int32")):
    A[0] = T.popcount({value})
"""
    for value in ('T.undef(dtype="int8")', 'T.Cast("int32", T.clz(A[0], dtype="int64"))'):
        outcome = examine(undefined.format(value=f'T.Cast("int32", {value})'), [], 0)
        assert outcome.counts == {"programs": 1, "not taken by TVM": 1} and outcome.wrong == []
    outcome = examine(undefined.format(value='T.undef(dtype="int32")'), [], 0)
    assert outcome.counts["round trips"] == 1 and outcome.wrong == []


@pytest.mark.nightly
@pytest.mark.parametrize("rows", [2, 4])
def test_parameters_in_another_layout_are_not_run(rows: int) -> None:
    """The machine's arrays are others than the interpreter's; the passes are judged all the same."""
    text = f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({rows}, 4), "int32"), C: T.Buffer(({rows}, 4), "int32")):
    for i, j in T.grid({rows}, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""
    outcome = examine(text, [Plan("transform_layout", (0, 0, 0, 0))], 0)
    assert outcome.wrong == [] and outcome.counts["accepted by TVM"] == 1 and outcome.counts["compiled"] == 1


@pytest.mark.nightly
def test_constants_that_tvm_folds_as_it_reads_are_tvms(monkeypatch: Patch) -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = T.float32(0.0) + A[0]
"""
    for value in (
        "T.float32(0.0) + A[0]",
        "T.max(T.float32(0.0), T.float32(-0.0))",
        "T.min(T.float32(-0.0), A[0] * 0.0)",
    ):
        outcome = examine(text.replace("T.float32(0.0) + A[0]", value), [], 0)
        assert outcome.wrong == [] and [where for where, _ in outcome.bugs] == ["reading"] and "reading" in KNOWN
    monkeypatch.setattr(tvm_checks, "in_words", lambda text: text.replace("A[0]", "B[0]"))
    assert [kind for kind, _, _ in examine(text, [], 0).wrong] == ["round-trip-differs"]


@pytest.mark.nightly
@pytest.mark.parametrize("value", ["A[i] != A[0]", "not A[0] == A[i]"])
def test_what_tvms_machine_code_says_of_nan_is_tvms(value: str) -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "bool")):
    for i in range(64):
        B[i] = {}
"""
    outcome = examine(text.format(value), [], 0)
    assert outcome.wrong == [] and [where for where, _ in outcome.bugs] == ["machine code"] and "machine code" in KNOWN
    for right in ("A[i] == A[0]", "T.isnan(A[i])", "T.round(A[i]) < A[i]"):
        outcome = examine(text.format(right), [], 0)
        assert outcome.wrong == [] and outcome.bugs == [] and outcome.counts["compiled"] == 1


def test_what_tvm_prints_and_does_not_read_is_tvms() -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({n},), "float32"), B: T.Buffer((1,), "float32")):
    V = T.decl_buffer(({tiles}, 2), "float32", data=A.data, strides=(2, 1))
    B[0] = V[0, 0]
"""
    outcome = examine(text.format(n=4, tiles=2), [], 0, compile_it=False)
    assert outcome.wrong == [] and outcome.bugs == [] and outcome.counts["round trips"] == 1
    outcome = examine(text.format(n=0, tiles=0), [], 0, compile_it=False)
    assert outcome.wrong == [] and [where for where, _ in outcome.bugs] == ["printing"] and "printing" in KNOWN


def test_elements_with_lanes_are_not_run() -> None:
    """TVM's entry takes tensors of vectors, which numpy has not."""
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1,), "float32x4")):
    A[0] = T.Broadcast(T.float32(0.0), 4)
"""
    outcome = examine(text, [], 0)
    assert outcome.wrong == [] and outcome.counts == {"programs": 1, "round trips": 1}
