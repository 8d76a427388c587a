"""The examples, lowered by two pipelines: the emitter's text and the optimised one are equal to the lowered program."""

from __future__ import annotations

from pathlib import Path

import pytest

from verified_tir.cli.load import loaded
from verified_tir.codegen.build import build
from verified_tir.kernel.theorem import Refines
from verified_tir.lower.pipelines import PIPELINES
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.sizes import symbols
from verified_tir.validate.verdict import Equal

ROOT = Path(__file__).resolve().parents[3] / "examples"
FILES = ("padding_at_both_ends", "row_summation", "row_summation_symbolic", "stencil", "nhwc_to_nchwc")
TOO_LARGE = {"constant_shape"}
"""A million instructions: they take longer than all the rest."""


def proved(name: str) -> dict[str, Refines]:
    """The theorems of an example's schedules, those apart that are refused."""
    found = {}
    path = ROOT / f"{name}.py"
    with loaded(path, path.name) as functions:
        for f in functions:
            schedule = Schedule(f.program)
            try:
                f.function(schedule)
            except ScheduleError:
                assert f.expect == "refused"
                continue
            if f.name not in TOO_LARGE:
                found[f.name] = schedule.theorem
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    found = proved(name)
    assert found
    for theorem in found.values():
        for pipeline in ("default", "full"):
            f = build(theorem, pipeline=PIPELINES[pipeline], cache=False, threads=2)
            names = symbols(f.func)
            for size in (1, 5) if names else (0,):
                for text in (f.llvm_ir, f.optimised_ir):
                    report = validate_llvm(f.func, text, sizes=dict.fromkeys(names, size))
                    assert isinstance(report.verdict, Equal), report.verdict
                    assert not report.verdict.vacuous
