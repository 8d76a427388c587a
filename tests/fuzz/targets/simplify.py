"""Whatever makes something simpler, or decides something, against trying all small values.

Cases are index expressions in loops (the simplifier), index maps on shapes (boxes, inverses, padding), questions of the
logic (folding, text, rewriting, solvers, the store of verdicts), and programs (``Schedule.simplify`` and
``domain_touched``).
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.fuzz.targets.index_programs import index_programs
from tests.fuzz.targets.sentences import questions
from tests.parts.formulas import BUDGET, Sentence, assert_decided_rightly
from tests.parts.index_values import assert_index_map_right, assert_simplifies_alike
from tests.parts.literals import arguments_text, needed_imports, program_text
from tests.parts.simplified import assert_simplified_alike, assert_touches
from verified_tir.fuzz.target import Observed
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Binary, Expr, IfThenElse, Not, Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.visit import walk
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.testing.arguments import arguments
from verified_tir.testing.drawing import Picker
from verified_tir.testing.expressions import COMPARISONS
from verified_tir.testing.index_maps import index_maps
from verified_tir.testing.programs import ALL_FEATURES, prim_funcs

Arguments: TypeAlias = Mapping[str, Any]


@final
@dataclass(frozen=True, slots=True)
class IndexCase:
    """A nest of loops around an index expression."""

    func: PrimFunc


@final
@dataclass(frozen=True, slots=True)
class MapCase:
    """An index map on a shape."""

    index_map: IndexMap
    shape: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A question of the logic; ``second``: all solvers are asked from scratch."""

    given: tuple[Sentence, ...]
    goal: Sentence
    second: bool


@final
@dataclass(frozen=True, slots=True)
class ProgramCase:
    """A program, to be simplified, or to be asked what it touches."""

    func: PrimFunc
    arguments: tuple[Arguments, ...]
    touched: bool


SimplifyCase: TypeAlias = IndexCase | MapCase | Question | ProgramCase

_OPERATORS = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "floormod",
    "truncdiv",
    "truncmod",
    "min",
    "max",
    "and",
    "or",
    *COMPARISONS,
)
_SENTENCES = ("not", "and", "or", "=>", "ite", "=", "<=", "<", "between", "+", "-", "*", "div", "mod", "floordiv",
              "floormod", "truncdiv", "truncmod", "wrap8", "wrapu8", "bvand", "bvor", "bvxor", "fp.add", "fp.sub",
              "fp.mul", "fp.abs", "fp.eq", "fp.lt", "fp.leq", "fp.isNaN")  # fmt: skip


@final
class SimplifyTarget:
    """See the module."""

    name = "simplify"
    summary = "simplifiers, index maps, formulas and solvers against all small values"
    requires: Sequence[str] = ()

    def universe(self) -> Sequence[tuple[str, str]]:
        """Operators in simplified expressions and in questions; how maps and questions ended."""
        return [
            *(("operator", op) for op in _OPERATORS),
            *(("node", name) for name in ("Not", "Select", "IfThenElse")),
            *(("sentence", op) for op in _SENTENCES),
            *(("map", end) for end in ("injective", "not injective")),
            *(("verdict", end) for end in ("proved", "refuted")),
            *(("program", end) for end in ("simplified", "touched")),
        ]

    def cases(self) -> SearchStrategy[SimplifyCase]:
        """Expressions, maps, questions, programs."""
        indices, asked = index_programs().map(IndexCase), _questions()
        return st.one_of(indices, indices, indices, asked, asked, asked, _maps(), _programs())

    def check(self, case: SimplifyCase, observed: Observed) -> None:
        """The properties of ``index_values``, ``formulas`` and ``simplified`` in ``tests.parts``."""
        match case:
            case IndexCase(func=func):
                observed.count("expressions")
                observed.count("points", assert_simplifies_alike(func))
                _note(func, observed)
            case MapCase(index_map=index_map, shape=shape):
                observed.count("index maps")
                observed.cover("map", assert_index_map_right(index_map, shape))
            case Question(given=given, goal=goal, second=second):
                observed.count("questions")
                end = assert_decided_rightly(given, goal, solver=_solver(), second=second)
                observed.count(end)
                observed.cover("verdict", end)
                for op in {op for s in (*given, goal) for op in _operations(s)}:
                    observed.cover("sentence", op)
            case ProgramCase(func=func, arguments=sets, touched=touched):
                observed.count("programs")
                done = (assert_touches if touched else assert_simplified_alike)(func, sets)
                observed.count("accepted" if done else "without a meaning")
                if done:
                    observed.cover("program", "touched" if touched else "simplified")

    def as_test(self, case: SimplifyCase, name: str) -> str:
        """One call of an assertion."""
        match case:
            case IndexCase(func=func):
                return _program(
                    "assert_simplifies_alike(func)", "index_values import assert_simplifies_alike", name, func
                )
            case MapCase(index_map=index_map, shape=shape):
                text = f'parse_index_map("{index_map}", {{}}, DType.parse("{index_map.dtype}"))'
                return _MAP.format(name=name, text=text, shape=shape)
            case Question(given=sentences, goal=goal):
                return _QUESTION.format(name=name, given=sentences, goal=goal)
            case ProgramCase(func=func, arguments=sets, touched=touched):
                asserted = "assert_touches" if touched else "assert_simplified_alike"
                given = "".join(f"\n        {arguments_text(a, '        ')}," for a in sets)
                call = f"arguments = [{given}\n    ]\n    {asserted}(func, arguments)"
                return _program(call, f"simplified import {asserted}", name, func)


TARGET = SimplifyTarget()


@cache
def _solver() -> Solver:
    """One solver for all cases, with a store of its own: so a verdict that is kept for the wrong question is found."""
    folder = tempfile.mkdtemp(prefix="vtir-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Solver(budget=BUDGET, store=VerdictStore(Path(folder)))


def _note(func: PrimFunc, observed: Observed) -> None:
    for n in {n for n in walk(func) if isinstance(n, Expr)}:
        match n:
            case Binary(op=op):
                observed.cover("operator", op)
            case Not() | Select() | IfThenElse():
                observed.cover("node", type(n).__name__)


def _operations(sentence: Sentence) -> set[str]:
    match sentence:
        case (str(op), *rest) if op != "f16":
            return {op, *(o for part in rest for o in _operations(part))}
    return set()


@st.composite
def _questions(draw: DrawFn) -> Question:
    given, goal = draw(questions())
    return Question(given, goal, Picker(draw).rarely(6))


@st.composite
def _maps(draw: DrawFn) -> MapCase:
    pick = Picker(draw)
    shape = tuple(pick.one(4, 2, 3, 8, 1, 5, 6, 7, 12) for _ in range(pick.one(1, 2, 2, 3)))
    return MapCase(draw(index_maps(shape, moves=6)), shape)


@st.composite
def _programs(draw: DrawFn) -> ProgramCase:
    touched = Picker(draw).rarely(3)
    chosen = ALL_FEATURES - ({"vectors", "faults", "matches"} if touched else {"faults"})
    func = draw(prim_funcs(chosen, max_depth=3))
    return ProgramCase(func, tuple([draw(arguments(func)) for _ in range(2)]), touched)


def _program(call: str, names: str, name: str, func: PrimFunc) -> str:
    program = program_text(func)
    return _PROGRAM.format(imports=needed_imports(program + call), names=names, name=name, program=program, call=call)


_PROGRAM = """\
{imports}from tests.parts.{names}


def {name}():
    func = {program}
    {call}
"""
_MAP = """\
from verified_tir.ir.dtype import DType
from verified_tir.index.parse import parse_index_map
from tests.parts.index_values import assert_index_map_right


def {name}():
    assert_index_map_right({text}, {shape})
"""
_QUESTION = """\
from tests.parts.formulas import assert_decided_rightly


def {name}():
    given = {given!r}
    goal = {goal!r}
    assert_decided_rightly(given, goal)
"""
