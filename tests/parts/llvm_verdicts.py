"""Assertions about ``validate_llvm``: what it says of a program and its LLVM IR is so.

*Equal* is held against the machine code that LLVM makes of the text, on arguments drawn here, in a process of its own;
*different* against one more such run on its witness.  Where the witness is undefined behaviour of the text, machine
code shows nothing, and the validator's word stands.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from tests.parts.reference_runs import Arguments, Ended, ran, random_arguments, same_bits
from tests.parts.verdicts import BUDGET, WrongVerdict
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.logic.solver import Solver
from verified_tir.semantics.interpreter import ArgumentError
from verified_tir.validate import Different, Equal
from verified_tir.validate.llvm import LLVMReport, validate_llvm
from verified_tir.validate.llvm.jit import Job, execute
from verified_tir.validate.llvm.replay import word
from verified_tir.validate.llvm.session import symbols as trailing_symbols

Array: TypeAlias = npt.NDArray[Any]
TRIALS: Final = 8
SECONDS: Final = 30


def assert_llvm_verdict_holds(
    func: PrimFunc, text: str, *, sizes: Mapping[str, int] | None = None, trials: int = TRIALS, seed: int = 0
) -> LLVMReport:
    """Ask ``validate_llvm`` about a program and a module, and machine code whether the answer is so.

    :param sizes: the values of all symbols and integer parameters, by name.
    :returns: the validator's report.
    :raises WrongVerdict: if a run contradicts it.
    """
    given = dict(sizes or {})
    report = validate_llvm(func, text, sizes=given, solver=Solver(BUDGET))
    verdict = report.verdict
    if isinstance(verdict, Different) and verdict.element and verdict.after is not None:
        _agree(func, text, [dict(verdict.arguments)], given, verdict)
    if isinstance(verdict, Equal):
        try:
            drawn = [random_arguments(func, given, seed, k) for k in range(trials)]
        except ArgumentError:
            return report
        _agree(func, text, drawn, given, verdict)
    return report


def _agree(
    func: PrimFunc, text: str, drawn: list[Arguments], sizes: Mapping[str, int], verdict: Equal | Different
) -> None:
    if any(b.strides or b.dtype.lanes > 1 for b in func.buffers):
        return
    ended = [ran(func, a) for a in drawn]
    known = [(a, e) for a, e in zip(drawn, ended, strict=True) if e.outcome is not None]
    if isinstance(verdict, Different) and not known:
        raise WrongVerdict("different-unconfirmed", f"{verdict}; but the program ends by {ended[0].why}")
    if isinstance(verdict, Equal) and verdict.vacuous:
        return
    done = _machine(text, [_job(func, a, sizes) for a, _ in known])
    if done is None:
        if isinstance(verdict, Equal):
            raise WrongVerdict("equal-but-differs", f"{verdict}; but the machine code crashes, or does not end\n{text}")
        return
    differ = [_wrong(func, e, blocks, status) for (_, e), (status, blocks) in zip(known, done, strict=True)]
    first = next((k for k, wrong in enumerate(differ) if wrong), None)
    if isinstance(verdict, Equal) and first is not None:
        raise WrongVerdict("equal-but-differs", f"{verdict}; but {differ[first]}, with {known[first][0]}\n{text}")
    if isinstance(verdict, Different) and first is None:
        raise WrongVerdict("different-unconfirmed", f"{verdict}; but machine code agrees with the program\n{text}")


def _wrong(func: PrimFunc, ended: Ended, blocks: Sequence[Array], status: int) -> str:
    """How the machine's result differs; empty if it does not."""
    assert ended.outcome is not None
    if status:
        return f"the kernel returns {status}"
    for buffer, block in zip(func.buffers, blocks, strict=True):
        want, defined = ended.outcome.arrays[buffer.name], ended.outcome.defined[buffer.name]
        have = block.view(want.dtype)[: want.size].reshape(want.shape)
        wrong = defined & ~same_bits(want, have)
        if wrong.any():
            index = tuple(int(k) for k in np.argwhere(wrong)[0])
            return f"{buffer.name}{list(index)} is {want[index]!r} by the interpreter, {have[index]!r} by the machine"
    return ""


def _job(func: PrimFunc, arguments: Arguments, sizes: Mapping[str, int]) -> tuple[Array | tuple[int, str], ...]:
    found: list[Array | tuple[int, str]] = []
    for param in func.params:
        buffer = func.buffer_of(param)
        if buffer is None:
            found.append(word(param.dtype, arguments[param.name]))
        else:
            array = np.ascontiguousarray(arguments[buffer.name]).reshape(-1)
            block = np.zeros(max(1, array.size), numpy_dtype(buffer.dtype))
            block[: array.size] = array
            found.append(block.view(np.uint8))
    return (*found, *[word(v.dtype, sizes[v.name]) for v in trailing_symbols(func)])


# ---------------------------------------------------------------------------------------------- a process of its own


def _machine(
    text: str, jobs: Sequence[tuple[Array | tuple[int, str], ...]]
) -> list[tuple[int, tuple[Array, ...]]] | None:
    """Status and blocks of each run; ``None`` if the process dies or takes too long.

    The process is forked: it has LLVM already, and is gone after the runs, whatever they did to its memory.
    """
    if not jobs:
        return []
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _serve(writing, text, jobs)
    os.close(writing)
    received = b""
    until = time.monotonic() + SECONDS
    try:
        while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
            part = os.read(reading, 1 << 16)
            if not part:
                break
            received += part
        else:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    found: list[tuple[int, tuple[Array, ...]]] | None = pickle.loads(received) if status == 0 else None
    return found


def _serve(writing: int, text: str, jobs: Sequence[tuple[Array | tuple[int, str], ...]]) -> NoReturn:
    """Run the jobs, write what came of them, and end, without what a process does at its end."""
    code = 1
    try:
        faulthandler.disable()  # a crash is an answer here
        done = [execute(Job(text, tuple(job))) for job in jobs]
        with os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps([(d.status, d.blocks) for d in done]))
        code = 0
    finally:
        os._exit(code)
