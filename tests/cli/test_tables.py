"""Tables as plain text."""

from __future__ import annotations

from verified_tir.cli.tables import aligned


def test_columns_stand_below_each_other() -> None:
    rows = [("a", "[bold]two", "x"), ("longer", "", "")]
    assert aligned(rows) == ["a       [bold]two  x", "longer"]


def test_numbers_stand_on_the_right() -> None:
    assert aligned([("", "n", "all"), ("a", "1,000", "")], numbers=True) == ["       n  all", "a  1,000"]
