"""The tools beside the expansions: the fit gives the polynomials that are in use, and the C text means the same."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import mpmath
import numpy as np
import pytest

from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import FLOAT32, FLOAT64, DType
from verified_tir.semantics.intrinsics import EXPANDED, array_operation, coefficients, template
from verified_tir.semantics.intrinsics.constants import LN2, LN10, PI, bits_of_two_over_pi
from verified_tir.semantics.intrinsics.expansion import steps

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "intrinsics"


def tool(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"intrinsics_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses ask for it
    spec.loader.exec_module(module)
    return module


def test_the_fit_gives_the_polynomials_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    module = tool("fit", monkeypatch)
    requests = {request.name: request for request in module.fits()}
    assert set(requests) == {name for name in vars(coefficients) if name.endswith(("_32", "_64"))}
    for name in ("EXP_32", "TANH_32"):
        found, largest = module.fit(requests[name])
        assert tuple(found) == getattr(coefficients, name)
        assert 2**-29 < largest < 2**-27


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_every_expansion_can_be_written_as_c(dtype: DType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = tool("measure", monkeypatch)
    for op in sorted(EXPANDED):
        text = module.c_source(op, dtype)
        assert text.count("\n    ") > len(steps(template(op, dtype)[1])) - PURE_CALLS[op].arity
    compiler = shutil.which("cc")
    if compiler is not None and sys.platform == "linux":
        library = module.compiled("tanh", dtype, tmp_path)
        x = module.samples(dtype, 4000, 1)
        out = np.empty_like(x)
        library.apply(module.pointer(x), module.pointer(x), module.pointer(out), ctypes.c_uint64(len(x)))
        np.testing.assert_array_equal(out, array_operation("tanh", dtype)(x))


def test_constants_are_those_of_mathematics() -> None:
    with mpmath.workprec(1500):
        for fraction, exact in ((PI, mpmath.pi), (LN2, mpmath.log(2)), (LN10, mpmath.log(10))):
            assert abs(mpmath.mpf(fraction.numerator) / fraction.denominator - exact) < mpmath.mpf(2) ** -1380
        for count in (8, 64, 1248):
            assert bits_of_two_over_pi(count) == int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** count))
