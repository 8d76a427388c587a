"""Found by a campaign: a counterexample was run again with fewer steps than it needs, and was said to show nothing.

Finding: kernel | confirmed-but-agrees | compute_at
"""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule
from verified_tir.testing import assert_confirmed

PROGRAM = """
@T.prim_func
def main(E: T.Buffer((64,), "uint32")):
    for i in range({0}):
        for k in range(4):
            E[i] = E[i] + E[k]
"""


@pytest.mark.parametrize(("iterations", "looked_at"), [(4, True), (64, False)])
def test_what_is_not_run_to_its_end_shows_nothing(iterations: int, looked_at: bool) -> None:
    s = Schedule(PROGRAM.format(iterations))
    s.cache_write("E", "local")
    with pytest.raises(Refuted) as refused:
        s.compute_at("E_local", s.loops()[2])
    assert refused.value.confirmed and assert_confirmed(refused.value) is looked_at
