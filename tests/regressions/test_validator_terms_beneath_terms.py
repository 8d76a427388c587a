"""Terms beneath others were followed once for each way that leads to them: 2ⁿ ways in n levels of sums ``x + x``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from verified_tir.validate.llvm.decide import Judge


def test_terms_beneath_a_term_are_followed_once() -> None:
    asked: list[int] = []

    def operands(term: int) -> list[int]:
        asked.append(term)
        assert len(asked) <= 60, "a term is followed once"
        return [term - 1, term - 1] if term else []

    ladder = cast("Judge", SimpleNamespace(forms=SimpleNamespace(operands=operands)))
    assert Judge._near(ladder, 40) == set(range(41))
