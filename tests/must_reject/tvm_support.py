"""What the cases from TVM share: a step that TVM makes and the validator calls different, or equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tvm

from tests.interop_tvm.programs import function
from verified_tir.interop.tvm import Limits, StepReport, ValidatedSchedule, ValidatingInstrument
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import UndefinedBehaviour, refines, run

LIMITS = Limits(seconds=20)


def scheduled(text: str, steps: Callable[[ValidatedSchedule], object]) -> StepReport:
    """What is said of the last of a schedule's steps."""
    sch = ValidatedSchedule(function(text), on_different="collect", limits=LIMITS)
    steps(sch)
    assert {r.status for r in sch.reports[:-1]} <= {"equal"}
    return sch.reports[-1]


def passed(text: str, transform: Any, **attributes: Any) -> StepReport:
    """What is said of the one pass that changed what the program computes, or of the last one that changed anything."""
    instrument = ValidatingInstrument(on_different="collect", limits=LIMITS)
    func = function(text).with_attr("global_symbol", "f")
    for name, value in attributes.items():
        func = func.with_attr(name, value)
    with tvm.transform.PassContext(instruments=[instrument]):
        transform(tvm.IRModule({"f": func}))
    found = [r for r in instrument.reports if r.status not in ("unchanged", "composed")]
    assert found, "nothing changed"
    assert len(instrument.different) <= 1
    return instrument.different[0] if instrument.different else found[-1]


def replayed(report: StepReport) -> tuple[Any, Any]:
    """The value of the element that differs, before and after; the interpreter shows it once more."""
    assert report.status == "different", report.text
    witness = report.witness
    assert witness is not None
    before, after = (parse_func(text) for text in (report.before, report.after))
    first = run(before, witness.arguments)
    try:
        assert refines(first, run(after, witness.arguments_after))
    except UndefinedBehaviour:
        assert not witness.element
    return witness.before, witness.after


def compiled(text: str, arguments: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays after TVM's machine code for a program ran on them."""
    library = tvm.compile(tvm.IRModule({"f": function(body(text)).with_attr("global_symbol", "f")}), target="llvm")
    tensors = {name: tvm.runtime.tensor(np.array(value)) for name, value in arguments.items()}
    library["f"](*tensors.values())
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def on_the_machine(report: StepReport) -> tuple[Any, Any]:
    """The element that differs as TVM's machine code computes it, from the program before and the one after."""
    witness = report.witness
    assert witness is not None
    name, _, index = witness.element.partition("[")
    element = tuple(int(i) for i in index.rstrip("]").split(","))
    before = compiled(report.before, witness.arguments)[name][element]
    after = compiled(report.after, witness.arguments_after)[name]
    moved = report.maps.get(name)
    place = element
    if moved is not None and moved.index_map is not None:
        place = tuple(int(k[0]) for k in moved.index_map(*[np.array([i]) for i in element]))
    return before, after[place]


def body(text: str) -> str:
    """A printed function without its imports."""
    return text[text.index("@T.prim_func") :]


def same(a: Any, b: Any) -> bool:
    """Equal bits; all NaN are equal."""
    x, y = np.asarray(a), np.asarray(b)
    return bool((np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y))))
