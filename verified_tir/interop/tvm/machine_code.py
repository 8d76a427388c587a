"""Our programs compiled by TVM, to see what its code generator makes of the same schedule."""

from __future__ import annotations

import re
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
    program = tvm.script.from_source(as_tvm_reads_it(script(func)))
    module = tvm.compile(program, target=tvm.target.Target({"kind": "llvm", "mcpu": cpu}))
    run = module[func.name]
    given = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
    seen = tuple(np.from_dlpack(given[k]) for k in results)

    def call() -> tuple[np.ndarray[Any, Any], ...]:
        run(*given)
        return seen

    return call


def as_tvm_reads_it(text: str) -> str:
    """A program's text without ``with T.alloc_buffer(…) as A:``, which TVM has not: memory lives on after that."""
    lines: list[str] = []
    around: list[int] = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        while line.strip() and around and indent <= around[-1]:
            around.pop()
        allocation = re.fullmatch(r"( *)with (T\.alloc_buffer\(.*\)) as (\w+):", line)
        shown = f"{allocation[1]}{allocation[3]} = {allocation[2]}" if allocation else line
        lines.append(shown[4 * len(around) :])
        if allocation:
            around.append(indent)
    return "\n".join(lines)
