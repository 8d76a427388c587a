"""The target simplify: what it holds against what, that it finds faults, and that its tests run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.changed_lines import FAULTS
from tests.fuzz.changed_source import found
from tests.fuzz.targets.simplify import (
    TARGET,
    IndexCase,
    MapCase,
    ProgramCase,
    Question,
    SimplifyCase,
)
from tests.parts.formulas import Sentence, assert_decided_rightly
from tests.parts.index_values import assert_index_map_right, assert_simplifies_alike
from tests.parts.simplified import assert_touches
from verified_tir import IndexMap, parse_func
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.logic import formula
from verified_tir.logic.model import Model
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict
from verified_tir.testing import array_of

SETTINGS = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), max_examples=25
)


@SETTINGS
@given(TARGET.cases())
def test_everything_is_right(case: SimplifyCase) -> None:
    if isinstance(case, Question):
        case = Question(case.given, case.goal, second=False)
    observed = Observed()
    TARGET.check(case, observed)
    assert sum(observed.totals[n] for n in ("expressions", "index maps", "questions", "programs")) == 1


@pytest.mark.nightly
def test_a_planted_fault_is_found() -> None:
    """``python -m tests.fuzz.changed_source simplify`` tries all of them."""
    fault = next(f for f in FAULTS if f.name == "not below is below")
    assert found(fault)


# ------------------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("given_", "goal", "answer"),
    [
        ((("<", "i", "j"),), ("<=", ("+", "i", 1), "j"), "proved"),
        ((("<", "i", "j"),), ("<", ("+", "i", 1), "j"), "refuted"),
        ((), ("=", ("+", ("*", ("floordiv", "i", -2), -2), ("floormod", "i", -2)), "i"), "proved"),
        ((), ("=", ("truncdiv", "i", 2), ("floordiv", "i", 2)), "refuted"),
        ((), ("=", ("fp.add", "a", ("f16", 0)), "a"), "refuted"),
        ((("=", "a", "b"),), ("=", ("fp.mul", "a", "c"), ("fp.mul", "b", "c")), "proved"),
        ((("fp.eq", "a", "b"),), ("=", "a", "b"), "refuted"),
        ((), ("=", ("bvand", "i", "j"), ("bvand", "j", "i")), "proved"),
        ((), ("=", ("wrap8", "i"), "i"), "proved"),
    ],
)
def test_questions(given_: tuple[Sentence, ...], goal: Sentence, answer: str) -> None:
    assert assert_decided_rightly(given_, goal) == answer


class _Wrong:
    """Answers as it is told."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def prove(self, *_: Any, **__: Any) -> Verdict:
        return self.verdict


@pytest.mark.parametrize(
    ("verdict", "goal", "kind"),
    [
        (Proved(), ("<", "i", "j"), "proved-but-false"),
        (Refuted(Model({"i": 0, "j": 1}, {"i": "Int", "j": "Int"})), ("<", "i", "j"), "refuted-without-reason"),
        (Refuted(Model({"a": 0x3C00}, {"a": "F16"})), ("=", "a", "a"), "refuted-without-reason"),
    ],
)
def test_wrong_answers_are_seen(verdict: Verdict, goal: Sentence, kind: str) -> None:
    wrong: Any = _Wrong(verdict)
    with pytest.raises(Disagreement) as caught:
        assert_decided_rightly((), goal, solver=wrong, second=False)
    assert caught.value.kind == kind
    unknown: Any = _Wrong(Unknown("no idea"))
    assert assert_decided_rightly((), goal, solver=unknown, second=False) == "unknown"


def test_wrong_folding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.parts import formulas

    monkeypatch.setitem(formulas._BUILDERS, "floordiv", formula.truncdiv)  # type: ignore[index]
    with pytest.raises(Disagreement, match="formula-differs"):
        assert_decided_rightly((), ("=", ("floordiv", "i", 2), "j"), solver=Solver(), second=False)


# ---------------------------------------------------------------------------------------------- indices and maps

NEST = """
@T.prim_func
def f(n: T.int32):
    for i in range(n):
        for j in range(4):
            T.evaluate({expression})
"""


@pytest.mark.parametrize(
    "expression", ["(4 * i + j) // 4", "T.Select(i < n, j, 7)", "i // (j - 1) * 0", "n * n - n * n"]
)
def test_simplified_expressions(expression: str) -> None:
    assert assert_simplifies_alike(parse_func(NEST.format(expression=expression))) > 20


def test_a_wrong_simplification_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.parts import index_values

    func = parse_func(NEST.format(expression="(4 * i + j) // 4"))
    other = parse_func(NEST.format(expression="i + j // 3"))
    value = other.body.body.body.value  # type: ignore[attr-defined]
    renamed = {**dict(zip(_variables(other), _variables(func), strict=True))}
    from verified_tir.ir.visit import substitute

    monkeypatch.setattr(index_values, "simplify", lambda expr, ranges: substitute(value, renamed))
    with pytest.raises(Disagreement, match="simplifier-differs"):
        assert_simplifies_alike(func)


def _variables(func: Any) -> list[Any]:
    return [*func.params, func.body.var, func.body.body.var]


@pytest.mark.parametrize(
    ("index_map", "shape", "end"),
    [
        (IndexMap.from_func(lambda i, j: [j, i // 4, i % 4], 2), (10, 3), "injective"),
        (IndexMap.from_func(lambda i: [i // 2], 1), (5,), "not injective"),
        (IndexMap.from_func(lambda i: [i - 2], 1), (5,), "negative"),
    ],
)
def test_index_maps(index_map: IndexMap, shape: tuple[int, ...], end: str) -> None:
    assert assert_index_map_right(index_map, shape) == end


# --------------------------------------------------------------------------------------------------------- programs

COPY = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        B[2 * i] = A[i + 1]
"""


def test_a_missing_element_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.parts import simplified

    arguments = [{"A": array_of("float32", [1.0] * 8), "B": array_of("float32", [0.0] * 8)}]
    assert assert_touches(parse_func(COPY), arguments)
    kept = simplified.domain_touched
    monkeypatch.setattr(simplified, "domain_touched", lambda s, b, **_: kept(s, b, reads=False))
    with pytest.raises(Disagreement, match="touched-too-little"):
        assert_touches(parse_func(COPY), arguments)


def test_tests_that_are_written_run() -> None:
    arguments = {"A": array_of("float32", [1.5] * 8), "B": array_of("float32", [float("nan")] * 8)}
    cases: list[SimplifyCase] = [
        IndexCase(parse_func(NEST.format(expression="i * 2 + j"))),
        MapCase(IndexMap.from_func(lambda i, j: [j, i], 2), (2, 3)),
        Question((("<", "i", "j"),), ("or", "p", ("<", "i", "j")), second=True),
        ProgramCase(parse_func(COPY), (arguments,), touched=True),
        ProgramCase(parse_func(COPY), (arguments,), touched=False),
    ]
    for case in cases:
        names: dict[str, Any] = {}
        exec(TARGET.as_test(case, "test_case"), names)
        names["test_case"]()


def test_a_mismatch_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Solver, *_: Any, **__: Any) -> Verdict:
        return Proved()

    monkeypatch.setattr(Solver, "prove", broken)
    with pytest.raises(Disagreement, match="proved-but-false"):
        TARGET.check(Question((), ("<", "i", "j"), second=False), Observed())
