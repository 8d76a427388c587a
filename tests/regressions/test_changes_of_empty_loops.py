"""Found by a campaign: changes for the validator to judge took the first statement of a loop that has none.

Finding: validator | crash | IndexError in parts/statement_changes.py:<lambda>
"""

from __future__ import annotations

from tests.parts.statement_changes import statement_changes
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.stmt import SKIP, For
from verified_tir.ir.sugar import const


def test_every_change_can_be_made() -> None:
    loop = For(Var.fresh("i", DType.parse("int32")), const(0, "int32"), const(4, "int32"), SKIP)
    made = {what: change() for what, change in statement_changes(loop)}
    assert "a loop reversed" in made and "a loop distributed" not in made
