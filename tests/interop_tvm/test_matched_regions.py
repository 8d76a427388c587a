"""``T.match_buffer`` of a region means what TVM lowers it to, and what TVM refuses is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tvm
from tvm.s_tir import transform as s_tir

from tests.interop_tvm.programs import HEAD, function
from verified_tir import ScriptError, parse_func
from verified_tir.semantics.interpreter import run

TEXT = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((6, 5, 4), "int32"{strides})):
    with T.sblock("b"):
        T.reads(A[0:6, 0:5, 0:4])
        T.writes(A[0:6, 0:5, 0:4])
        s = T.int32()
        o = T.int32()
        C = T.match_buffer(A[{region}], ({shape}), "int32"{options})
        for {names} in T.grid({extents}):
            C[{names}] = C[{names}] + {value}
"""


def drawn(r: random.Random) -> str:
    """A text; about half of them say something of the region that is not so."""
    bounds = [(low, r.randint(1, n - low)) for n in (6, 5, 4) for low in [r.randrange(n)]]
    for k in range(r.choice([0, 0, 1, 2])):
        bounds[k] = (bounds[k][0], 1)
    kept = bounds[r.choice([0, 0, 1, 2]) :]
    strides = r.choice([[20, 4, 1], [20, 4, 1], [25, 5, 1]])
    extents = [e for _, e in kept]
    offset = sum(low * s for (low, _), s in zip(bounds, strides, strict=True))
    said = [e + (r.random() < 0.05) for e in extents]
    given = [r.choice([str(s), str(s), "s" if k == 0 else str(s)]) for k, s in enumerate(strides[-len(kept) :])]
    if r.random() < 0.1:
        given[0] = "3"
    new = ["'x'", "'y'", "'z'"][: len(kept)]
    options = r.choice(["", f", strides=[{', '.join(given)}]", f", strides=[{', '.join(new)}]"])
    offsets = ["offset_factor=1", "elem_offset=o", f"elem_offset={offset}", f"elem_offset={offset + 1}"]
    options += f", {r.choice(offsets)}"
    options += r.choice(["", "", ', scope="global"', ', scope="shared"', ", align=64"])
    names = "ijk"[: len(kept)]
    return TEXT.format(
        strides=f", strides={strides}" if strides != [20, 4, 1] else "",
        region=", ".join(f"{low}:{low + e}" for low, e in bounds), shape=", ".join(map(str, said)) + ",",
        options=options, names=", ".join(names),
        extents=", ".join(map(str, said)), value=r.choice(["1", "i", "s" if "[s" in options else "2", "i + 7"]),
    )  # fmt: skip


def lowered(text: str) -> str | None:
    """The text of TVM's program without matched regions; ``None`` if TVM refuses it."""
    try:
        found = tvm.IRModule({"f": function(text)})
        return str(s_tir.LowerMatchBuffer()(s_tir.ConvertBlocksToOpaque()(found))["f"].script())
    except Exception:
        return None


@pytest.mark.sample(7)
@pytest.mark.parametrize("seed", range(150))
def test_it_means_what_tvm_lowers_it_to(seed: int) -> None:
    text = drawn(random.Random(seed))
    theirs = lowered(text)
    try:
        ours = parse_func(HEAD + text)
    except ScriptError:
        assert theirs is None, text
        return
    assert theirs is not None, text
    size = 170 if "strides=[25" in text.split("):")[0] else 120
    array = np.arange(size, dtype=np.int32)
    results = []
    for func in (ours, parse_func(theirs)):
        block = array.copy()
        view = np.lib.stride_tricks.as_strided(block, (6, 5, 4), (100, 20, 4) if size == 170 else (80, 16, 4))
        results.append(run(func, {"A": view}).arrays["A"])
    assert np.array_equal(*results), text


@pytest.mark.nightly
def test_both_kinds_are_drawn() -> None:
    texts = [drawn(random.Random(seed)) for seed in range(150)]
    accepted = sum(lowered(t) is not None for t in texts)
    assert 30 <= accepted <= 120
