"""Our programs compiled by TVM, to see what its code generator makes of the same schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
import tvm.script

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script


def compiled(
    func: PrimFunc, cpu: str, arrays: Sequence[Any], results: Sequence[int]
) -> Callable[[], tuple[np.ndarray[Any, Any], ...]]:
    """A function of no arguments, which calls ``func`` on copies of arrays and gives the memory of some of them.

    :param cpu: LLVM's name of the processor.
    :param arrays: what its parameters are, in order: arrays and numbers.
    :param results: which of them are given, by number.
    """
    module = tvm.compile(tvm.script.from_source(script(func)), target=tvm.target.Target({"kind": "llvm", "mcpu": cpu}))
    run = module[func.name]
    given = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
    seen = tuple(np.from_dlpack(given[k]) for k in results)

    def call() -> tuple[np.ndarray[Any, Any], ...]:
        run(*given)
        return seen

    return call
