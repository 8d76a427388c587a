"""``str(IndexMap)`` with ``min``, ``max`` or ``select`` was not read again, though layouts are noted in that form."""

from __future__ import annotations

import pytest

from tests.parts.roundtrip import assert_index_map_round_trip
from verified_tir import IndexMap
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.expr import Expr, IfThenElse, Select, Var
from verified_tir.ir.sugar import binary


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_functions_in_index_maps(dtype: str) -> None:
    def outputs(i: Expr, j: Expr) -> list[Expr]:
        return [
            binary("min", i, j),
            binary("max", i, j) // 4,
            Select(i < j, i, j),
            IfThenElse(i < j, j, i),
            binary("truncdiv", i - j, binary("add", j, 1)),
        ]

    assert_index_map_round_trip(IndexMap.from_func(outputs, 2, dtype))


def test_a_variable_may_have_the_name_of_the_namespace() -> None:
    x, y = Var.fresh("T"), Var.fresh("T_")
    assert_index_map_round_trip(IndexMap((x, y), (binary("min", x, y), x + y)))


def test_a_function_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="can be called here"):
        parse_index_map("lambda i: [nonsense(i)]")
