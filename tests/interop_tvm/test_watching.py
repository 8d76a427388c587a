"""Watching whole builds: unreadable stretches, a budget, equal texts, other processes, one screen of summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tvm

from tests.interop_tvm.programs import function
from verified_tir.interop.tvm import DifferenceFound, Limits, ValidatingInstrument, reading
from verified_tir.ir.script import ScriptError

PLAIN = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        C[i] = A[i] * T.float32({factor}) + T.float32(1)
"""
UNREADABLE = PLAIN.replace("float32(1)", "float32(70{odd})")


@pytest.fixture(autouse=True)
def _some_texts_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def parse(text: str, name: str) -> Any:
        if "T.float32(70" in text:
            raise ScriptError("T.seventy: no meaning here", name, 6, 1)
        return reading_parse(text, name)

    reading_parse = reading.parse
    monkeypatch.setattr(reading, "parse", parse)
    reading.read_text.cache_clear()
    yield
    reading.read_text.cache_clear()


def module(text: str, *names: str) -> Any:
    return tvm.IRModule({name: function(text).with_attr("global_symbol", name) for name in names or ("f",)})


def becomes(name: str, mod: Any) -> Any:
    return tvm.transform.module_pass(lambda _, __: mod, opt_level=0, name=name)


def watched(instrument: Any, first: Any, *steps: tuple[str, Any]) -> Any:
    with tvm.transform.PassContext(instruments=[instrument]):
        for name, mod in steps:
            first = becomes(name, mod)(first)
    return instrument


def texts(factor: int = 2, odd: int = 1) -> tuple[str, str]:
    return PLAIN.format(factor=factor), UNREADABLE.format(factor=2, odd=odd)


def test_an_unreadable_stretch_is_bridged() -> None:
    (plain, strange), (_, stranger) = texts(), texts(odd=3)
    doubled = PLAIN.replace("A[i] * T.float32({factor})", "(A[i] + A[i])")
    instrument = watched(
        ValidatingInstrument(on_different="raise"), module(plain),
        ("a", module(strange)), ("b", module(stranger)), ("c", module(doubled)),
    )  # fmt: skip
    assert [(r.step, r.status) for r in instrument.reports] == [
        ("a", "bridged"), ("b", "bridged"), ("c", "bridged"), ("a to c", "equal"),
    ]  # fmt: skip
    assert "a to c is compared as a whole (after: not read" in instrument.reports[0].text


def test_a_difference_over_an_unreadable_stretch_is_found() -> None:
    plain, strange = texts()
    with pytest.raises(DifferenceFound, match=r"a to b, in f: different: C\[\d\] was"):
        watched(
            ValidatingInstrument(on_different="raise"), module(plain),
            ("a", module(strange)), ("b", module(texts(factor=3)[0])),
        )  # fmt: skip


def test_a_stretch_is_bridged_only_if_nothing_happened_in_between_unseen() -> None:
    (plain, strange), (_, stranger) = texts(), texts(odd=3)
    instrument = watched(ValidatingInstrument(), module(plain), ("a", module(strange)))
    watched(instrument, module(stranger), ("b", module(plain)))
    assert [r.status for r in instrument.reports] == ["unknown", "unknown"]


@pytest.mark.nightly
def test_functions_that_differ_in_their_names_are_compared_once() -> None:
    names = [f"f{k}" for k in range(5)]
    instrument = watched(
        ValidatingInstrument(on_different="collect"), module(texts()[0], *names), ("a", module(texts(3)[0], *names))
    )
    assert [(r.function, r.status) for r in instrument.reports] == [(name, "different") for name in names]
    assert [r.seconds > 0 for r in instrument.reports] == [True, False, False, False, False]
    assert "def f4(" in instrument.reports[4].before


def test_the_budget_of_a_build() -> None:
    names = ["f", "g"]
    one, two = (tvm.IRModule({n: function(texts(k + j)[0]) for j, n in enumerate(names)}) for k in (2, 5))
    instrument = watched(ValidatingInstrument(on_different="collect", total_seconds=1e-6), one, ("a", two))
    assert [r.status for r in instrument.reports] == ["different", "unknown"]
    assert "the 1e-06 seconds for the build are spent" in instrument.reports[1].text
    with pytest.raises(ValueError, match="not negative"):
        ValidatingInstrument(total_seconds=-1)


@pytest.mark.nightly
def test_other_processes_compare_while_the_build_goes_on() -> None:
    instrument = ValidatingInstrument(on_different="collect", jobs=2, limits=Limits(seconds=20))
    same = PLAIN.replace("A[i] * T.float32({factor})", "(A[i] + A[i])")
    watched(
        instrument, module(texts()[0], "f", "g"), ("a", module(same, "f", "g")), ("b", module(texts(3)[0], "f", "g"))
    )
    assert [(r.step, r.function, r.status) for r in instrument.reports] == [
        ("a", "f", "equal"), ("a", "g", "equal"), ("b", "f", "different"), ("b", "g", "different"),
    ]  # fmt: skip
    witness = instrument.reports[3].witness
    assert witness is not None
    assert witness.element.startswith("C[")


@pytest.mark.nightly
def test_differences_that_other_processes_found_are_raised_in_the_end() -> None:
    instrument = ValidatingInstrument(on_different="raise", jobs=1)
    with pytest.raises(Exception, match="different"):
        watched(instrument, module(texts()[0]), ("a", module(texts(3)[0])))
    assert [r.status for r in instrument.reports] == ["different"]
    with pytest.raises(ValueError, match="not negative"):
        ValidatingInstrument(jobs=-1)


@pytest.mark.nightly
def test_the_summary_takes_one_screen() -> None:
    names = [f"f{k}" for k in range(30)]
    instrument = watched(
        ValidatingInstrument(on_different="collect"), module(texts()[0], *names),
        ("a", module(texts()[1], *names)), ("b", module(texts(odd=3)[1], *names)),
        ("c", tvm.IRModule({n: function(texts(k + 1)[0]) for k, n in enumerate(names)})),
    )  # fmt: skip
    lines = instrument.summary().splitlines()
    assert lines[0].startswith("29 changes of 29 functions judged: 29 different")
    assert len(lines) < 40
    assert "and 21 others that are wrong" in instrument.summary()
    assert instrument.table(width=200).count("\n") > 60
