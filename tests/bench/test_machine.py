"""What the machine can do at most."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.bench import machine
from verified_tir.bench.machine import CHAINS, STEPS, fma_peak, memcpy, warnings
from verified_tir.codegen.target import Target


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 32), ("float64", 64)])
def test_the_peak_is_a_loop_on_registers(dtype: str, bits: int) -> None:
    if Target.host(1).is_x86 and not Target.host(1).has("fma"):
        pytest.skip("this processor has no fused multiply-add")
    found = fma_peak(dtype, 1)
    assert found is not None
    run, operations = found
    run()
    assert operations == 2 * CHAINS * STEPS * Target.host(1).vector_bits // bits
    assert fma_peak(dtype, 1) is found, "it is built once"


def test_there_is_no_peak_of_integers_or_without_the_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fma_peak("int8", 1) is None
    monkeypatch.setattr(machine.Target, "host", lambda threads: Target("x86_64-linux", "core2", "-fma", True, threads))
    assert fma_peak.__wrapped__("float32", 1) is None


def test_memory_is_copied() -> None:
    copy = memcpy(64)
    copy()
    cells = [c.cell_contents for c in copy.__closure__ or ()]
    source, target = (a for a in cells if isinstance(a, np.ndarray))
    assert {source.nbytes, target.nbytes} == {32} and (source == target).all() and source.all()


def test_variables_that_choose_slow_kernels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert not any("OPENBLAS" in w for w in warnings())
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert any("OPENBLAS_CORETYPE=Haswell is set" in w for w in warnings())
