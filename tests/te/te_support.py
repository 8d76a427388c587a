"""Running what a schedule of tensors leads to."""

from __future__ import annotations

from typing import Any

import numpy as np

from verified_tir import build, script, te
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.interpreter import run


def arrays(func: PrimFunc, sizes: dict[str, int], seed: int = 0) -> dict[str, Any]:
    """Random small integers, exact in every type and order of summation."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for b in func.buffers:
        shape = [sizes[e.name] if hasattr(e, "name") else e.value for e in b.shape]  # type: ignore[attr-defined]
        found[b.name] = rng.integers(-4, 5, shape).astype(numpy_dtype(b.dtype))
    return found


def same_result(schedule: te.TESchedule, args: list[te.Tensor], **sizes: int) -> str:
    """The machine code of the scheduled program gives what the interpreter gives for the definition."""
    theorem = te.lower(schedule, args)
    plain = te.create_prim_func(args)
    given = arrays(plain, sizes)
    expected = run(plain, {k: v.copy() for k, v in given.items()})
    f = build(theorem, threads=1)
    packed = {k: f.pack(k, v.copy()) for k, v in given.items()}
    f(*packed.values())
    for name, value in packed.items():
        np.testing.assert_array_equal(f.unpack(name, value), expected.arrays[name], err_msg=name)
    return script(te.lower(schedule, args, simple_mode=True).after)
