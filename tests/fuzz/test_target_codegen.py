"""The target codegen: machine code and passes against the interpreter, and faults that it must find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.changed_lines import FAULTS
from tests.fuzz.changed_source import found
from tests.fuzz.targets.codegen import TARGET, CodegenCase, Compiled, Lowered
from tests.parts import compiled as machine
from tests.parts.compiled import VARIANTS, assert_compiles_alike, target_variant
from tests.parts.literals import argument_text
from tests.parts.lowered import assert_lowers_alike
from verified_tir import parse_func
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.testing import array_of
from verified_tir.testing.arrays import strided_copy

SETTINGS = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), max_examples=10
)
SCALE = """
@T.prim_func
def f(A: T.Buffer(({n},), "{dtype}", strides=({stride},)), k: T.int32):
    for i in {kind}({n}):
        A[i] = A[i] * A[i] + T.Cast("{dtype}", k)
"""


def scale(dtype: str = "float32", n: int = 6, stride: int = 1, kind: str = "range") -> Any:
    return parse_func(SCALE.format(dtype=dtype, n=n, stride=stride, kind=kind))


def given_array(dtype: str = "float32", n: int = 6, stride: int = 1) -> Any:
    made = array_of(dtype, list(range(n)))
    return strided_copy(made, (stride * made.itemsize,))


@pytest.mark.nightly
@SETTINGS
@given(TARGET.cases())
def test_machine_code_is_right(case: CodegenCase) -> None:
    observed = Observed()
    TARGET.check(case, observed)
    assert observed.totals["programs"] == 1
    assert {key for key in observed.covered if key[0] in ("pass", "pipeline")} <= set(TARGET.universe())


@pytest.mark.nightly
def test_a_planted_fault_is_found() -> None:
    """``python -m tests.fuzz.changed_source codegen`` tries all of them."""
    fault = next(f for f in FAULTS if f.name == "a stride is forgotten")
    assert found(fault)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint64"])
def test_every_processor(variant: str, dtype: str) -> None:
    target = target_variant(variant)
    compared = assert_compiles_alike(
        scale(dtype, stride=2), [{"A": given_array(dtype, stride=2), "k": 3}], target=target
    )
    assert compared == (1 if dtype != "float16" or target.converts_half else 0)  # else it is refused


def test_there_is_no_other_variant() -> None:
    with pytest.raises(ValueError, match="no variant is called moon"):
        target_variant("moon")


def test_parallel_loops() -> None:
    func = scale(n=50, kind="T.parallel")
    assert assert_compiles_alike(func, [{"A": given_array(n=50), "k": 1}], target=target_variant("three threads")) == 1


def test_what_has_no_meaning_is_passed_over() -> None:
    func = parse_func('@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), k: T.int32):\n    A[k] = A[0] // k\n')
    sets = [{"A": np.ones(4, np.int32), "k": k} for k in (-1, 0, 1, 4)]
    assert assert_compiles_alike(func, sets) == 1


def test_assertions_fail_alike() -> None:
    func = parse_func(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), k: T.int32):\n    assert k < 2, "less"\n    A[k] = 1\n'
    )
    assert assert_compiles_alike(func, [{"A": np.ones(4, np.int32), "k": k} for k in (0, 1, 2, 3)]) == 4


def changed(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """The generated text, with something replaced."""
    from dataclasses import replace

    emit = machine.emit

    def emitted(func: Any, target: Any) -> Any:
        made = emit(func, target)
        assert old in made.text
        return replace(made, text=made.text.replace(old, new))

    monkeypatch.setattr(machine, "emit", emitted)


def test_another_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "fmul float", "fsub float")
    with pytest.raises(Disagreement, match="by the interpreter") as caught:
        assert_compiles_alike(scale(), [{"A": given_array(), "k": 1}])
    assert caught.value.kind == "jit-differs"


def test_a_store_beside_the_array_is_seen() -> None:
    """Bytes between the elements are nobody's."""
    func, wrong = scale(stride=2), scale(stride=2)
    made = machine.Machine(wrong, target_variant("host"))
    expected = machine._meaning(func, given := {"A": given_array(stride=2), "k": 1}, True)
    assert expected is not None and made.problem(given, expected) is None
    guarded = machine._Guarded(given["A"])
    assert not guarded.touched()
    guarded.array[1] = 7
    assert not guarded.touched()
    guarded._memory[guarded._start + 4] ^= 1
    assert guarded.touched()


def test_text_that_llvm_refuses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "fmul float", "nonsense float")
    with pytest.raises(Disagreement, match="LLVM refuses"):
        assert_compiles_alike(scale(), [{"A": given_array(), "k": 1}])


BRANCH = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        if i < 14:
            B[i] = A[i] + 1.0
"""


def test_passes() -> None:
    seen: list[tuple[str, str]] = []
    arguments = [{"A": np.arange(16, dtype=np.float32), "B": np.zeros(16, np.float32)}]
    passes = "ReduceLoopExtents() >> UnrollLoop(max_extent=3) >> Simplify()"
    marks = [("split by 4", 0), ("vectorize", 1), ("vthread", 7)]
    assert assert_lowers_alike(BRANCH, arguments, passes, marks=marks, seen=lambda *what: seen.append(what))
    assert ("changed", "ReduceLoopExtents") in seen or ("kept", "ReduceLoopExtents") in seen
    assert assert_lowers_alike(BRANCH, arguments, "full")


def test_a_program_that_is_not_proved_is_passed_over() -> None:
    func = parse_func('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[4] = 1\n')
    assert not assert_lowers_alike(func, [{"A": np.zeros(4, np.int32)}], "default")


def test_arguments_as_source() -> None:
    arrays = [
        given_array("bfloat16", stride=3),
        array_of("float16", [float("nan"), -0.0, float("inf")]),
        array_of("int64", [[-(2**63), 2**63 - 1]]),
        array_of("bool", [True, False]),
        np.zeros((0, 3), np.float32),
    ]
    for array in arrays:
        again = eval(argument_text(array), {"array_of": array_of, "inf": float("inf"), "nan": float("nan")})
        assert again.dtype == array.dtype and again.shape == array.shape
        assert again.tobytes() == array.tobytes()
        assert not array.size or again.strides == array.strides


def test_tests_that_are_written_run() -> None:
    given_ = {"A": given_array(stride=2), "k": -7}
    for case in (
        Compiled(scale(stride=2), (given_, given_), "baseline"),
        Lowered(scale(stride=2), (given_,), "default", (("parallel", 0),)),
    ):
        names: dict[str, Any] = {}
        exec(TARGET.as_test(case, "test_case"), names)
        names["test_case"]()
