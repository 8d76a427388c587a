"""Integer parameters were paired by their names, not by their positions: ``f(m, n)`` was equal to ``f(n, m)``."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Different, Equal, validate


def program(params: str, *lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def test_integer_parameters_that_trade_names() -> None:
    """Parameters correspond by position."""
    params = 'A: T.Buffer((1,), "int32"), {}: T.int32, {}: T.int32'
    before = program(params.format("m", "n"), "A[0] = m")
    traded, renamed = (program(params.format(*names), f"A[0] = {names[1]}") for names in ("nm", "xy"))
    again = program(params.format("n", "m"), "A[0] = n + 0")
    assert isinstance(validate(before, traded, sizes={"m": 2, "n": 7}).verdict, Different)
    assert isinstance(validate(before, renamed, sizes={"m": 2, "n": 7, "x": 2, "y": 2}).verdict, Different)
    assert isinstance(validate(before, again, sizes={"m": 2, "n": 7}).verdict, Equal)
