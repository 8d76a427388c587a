"""Names, marks and lines of printed programs, and random programs through the printer and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

from tests.ir.script.texts import PROGRAMS
from tests.nightly import few
from tests.parts.roundtrip import assert_round_trip
from tests.parts.syntax import syntactic_functions, syntactic_modules
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, INT64
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Call, Load, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at, places
from verified_tir.ir.script import parse, parse_func, script, script_lines
from verified_tir.ir.stmt import SKIP, Allocate, Evaluate, For, If, LetStmt, Seq, Store, seq
from verified_tir.ir.sugar import const

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def loop(name: str, body: Store | For | Evaluate) -> For:
    return For(Var.fresh(name, INT32), const(0), const(4), body)


@pytest.mark.nightly
@settings(RANDOM, max_examples=few(80, 500))
@given(syntactic_functions())
def test_random_programs_read_back(func: PrimFunc) -> None:
    assert_round_trip(func)


@settings(RANDOM, max_examples=few(10, 50))
@given(syntactic_modules())
def test_random_modules_read_back(module: IRModule) -> None:
    assert_round_trip(module)


# -- names ------------------------------------------------------------------------------------------------------------


def test_names_are_unique_where_they_are_visible() -> None:
    A = Buffer.declare("A", (4,))
    inner, outer, later = Var.fresh("i"), Var.fresh("i"), Var.fresh("i")
    store = Store(A, Load(A, (outer,)), (inner,))
    nest = For(outer, const(0), const(4), For(inner, const(0), outer, store))
    after = For(later, const(0), const(4), Store(A, const(0.0, "float32"), (later,)))
    assert script(seq(nest, after)).splitlines() == [
        "for i in range(4):",
        "    for i_1 in range(i):",
        "        A[i_1] = A[i]",
        "for i in range(4):",
        "    A[i] = T.float32(0.0)",
    ]


@pytest.mark.parametrize(
    ("hint", "name"),
    [("for", "for_"), ("T", "T_"), ("range", "range_"), ("1st", "v1st"), ("", "v"), ("A.local", "A_local"), ("é", "_")],
)
def test_hints_become_identifiers(hint: str, name: str) -> None:
    shown = script(Evaluate(Var.fresh(hint)))
    assert shown == f"T.evaluate({name if name != '_' else '__'})"


def test_what_is_free_in_a_piece_is_named_before_what_is_bound() -> None:
    free, bound = Var.fresh("i"), Var.fresh("i")
    A = Buffer.declare("i", (4,))
    text = script(For(bound, const(0), const(4), Store(A, Load(A, (bound,)), (free,))))
    assert text == "for i_2 in range(4):\n    i[i_1] = i[i_2]"


def test_expressions_alone() -> None:
    i = Var.fresh("i", INT64)
    assert script(i + 1) == "i + T.int64(1)"
    assert script(Binary("add", i, const(0, INT64))) == "T.Add(i, T.int64(0))"


def test_a_free_variable_of_a_function_is_declared() -> None:
    func = PrimFunc("f", (), (), Evaluate(Var.fresh("n", INT64)))
    assert script(func).splitlines()[-2:] == ["    n = T.int64()", "    T.evaluate(n)"]
    assert structural_equal(parse_func(script(func)), func)


def test_a_data_variable_is_written_by_its_buffer_and_a_pointer_by_its_name() -> None:
    A = Buffer.declare("A", (4,))
    p = Var.fresh("p", HANDLE)
    assert script(Evaluate(Call(HANDLE, "f", (A.data, p)))) == "T.f(A, p)"
    handle = Var.fresh("A", HANDLE)
    func = PrimFunc("f", (handle,), ((handle, A),), Evaluate(Call(HANDLE, "f", (A.data,))))
    assert script(func).splitlines()[-1] == "    T.f(A.data)"


# -- scopes -----------------------------------------------------------------------------------------------------------


def test_a_binding_that_ends_before_its_scope_is_a_with() -> None:
    A = Buffer.declare("A", (4,))
    C = Buffer.declare("C", (4,))
    x = Var.fresh("x")
    zero = const(0.0, "float32")
    inner = Allocate(C, LetStmt(x, const(3), seq(Store(C, zero, (x,)), Store(A, zero, (x,)))))
    text = script(seq(inner, Store(A, zero, (const(1),))))
    assert text.splitlines() == [
        'with T.alloc_buffer((4,), "float32") as C:',
        "    x: T.let[T.int32] = 3",
        "    C[x] = T.float32(0.0)",
        "    A[x] = T.float32(0.0)",
        "A[1] = T.float32(0.0)",
    ]


# -- marks and lines --------------------------------------------------------------------------------------------------


def test_every_statement_has_its_line() -> None:
    for text in PROGRAMS.values():
        for _, func in parse(text).functions:
            lines, starts = script_lines(func)
            assert "\n".join(lines) == script(func)
            wanted = [path for path, _ in places(func.body, lambda s: True)]
            assert sorted(starts) == sorted(wanted)
            for path, line in starts.items():
                stmt = at(func.body, path)
                first = lines[line].strip()
                if isinstance(stmt, Store):
                    # a store is the line that starts with its buffer
                    assert re.match(rf"{stmt.buffer.name}(_\d+)?\[", first), first
                elif isinstance(stmt, For):
                    assert first.startswith("for ")
                elif isinstance(stmt, If):
                    assert first.startswith(("if ", "elif "))


def test_marks() -> None:
    func = parse_func(PROGRAMS["row_sum_padded"])
    marked = script(func, mark={(0,): "the\nassumption", (1, 0, 1, 0, 0, 1): "dead"})
    changed = [line.strip() for line in marked.splitlines() if "# <--" in line]
    assert changed == [
        "for i, j_outer, j_inner in T.grid(16, 4, 4):  # <-- the assumption",
        'B[i] = B[i] + T.undef(dtype="float32")  # <-- dead',
    ]
    # a marked text still reads back
    assert structural_equal(parse_func(marked), func)


def test_loops_of_one_grid_share_their_line() -> None:
    func = parse_func(PROGRAMS["row_sum_padded"])
    _, starts = script_lines(func)
    assert starts[(0,)] == starts[(0, 0)] == starts[(0, 0, 0)] == starts[(0, 0, 0, 0)] - 1


def test_a_mark_needs_its_statement() -> None:
    with pytest.raises(IRError, match="no statement at path"):
        script(parse_func(PROGRAMS["row_sum_old"]), mark={(7,): "x"})


def test_marks_of_a_statement_alone() -> None:
    A = Buffer.declare("A", (4,))
    store = Store(A, const(0.0, "float32"), (const(1),))
    assert (
        script(Seq((store, store)), mark={(1,): "again"}) == "A[1] = T.float32(0.0)\nA[1] = T.float32(0.0)  # <-- again"
    )
    assert script(SKIP) == "pass"
    assert script(loop("i", store)) == "for i in range(4):\n    A[1] = T.float32(0.0)"
