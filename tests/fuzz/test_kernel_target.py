"""The kernel's target: it finds planted faults, findings are small, the tests that it writes fail when they must."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets.kernel import TARGET, KernelCase, rules
from tests.fuzz.targets.kernel_source import literal
from tests.rules.cases import RuleCase, rule_cases
from verified_tir.fuzz.target import Disagreement, Observed, Target
from verified_tir.kernel.rules import reorder
from verified_tir.schedule import session
from verified_tir.testing import Draft, Plan, schedules
from verified_tir.testing.scheduling.seeds import seed
from verified_tir.testing.scheduling.step import WRITERS

import numpy as np  # isort: skip

QUIET = list(HealthCheck)
FOUND = settings(max_examples=400, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET,
                 phases=(Phase.generate, Phase.shrink))  # fmt: skip


def failure(case: Any) -> Disagreement | None:
    try:
        TARGET.check(case, Observed())
    except Disagreement as found:
        return found
    return None


def test_it_is_a_target() -> None:
    target: Target[Any] = TARGET
    assert target.name == "kernel" and not target.requires
    groups = Counter(group for group, _ in target.universe())
    assert groups["primitive"] == len(WRITERS)
    assert groups["rule"] == len(rules()) > 20


@pytest.mark.nightly
def test_without_faults_nothing_is_found() -> None:
    observed = Observed()

    @settings(max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET)
    @given(TARGET.cases())
    def run(case: Any) -> None:
        TARGET.check(case, observed)

    run()
    assert observed.totals["programs"] >= 25


def test_everything_is_counted() -> None:
    observed = Observed()
    case = KernelCase(Draft(seed("scan"), (Plan("split"), Plan("parallel"), Plan("fuse", b"\x0f"))), 0, True, True)
    TARGET.check(case, observed)
    assert observed.totals == {
        "programs": 1, "accepted": 1, "refused": 2, "confirmed": 1, "not applicable": 1, "compiled": 1,
        "certificates": 1,
    }  # fmt: skip
    assert observed.covered["primitive", "split"] == observed.covered["rule", "Reorder"] == 1
    assert observed.covered["tried", "parallel"] == 1 and ("primitive", "parallel") not in observed.covered


NO_LICENCE = '''\
"""accepted-but-differs (parallel: Same): a licence is broken: race at B[0] between j = 0 and 1."""

import numpy as np

from verified_tir import Schedule
from verified_tir.testing import assert_refines, refusals_are_right

PROGRAM = """\\
@T.prim_func
def row_sum(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = T.float32(0)
        for j in range(4):
            B[i] = B[i] + A[i, j]
"""


def test_found() -> None:
    with refusals_are_right():
        s = Schedule(PROGRAM)
    with refusals_are_right(s):
        s.parallel("j")
    arguments = {
        "A": np.array([[2.0, 1.0, 0.0, -2.0], [-1.0, -3.0, -3.0, -3.0], [-2.0, 2.0, 1.0, 3.0]], "float32"),
        "B": np.array([0.0, 1.0, 3.0], "float32"),
    }
    assert_refines(s, arguments, machine_code=False)
'''


@pytest.mark.nightly
def test_a_licence_that_is_not_asked_for_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = st.builds(KernelCase, schedules(st.just(seed("row sum")), ("parallel", "split", "simplify"), max_steps=4))
    with monkeypatch.context() as patch:
        patch.setattr(session, "spoiled", lambda *_: [])
        case = find(cases, lambda c: failure(c) is not None, settings=FOUND)
        assert len(case.draft.plans) == 1
        source = TARGET.as_test(case, "test_found")
        assert source == NO_LICENCE
        with pytest.raises(AssertionError, match="a licence is broken"):
            run_source(source)
    run_source(source)


def run_source(source: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(source, "found", "exec"), names)
    names["test_found"]()


def test_a_rule_that_forgets_to_ask_is_found_without_tactics(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(reorder, "no_dependence", lambda *_, **__: iter(()))
        case = find(rule_cases(("pair",)), lambda c: failure(c) is not None, settings=FOUND)
        found = failure(case)
        assert found is not None and found.kind == "rule-unsound" and found.where in ("swap", "fission")
        source = TARGET.as_test(case, "test_found")
        with pytest.raises(AssertionError, match="is accepted, which is wrong"):
            run_source(source)
    run_source(source)
    assert isinstance(case, RuleCase) and "assert_rules_refine" in source


def test_a_rule_that_rests_on_a_theorem_is_named_by_its_number() -> None:
    def refines(case: RuleCase) -> bool:
        return any(type(rule).__name__ == "Refine" for chain in case.chains for rule in chain)

    case = find(rule_cases(("calls",)), refines, settings=FOUND)
    source = TARGET.as_test(case, "test_found")
    assert f'    assert_family_refines("calls", {case.index})' in source
    run_source(source)


def test_a_confirmation_that_shows_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.schedule import refusals, replay

    def confirmed(*_: Any) -> replay.Replay:
        return replay.Replay(True, "B[0] = 1 before, 2 after", {"A": np.ones(4, np.int32), "B": np.zeros(4, np.int32)})

    monkeypatch.setattr(replay, "replay", confirmed)
    monkeypatch.setattr(refusals, "report", refusals.report)
    program = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = B[0] * A[i]
"""
    found = failure(KernelCase(Draft(program, (Plan("move_before"), Plan("remove_loop")))))
    assert found is not None and found.kind == "confirmed-but-agrees"


def test_a_crash_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.schedule.tactics import loops

    def crash(*_: Any, **__: Any) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(loops, "split", crash)
    case = KernelCase(Draft(seed("scale"), (Plan("split"),)))
    with pytest.raises(KeyError, match="lost"):
        TARGET.check(case, Observed())
    assert "    with refusals_are_right(s):\n        s.split(" in TARGET.as_test(case, "test_crash")
    assert TARGET.as_test(case, "test_crash").startswith('"""KeyError: \'lost\'."""\n')


@pytest.mark.parametrize("values", [[1.5, -0.0, np.nan, np.inf], [0.1, 1e-45, -np.inf, 3e38]])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_arrays_are_written_with_their_bits(values: list[float], dtype: str) -> None:
    with np.errstate(over="ignore"):
        array = np.array(values, dtype)
    again = eval(literal(array), {"np": np})
    assert again.dtype == array.dtype
    assert np.array_equal(again, array, equal_nan=True) and np.array_equal(np.signbit(again), np.signbit(array))
