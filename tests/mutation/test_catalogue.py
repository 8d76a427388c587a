"""Every fault of the catalogue is one change of the source as it is: it applies, compiles, and changes something."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from verified_tir.mutation.catalogue import CATALOGUE
from verified_tir.mutation.fault import Fault
from verified_tir.mutation.mutant import mutant_of_fault
from verified_tir.mutation.sources import Source

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("kernel", "semantics", "logic", "validate", "certificate", "codegen", "lower")


def applied(fault: Fault) -> tuple[str, str]:
    """The source of the file before and after.

    :raises StaleFault: if the fault does not fit.
    """
    source = Source.read(ROOT, fault.file)
    return source.data.decode(), mutant_of_fault(source, fault).apply(source.data).decode()


@pytest.mark.parametrize("fault", CATALOGUE, ids=[f.name for f in CATALOGUE])
def test_a_fault_fits_the_source(fault: Fault) -> None:
    before, after = applied(fault)
    assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after)), "it is the same program"
    compile(after, fault.file, "exec")


def test_names_tell_faults_apart() -> None:
    assert [n for n, k in Counter(f.name for f in CATALOGUE).items() if k > 1] == []
    changes = Counter((f.file, f.function, f.before, f.after) for f in CATALOGUE)
    assert [c for c, k in changes.items() if k > 1] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_faults(room: str) -> None:
    found = [f for f in CATALOGUE if f.file.startswith(f"verified_tir/{room}/")]
    assert len(found) >= 15
    assert room != "kernel" or len(found) >= 100


def test_every_pass_has_a_fault() -> None:
    from verified_tir.lower.pipelines import PASSES

    modules = {p.__module__.replace(".", "/") + ".py" for p in PASSES.values()}
    assert modules <= {f.file for f in CATALOGUE}


@pytest.mark.parametrize("fault", CATALOGUE, ids=[f.name for f in CATALOGUE])
def test_a_note_says_what_goes_wrong(fault: Fault) -> None:
    assert len(fault.note) >= 10 and fault.note.endswith("."), fault.note
