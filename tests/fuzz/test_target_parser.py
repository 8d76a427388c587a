"""The target parser: what it draws, that it finds faults, and that its tests fail as it does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.changed_lines import FAULTS
from tests.fuzz.changed_source import found
from tests.fuzz.targets.parser import TARGET, MapCase, ParserCase, TextCase
from tests.fuzz.targets.texts import SEEDS
from tests.nightly import few
from tests.parts.roundtrip import assert_read_or_refused, assert_round_trip
from tests.parts.syntax import syntactic_functions
from tests.parts.trees import from_tree, tree, tree_text
from verified_tir import ScriptError, parse_func
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse

SETTINGS = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), max_examples=few(20, 60)
)


@SETTINGS
@given(TARGET.cases())
def test_the_parser_is_right(case: ParserCase) -> None:
    if isinstance(case, TextCase):
        case = TextCase(case.text, as_file=False)
    observed = Observed()
    TARGET.check(case, observed)
    assert sum(observed.totals[name] for name in ("programs", "texts", "index maps")) == 1
    assert set(observed.covered) <= set(TARGET.universe())


@settings(SETTINGS, max_examples=few(10, 30))
@given(syntactic_functions())
def test_trees_are_programs(func: PrimFunc) -> None:
    again = from_tree(tree(func))
    assert structural_equal(again, func)
    assert tree(again) == tree(func)


def test_a_tree_that_is_none() -> None:
    with pytest.raises(ValueError, match="Nonsense is not a class of the IR"):
        from_tree(["Nonsense", 1])


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_the_texts_to_begin_with_are_right(seed: int) -> None:
    assert not isinstance(assert_read_or_refused(SEEDS[seed]), ScriptError)
    assert_round_trip(parse(SEEDS[seed]))


def test_a_refusal_has_a_place() -> None:
    refusal = assert_read_or_refused("@T.prim_func\ndef f():\n    x = y\n")
    assert isinstance(refusal, ScriptError) and (refusal.line, refusal.column) == (3, 9)


@pytest.mark.nightly
def test_a_planted_fault_is_found() -> None:
    """``python -m tests.fuzz.changed_source parser`` tries all of them."""
    fault = next(f for f in FAULTS if f.name == "the type of a constant is dropped")
    assert found(fault)


def ran(source: str) -> None:
    """Run the one test of a source."""
    names: dict[str, object] = {}
    exec(source, names)
    test = names["test_case"]
    assert callable(test)
    test()


def test_tests_that_are_written_run() -> None:
    module = parse(SEEDS[1])
    assert len(tree_text(module).splitlines()) > 20
    ran(TARGET.as_test(module, "test_case"))
    ran(TARGET.as_test(TextCase(SEEDS[0], as_file=False), "test_case"))
    ran(TARGET.as_test(MapCase("lambda i, j: [min(j, i), AXIS_SEPARATOR, i]", "int64"), "test_case"))
    assert "subprocess.run" in TARGET.as_test(TextCase("x", as_file=True), "test_case")


def test_tests_that_are_written_fail_as_the_check_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.ir.script import write_expr

    func = parse_func("@T.prim_func\ndef f(n: T.int32):\n    T.evaluate((n + 1) * 2)\n")
    source = TARGET.as_test(func, "test_case")
    kept = write_expr.ExprWriter.expr
    monkeypatch.setattr(write_expr.ExprWriter, "expr", lambda self, e, level=0: kept(self, e, 0))
    monkeypatch.setattr(write_expr, "_SIGNS", {k: (s, 13) for k, (s, _) in write_expr._SIGNS.items()})
    with pytest.raises(Disagreement) as caught:
        TARGET.check(func, Observed())
    assert caught.value.kind == "reads-back-as-another"
    with pytest.raises(AssertionError, match="reads-back-as-another"):
        ran(source)


@pytest.mark.nightly
def test_the_command_reads_files() -> None:
    observed = Observed()
    TARGET.check(TextCase("@T.prim_func\ndef f():\n    x = y\n", as_file=True), observed)
    assert observed.covered["text", "command"] == 1
