"""Masked vector accesses: text, typing, meaning, and what proofs know of them."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, script
from verified_tir.ir.expr import Load, Ramp, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError, parse_func
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.schedule.errors import Refuted
from verified_tir.semantics.interpreter import run

COPY = """\
@T.prim_func
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32):
    for i in range((n + 3) // 4):
        B.vstore([T.Ramp(i * 4, 1, 4)], A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4)), predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4))
"""  # noqa: E501


def test_text_round_trips() -> None:
    f = parse_func(COPY)
    assert "A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4))" in script(f)
    assert script(parse_func(script(f))) == script(f)
    (store,) = [n for n in walk(f) if isinstance(n, Store)]
    assert store.predicate is not None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("T.Broadcast(n, 4)), pred", "T.Broadcast(n, 8)), pred", "differ in type"),
        (
            "predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4))\n",
            "predicate=T.Ramp(i, 1, 4))\n",
            r"lanes of bool \(here 4\)",
        ),
        ("A.vload([T.Ramp(i * 4, 1, 4)]", "A.vload([i]", "only vector accesses take a predicate"),
        ("A.vload(", "n.vload(", "is not a buffer"),
        ("predicate=T", "mask=T", "unknown argument mask"),
    ],
)
def test_wrong_masks_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        parse_func(COPY.replace(old, new))


def test_a_mask_has_the_index_lanes_also_for_vector_elements() -> None:
    text = COPY.replace('"float32"', '"float32x2"')
    f = parse_func(text)
    (load,) = [n for n in walk(f) if isinstance(n, Load)]
    assert (load.dtype.lanes, load.predicate.dtype.lanes) == (8, 4)  # type: ignore[union-attr]
    v = Var.fresh("i")
    with pytest.raises(IRError, match=r"lanes of bool \(here 4\)"):
        Load(load.buffer, (Ramp(v, const(1), 4),), binary("lt", Ramp(v, const(1), 8), 3))


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8])
def test_lanes_past_the_end_are_not_touched(n: int) -> None:
    a = np.arange(n, dtype=np.float32)
    for text in (COPY, COPY.replace('"float32"', '"float32x2"')):
        lanes = 2 if "x2" in text else 1
        given = np.arange(n * lanes, dtype=np.float32).reshape((n, lanes) if lanes > 1 else (n,))
        outcome = run(parse_func(text), {"A": given, "B": np.zeros_like(given), "n": n})
        np.testing.assert_array_equal(outcome.arrays["B"], given)
    assert len(a) == n


def test_a_masked_lane_is_undef() -> None:
    text = COPY.replace(
        "predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4)), predicate",
        "predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n - 1, 4)), predicate",
    )
    outcome = run(parse_func(text), {"A": np.ones(3, np.float32), "B": np.zeros(3, np.float32), "n": 3})
    assert list(outcome.defined["B"]) == [True, True, False]


def test_the_program_is_proved_and_its_near_misses_are_refused() -> None:
    Schedule(parse_func(COPY))
    for wrong in (
        COPY.replace(
            "predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4))\n",
            "predicate=T.Ramp(i * 4, 1, 4) <= T.Broadcast(n, 4))\n",
        ),
        COPY.replace("T.Broadcast(n, 4)), pred", "T.Broadcast(n + 1, 4)), pred"),
    ):
        with pytest.raises(Refuted, match="lies within the bounds"):
            Schedule(parse_func(wrong))
