"""The target ``validator``: what it counts, that planted faults show on cases of each kind, findings as tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import planted
from tests.fuzz.targets import tampering
from tests.fuzz.targets.tampering import BY_CHECK, TAMPERINGS, Unnoticed, assert_noticed, forged_value, store
from tests.fuzz.targets.validator import Case, Validator
from tests.fuzz.targets.validator_certificates import Tampered
from tests.fuzz.targets.validator_llvm import Compiled
from tests.fuzz.targets.validator_pairs import Pair
from tests.fuzz.targets.validator_schedules import Scheduled
from tests.parts.near_misses import changes, near_misses
from tests.parts.reference_runs import contents, random_arguments, sizes_of, symbols
from tests.parts.verdicts import WrongVerdict, assert_verdict_holds
from verified_tir import Schedule, parse_func
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.ir.wellformed import problem
from verified_tir.testing import prim_funcs
from verified_tir.testing.scheduling import Draft, Plan
from verified_tir.validate import Different, Equal

Patch = pytest.MonkeyPatch
QUICK = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
FLOATS = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
INTS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'


def pair(before: str, after: str, params: str = FLOATS, **sizes: int) -> Pair:
    def program(body: str) -> str:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        return f"@T.prim_func\ndef f({params}):\n{lines}"

    return Pair(parse_func(program(before)), parse_func(program(after)), tuple(sizes.items()))


def loop(statement: str, extent: str = "4") -> str:
    return f"for i in range({extent}):\n    {statement}"


TABLE = {
    "one_zero": pair(loop("B[i] = A[i] + T.float32(0)"), loop("B[i] = A[i] + T.float32(-0.0)")),
    "never_undef": pair(loop("B[i] = 0"), loop('B[i] = T.undef("int32") - T.undef("int32")'), INTS),
    "backwards": pair(loop("B[i] = A[i]"), loop("B[i] = T.undef('float32')")),
    "no_undefined_behaviour": pair(loop("B[i] = A[i]"), loop("B[i] = A[i]", "4") + "\nA[4] = A[3]"),
    "reals_are_bits": pair("B[0] = (A[0] + A[1]) + A[2]", "B[0] = A[0] + (A[1] + A[2])"),
    "assumptions_ignored": pair("T.assume(A[0] == 7)\nB[0] = A[0]", "B[0] = 7", INTS),
    "undecided_is_equal": pair("B[0] = A[0] * A[1] * A[2]", "B[0] = A[0] * A[1] * A[3]", INTS),
    "first_parameter_only": pair(loop("B[i] = A[i]"), loop("B[i] = A[3 - i]")),
    "truncating_division": pair(loop("B[i] = A[(i - 3) // 2 + 2]"), loop("B[i] = A[T.truncdiv(i - 3, 2) + 2]"), INTS),
    "guards_ignored": pair(loop("if i < 2:\n        B[i] = A[i]"), loop("if i < 3:\n        B[i] = A[i]")),
    "at_least_once": pair("B[0] = A[0]\n" + loop("B[0] = A[1]", "0"), "B[0] = A[1]"),
    "everything_is_vacuous": pair(loop("B[i] = A[i]"), loop("B[i] = A[i] * T.float32(1)")),
    "witness_of_another_element": pair(loop("B[i] = A[i]"), loop("B[i] = A[3 - i]")),
    "no_licences": pair(
        "for i in T.parallel(4):\n    B[0] = B[0] + A[i]", "for i in T.parallel(4):\n    B[0] = A[i] + B[0]"
    ),
}


def test_each_planted_fault_is_in_a_table() -> None:
    assert set(TABLE) <= set(planted.VALIDATOR)


@pytest.mark.parametrize("name", TABLE)
def test_a_planted_fault_of_the_validator_shows(name: str, monkeypatch: Patch) -> None:
    case, seen = TABLE[name], Observed()
    Validator().check(case, seen)
    assert seen.totals["programs"] == 1
    planted.VALIDATOR[name](monkeypatch)
    with pytest.raises((Disagreement, KeyError, IndexError)):
        Validator().check(case, Observed())


SUM = """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.float32(0)
        for j in range(6):
            B[i] = B[i] + A[i, j]
"""
SPLIT = Draft(SUM, (Plan("split", bytes(12)), Plan("unroll", bytes(12))))
HONEST = Tampered(SPLIT, ())


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of a schedule."""
    return store(tmp_path_factory.mktemp("certificates") / "honest", SPLIT.schedule())


def copied(honest: Path, where: Path, k: int) -> Path:
    shutil.copytree(honest, where / str(k))
    return where / str(k)


@pytest.mark.sample(6)
@pytest.mark.parametrize("kind", TAMPERINGS)
def test_tampering_is_noticed(kind: str, honest: Path, tmp_path: Path) -> None:
    done = [assert_noticed(copied(honest, tmp_path, k), kind, (k, 3 * k + 1), 1000) for k in range(3)]
    assert any(done)


def test_a_last_step_that_changed_nothing_may_go(honest: Path, tmp_path: Path) -> None:
    """Without it the certificate is one of another schedule, which leads to the same program."""
    drafted = Draft(SUM, (Plan("split", bytes(12)), Plan("simplify"), Plan("simplify")))
    idle = store(tmp_path / "idle", drafted.schedule())

    def left_alone(folder: Path, name: str) -> list[int]:
        return [k for k in range(40) if not forged_value(copied(folder, tmp_path / name, k), (k, 1))]

    assert left_alone(honest, "of honest") == []
    assert len(left_alone(idle, "of idle")) == 1


@pytest.mark.parametrize(("tile", "same"), [(8, True), (3, False)])
def test_another_call_may_give_the_same_certificate(tile: int, same: bool, tmp_path: Path) -> None:
    """A layout without padding has no use for its value; of one with padding the value is stored."""
    s = Schedule(SUM, cache=False)
    s.cache_write("B", "local")
    s.transform_layout("B_local", lambda i: [i // tile, i % tile], pad_value=7)
    folder = store(tmp_path / "honest", s)
    content = tampering._content(folder)
    step = next(step for step in content["trace"] if step["primitive"] == "transform_layout")
    assert step["arguments"][2] == 7
    step["arguments"][2] = 9
    tampering._put(folder, tampering.sealed(tampering._with_inner_hashes(content)))
    assert tampering._gives_the_same(folder) is same


CERTIFICATES = {
    "no_obligation_hash": ("a value", range(60)), "no_part_hash": ("some hashes anew", range(60)),
    "no_root": ("not in the manifest", range(4)), "no_chain": ("the chain", range(6)),
    "questions_unread": ("questions exchanged", range(4)), "last_obligation_skipped": ("a false question", range(40)),
    "unknown_is_proved": ("a hard question", range(2)), "any_verdict": ("a verdict", range(2)),
    "questions_are_not_compared": ("a value forged", range(60)),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_planted_fault_of_the_check_of_certificates_shows(
    name: str, honest: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    kind, numbers = CERTIFICATES[name]
    planted.CERTIFICATES[name](monkeypatch)
    with pytest.raises(Unnoticed, match="tampering-unnoticed"):
        for k in numbers:
            assert_noticed(copied(honest, tmp_path, k), kind, (k, k), 1000)


def test_an_honest_certificate_passes() -> None:
    seen = Observed()
    HONEST.check(seen)
    assert seen.totals["certificates"] == 1 and seen.totals["passed"] == 1


def test_a_schedule_counts_what_was_accepted() -> None:
    seen = Observed()
    Scheduled(SPLIT, (0,), (0, 0)).check(seen)
    assert seen.totals["accepted"] == 2 and seen.totals["agrees"] == 1


def test_a_false_difference_is_a_contradiction(monkeypatch: Patch) -> None:
    """The kernel proved the step: a validator that calls it different is wrong, or the kernel is."""
    from verified_tir.schedule import second_opinion

    arguments: dict[str, object] = {}
    kept = second_opinion.validate

    def lies(*a: object, **k: object) -> object:
        from dataclasses import replace

        return replace(kept(*a, **k), verdict=Different(arguments, arguments, "B[0]", 1.0, 2.0))  # type: ignore[arg-type]

    monkeypatch.setattr(second_opinion, "validate", lies)
    with pytest.raises(Disagreement) as found:
        Scheduled(SPLIT, (0,), (0, 0)).check(Observed())
    assert found.value.kind == "validator-against-kernel"


@pytest.mark.nightly
def test_texts_of_the_emitter_and_of_the_optimiser() -> None:
    for optimised in (False, True):
        seen = Observed()
        Compiled(parse_func(SUM), (0,), (3, 1), optimised).check(seen)
        assert seen.totals["changed texts"] == 1
        assert seen.covered["LLVM verdict", "Equal"] >= 1


CASES: dict[str, Case] = {
    "pair": TABLE["one_zero"], "schedule": Scheduled(SPLIT, (0,), (0, 0)),
    "llvm": Compiled(parse_func(SUM), (0,), (3, 1), False), "certificate": Tampered(SPLIT, (("a value", 1, 2),)),
}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_a_finding_is_a_test(name: str, tmp_path: Path) -> None:
    text = Validator().as_test(CASES[name], "test_found")
    scope: dict[str, Callable[..., None]] = {}
    exec(compile(text, "found.py", "exec"), scope)
    scope["test_found"](*([tmp_path] if "tmp_path" in text else []))


def test_the_universe_has_what_is_covered() -> None:
    seen = Observed()
    for case in (TABLE["one_zero"], Tampered(SPLIT, (("a byte", 1, 2),))):
        Validator().check(case, seen)
    assert {c for c in seen.covered if c[0] in ("verdict", "tampering")} <= set(Validator().universe())
    assert set(BY_CHECK) < set(TAMPERINGS)


# -- what the target is made of ----------------------------------------------------------------------------------------


@settings(QUICK, max_examples=15)
@given(st.data())
def test_near_misses_are_programs(data: st.DataObject) -> None:
    func = data.draw(prim_funcs())
    other = data.draw(near_misses(func))
    assert problem(other) is None
    assert other.params == func.params


def test_changes_have_the_classic_mistakes() -> None:
    names = {c.name for c in changes(parse_func(SUM))}
    assert {
        "an extent off by one", "an index off by one", "statements exchanged", "a loop reversed", "a store dropped",
        "an update made a store", "another kind of loop", "a law of the reals", "a narrower type",
    } <= names  # fmt: skip


def test_arguments_hold_what_is_awkward() -> None:
    func = parse_func("@T.prim_func\ndef f(A: T.Buffer((64,), 'float32'), n: T.int32):\n    A[0] = T.float32(2.5)\n")
    assert set(symbols(func)) == {"n"} and sizes_of(func, (7,)) == {"n": -1}
    special = random_arguments(func, {"n": 1}, 0, 1)["A"]
    assert (special != special).any() and (abs(special) == float("inf")).any()
    assert contents(func.buffers[0].dtype, (), "zeros", None, ()).shape == ()  # type: ignore[arg-type]


def test_a_verdict_is_returned_where_it_holds() -> None:
    case = TABLE["one_zero"]
    assert isinstance(assert_verdict_holds(case.before, case.after).verdict, Different)
    assert isinstance(assert_verdict_holds(case.before, case.before).verdict, Equal)
    with pytest.raises(WrongVerdict):
        raise WrongVerdict("equal-but-differs", "said")
