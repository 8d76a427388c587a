"""Programs that a pass has something to do with: it does, on some of them, and what it makes is right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.fuzz.targets.codegen_fits import FITTING, fitting
from tests.parts.lowered import assert_lowers_alike
from verified_tir.testing import arguments
from verified_tir.testing.drawing import Picker


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FITTING)
def test_the_pass_changes_what_is_made_for_it(name: str) -> None:
    seen: list[str] = []

    @settings(
        max_examples=4, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def one(data: Any) -> None:
        func = fitting(Picker(data.draw), name)
        given_one = data.draw(arguments(func))
        assert_lowers_alike(func, [given_one], f"{name}()", seen=lambda kind, of: seen.append(kind))

    search_until(lambda: "changed" in seen, one)
    assert "changed" in seen
