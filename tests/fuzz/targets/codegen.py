"""Machine code and passes against the interpreter.

Most cases are compiled as they stand, for several processors: whole programs, expressions of every type, single
operators on many values, and choices between floats.  One in nine is proved, marked, and lowered pass by pass, then
compiled; that takes about as long as the others together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.fuzz.targets.codegen_cases import expression_programs, marked, operator_programs
from tests.fuzz.targets.codegen_choices import choice_programs
from tests.fuzz.targets.codegen_fits import FITTING, fitting
from tests.parts.compiled import VARIANTS, assert_compiles_alike, target_variant
from tests.parts.literals import arguments_text, needed_imports, program_text
from tests.parts.lowered import MARKS, assert_lowers_alike
from verified_tir.fuzz.target import Observed
from verified_tir.ir import expr, stmt
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.expr import Binary, Call, Cast, Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.visit import walk
from verified_tir.lower.pipelines import PASSES, PIPELINES
from verified_tir.testing.arguments import arguments
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import SCALARS
from verified_tir.testing.expressions import COMPARISONS, INTEGER_OPS
from verified_tir.testing.programs import prim_funcs

Arguments: TypeAlias = Mapping[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Compiled:
    """A program that is compiled as it stands, for a variant of this machine."""

    func: PrimFunc
    arguments: tuple[Arguments, ...]
    variant: str


@final
@dataclass(frozen=True, slots=True)
class Lowered:
    """A program that is proved, marked, and lowered by passes."""

    func: PrimFunc
    arguments: tuple[Arguments, ...]
    passes: str
    marks: tuple[tuple[str, int], ...]


CodegenCase: TypeAlias = Compiled | Lowered

_NODES = ("For", "If", "While", "LetStmt", "Allocate", "DeclBuffer", "Assert", "Select", "IfThenElse", "LetExpr",
          "Ramp", "Broadcast", "Shuffle", "Not", "Undef", "Load", "Store")  # fmt: skip
_OPTIONS = (*[f"{name}()" for name in PASSES], "UnrollLoop(max_extent=3)", "LoopPartition(max_cuts=2)")


@final
class CodegenTarget:
    """See the module."""

    name = "codegen"
    summary = "machine code, and each lowering pass, against the interpreter"
    requires: Sequence[str] = ()

    def universe(self) -> Sequence[tuple[str, str]]:
        """Passes that changed a program, pipelines, and what was compiled: operators, calls, types, casts, nodes."""
        operators = dict.fromkeys((*INTEGER_OPS, *COMPARISONS, "div", "and", "or"))
        return [
            *(("pass", name) for name in PASSES),
            *(("pipeline", name) for name in PIPELINES),
            *(("processor", name) for name in VARIANTS),
            *(("operator", op) for op in operators),
            *(("call", op) for op in PURE_CALLS),
            *(("type", str(t)) for t in SCALARS),
            *(("loop", kind) for kind in ("serial", "parallel", "vectorized", "unrolled")),
            *(("node", name) for name in _NODES),
        ]

    def cases(self) -> SearchStrategy[CodegenCase]:
        """Programs with arguments, to be compiled or lowered."""
        compiled, expressions, operators, choices = _compiled(), _expressions(), _operators(), _choices()
        return st.one_of(
            compiled, operators, expressions, choices, operators, compiled, operators, expressions, _lowered()
        )

    def check(self, case: CodegenCase, observed: Observed) -> None:
        """The properties of ``tests.parts.compiled`` and ``tests.parts.lowered``."""
        observed.count("programs")
        match case:
            case Compiled(func=func, arguments=given, variant=variant):
                compared = assert_compiles_alike(func, given, target=target_variant(variant))
                observed.count("accepted" if compared else "without a meaning")
                if compared:
                    observed.cover("processor", variant)
                    _note(func, observed)
            case Lowered():
                self._lower(case, observed)

    def _lower(self, case: Lowered, observed: Observed) -> None:
        def seen(kind: str, name: str) -> None:
            if kind == "rule":
                observed.cover(kind, name)
                return
            observed.count({"changed": "accepted", "refused": "refused", "kept": "unchanged"}[kind])
            if kind == "changed":
                observed.cover("pass", name)

        meant = assert_lowers_alike(case.func, case.arguments, case.passes, marks=case.marks, seen=seen)
        observed.count("proved" if meant else "without a meaning")
        if meant and case.passes in PIPELINES:
            observed.cover("pipeline", case.passes)

    def as_test(self, case: CodegenCase, name: str) -> str:
        """The program as text, the arguments as literals."""
        given = "\n".join(f"        {arguments_text(a, '        ')}," for a in case.arguments)
        program = program_text(case.func)
        match case:
            case Compiled(variant=variant):
                call = f'assert_compiles_alike(func, arguments, target=target_variant("{variant}"))'
                names = "compiled import assert_compiles_alike, target_variant"
            case Lowered(passes=passes, marks=marks):
                call = f'assert_lowers_alike(func, arguments, "{passes}", marks={marks!r})'
                names = "lowered import assert_lowers_alike"
        return _TEST.format(
            imports=needed_imports(given + program), names=names, name=name, given=given, call=call, program=program
        )


TARGET = CodegenTarget()


@cache
def _kinds() -> dict[type[Node], str]:
    found = {**vars(expr), **vars(stmt)}
    return {found[name]: name for name in _NODES}


def _note(func: PrimFunc, observed: Observed) -> None:
    """What was compiled."""
    seen: dict[tuple[str, str], None] = {}
    for n in walk(func.body):
        if kind := _kinds().get(type(n)):
            seen["node", kind] = None
        match n:
            case Binary(op=op):
                seen["operator", op] = None
            case Call(op=op) if op in PURE_CALLS:
                seen["call", op] = None
            case Cast():
                seen["node", "Cast"] = None
            case stmt.For(kind=kind):
                seen["loop", kind] = None
        if isinstance(n, Expr):
            seen["type", str(n.dtype.scalar)] = None
    for group, name in seen:
        observed.cover(group, name)


_variants = st.sampled_from(tuple(VARIANTS))


@st.composite
def _compiled(draw: DrawFn) -> Compiled:
    func = draw(prim_funcs())
    given = tuple([draw(arguments(func)) for _ in range(3)])
    return Compiled(func, given, draw(_variants))


@st.composite
def _expressions(draw: DrawFn) -> Compiled:
    func, given = draw(expression_programs())
    return Compiled(func, given, draw(_variants))


@st.composite
def _operators(draw: DrawFn) -> Compiled:
    func, given = draw(operator_programs())
    return Compiled(func, given, draw(_variants))


@st.composite
def _choices(draw: DrawFn) -> Compiled:
    func, given = draw(choice_programs())
    return Compiled(func, given, draw(_variants))


@st.composite
def _lowered(draw: DrawFn) -> Lowered:
    pick = Picker(draw)
    if pick.rarely(3):
        return _fitted(pick)
    func = marked(pick, draw(prim_funcs(max_depth=3)))
    given = tuple([draw(arguments(func)) for _ in range(2)])
    marks = tuple((pick.among(tuple(MARKS)), pick.integer(0, 5)) for _ in range(pick.one(0, 1, 2)))
    if pick.flip():
        return Lowered(func, given, pick.among(tuple(PIPELINES)), marks)
    passes = " >> ".join(pick.among(_OPTIONS) for _ in range(pick.integer(1, 4)))
    return Lowered(func, given, passes, marks)


def _fitted(pick: Picker) -> Lowered:
    """A program for one pass, which comes first or after others."""
    name = pick.among(tuple(FITTING))
    func = fitting(pick, name)
    given = tuple([pick.draw(arguments(func)) for _ in range(2)])
    steps = [pick.among(_OPTIONS) for _ in range(pick.one(0, 0, 1, 2))]
    steps.insert(pick.integer(0, len(steps)), f"{name}()")
    return Lowered(func, given, " >> ".join(steps), ())


_TEST = """\
{imports}from tests.parts.{names}


def {name}():
    func = {program}
    arguments = [
{given}
    ]
    {call}
"""
