"""Looking for a difference with concrete inputs, and replaying it.

The interpreter says what the program does.  The executor, given constants, says what the text does, undefined behaviour
included; and if it finds a value that is wrong, the text is compiled and run, so that no fault of the executor's own is
called a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import DType
from verified_tir.ir.floats import bits_of
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.interpreter import (
    ArgumentError,
    AssertionFailed,
    Outcome,
    StepLimit,
    UndefinedBehaviour,
    Unsupported,
    run,
)
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.validate.concrete import Search, arguments_of
from verified_tir.validate.interface import Parameter, Side
from verified_tir.validate.llvm.graph import Graph
from verified_tir.validate.llvm.jit import Job, run_machine_code
from verified_tir.validate.llvm.session import LLVMExit, register_type, run_kernel, symbols
from verified_tir.validate.llvm.simulate import KINDS
from verified_tir.validate.llvm.syntax import FloatType, IntType, Module
from verified_tir.validate.memory import Oversize, Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import UNDEF_ID, Ids, Terms, TooManyTerms
from verified_tir.validate.verdict import Different

Array = npt.NDArray[Any]
ENDLESS: Final = 2
"""Of runs that do not end soon enough: each takes as long as ``Kernel.limit`` instructions, and shows nothing."""


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    """A program and the text that is to implement it, at known sizes."""

    side: Side
    module: Module
    text: str
    limit: int
    backwards: bool = False
    shared: bool = False


def search(kernel: Kernel, *, steps: int, most: int) -> Search:
    """Run program and text on ``most`` inputs; on ``ENDLESS`` where the text executes more instructions than it may.

    Where runs differ by the executor of LLVM IR and not by machine code, that is why nothing was found.
    """
    tried = undefined = endless = 0
    why = ""
    for seed in range(most):
        arguments = arguments_of(kernel.side, KINDS[seed % len(KINDS)], seed)
        tried += 1
        try:
            expected: Outcome | AssertionFailed = run(kernel.side.func, arguments, max_steps=steps)
        except UndefinedBehaviour:
            undefined += 1
            continue
        except AssertionFailed as failed:
            expected = failed
        except (StepLimit, Unsupported, ArgumentError) as problem:
            return Search(None, tried, undefined, f"the program could not be run: {problem}")
        try:
            found = _replay(kernel, arguments, expected)
        except (Refused, TooManyTerms) as problem:
            why = str(problem)
            endless += isinstance(problem, Oversize)
            if endless == ENDLESS:
                break
            continue
        if isinstance(found, Different):
            return Search(found, tried, undefined)
        why = why or found
    return Search(None, tried, undefined, why)


def _replay(kernel: Kernel, arguments: dict[str, Any], expected: Outcome | AssertionFailed) -> Different | str:
    graph = Graph(Builder(Terms(), scales=True))
    side = kernel.side
    data = [p for p in side.params if p.buffer is not None or p.var not in side.values]
    contents = {p.position: _terms(graph.terms, p, arguments) for p in data}
    left = run_kernel(
        kernel.module, side, graph, limit=kernel.limit, contents=contents, chosen=True, backwards=kernel.backwards,
        shared=kernel.shared,
    )  # fmt: skip
    undefined = left.undefined or next(iter(left.events.values()), None)
    if undefined is not None:
        return Different(arguments, arguments, "", None, undefined)
    fails = isinstance(expected, AssertionFailed)
    if fails or left.status:
        if fails == bool(left.status > 0):
            return ""
        return Different(arguments, arguments, "", None, f"the kernel returns {left.status}")
    assert isinstance(expected, Outcome)
    for p in side.params:
        if p.buffer is None:
            continue
        found = _first_wrong(graph.terms, p, expected, left)
        if found is None:
            continue
        k, lane, before, after = found
        different = Different(arguments, arguments, p.element_name(k, lane), before, after)
        if after is None:
            return different
        return _confirmed(kernel, p, arguments, (k, lane), different)
    return ""


def _first_wrong(terms: Terms, p: Parameter, expected: Outcome, left: LLVMExit) -> tuple[int, int, Any, Any] | None:
    """Element, lane, and the two values, of the first difference in a parameter."""
    assert p.buffer is not None
    lanes, scalar = p.buffer.dtype.lanes, p.buffer.dtype.scalar
    want = expected.arrays[p.name].reshape(-1, lanes)
    known = expected.defined[p.name].reshape(-1, lanes)
    ids = left.memory[p.position]
    have = np.array([_number(terms, scalar, t) for t in ids.reshape(-1).tolist()], dtype=numpy_dtype(scalar))
    have = have.reshape(ids.shape)
    wrong = known & ((ids == UNDEF_ID) | ~same_bits(want, have))
    if not wrong.any():
        return None
    k, lane = (int(n) for n in np.argwhere(wrong)[0])
    return k, lane, want[k, lane], None if ids[k, lane] == UNDEF_ID else have[k, lane]


def _number(terms: Terms, dtype: DType, term: int) -> Any:
    if term == UNDEF_ID or terms.op_of(term) != "const":
        return 0
    with np.errstate(all="ignore"):
        return np.array(terms.value(term), dtype=np.float64).astype(numpy_dtype(dtype)) if dtype.is_float else (
            terms.value(term)
        )  # fmt: skip


def _terms(terms: Terms, p: Parameter, arguments: Mapping[str, Any]) -> Ids:
    dtype = p.var.dtype if p.buffer is None else p.buffer.dtype.scalar
    values = np.asarray(arguments[p.name]).reshape(-1)
    found: Ids = np.array(
        [terms.constant(dtype, float(v) if dtype.is_float else int(v)) for v in values], dtype=np.int64
    )
    return found


# ----------------------------------------------------------------------------------------------------- machine code


def _confirmed(
    kernel: Kernel, p: Parameter, arguments: Mapping[str, Any], where: tuple[int, int], different: Different
) -> Different | str:
    """The difference, if machine code shows it too."""
    done = run_machine_code(Job(kernel.text, _arguments(kernel, arguments)))
    if done is None:
        return Different(different.arguments, different.arguments, "", None, "its machine code crashes")
    buffers = [q for q in kernel.side.params if q.buffer is not None]
    block = done.blocks[buffers.index(p)].view(numpy_dtype(p.buffer.dtype.scalar))  # type: ignore[union-attr]
    k, lane = where
    ran = block[int(p.at[k]) * p.lanes + lane]
    if bool(same_bits(np.array([ran]), np.array([different.before]))[0]):
        return f"{different.element} is {different.after!r} by the executor of LLVM IR, and {ran!r} by machine code"
    return Different(different.arguments, different.arguments, different.element, different.before, ran)


def _arguments(kernel: Kernel, arguments: Mapping[str, Any]) -> tuple[Array | tuple[int, str], ...]:
    found: list[Array | tuple[int, str]] = []
    for p in kernel.side.params:
        value = arguments[p.name]
        if p.buffer is None:
            found.append(word(p.var.dtype, value))
            continue
        block = np.zeros((max(1, p.elements), p.lanes), dtype=numpy_dtype(p.buffer.dtype.scalar))
        block[p.at] = np.asarray(value).reshape(-1, p.lanes)
        found.append(block.reshape(-1).view(np.uint8))
    return (*found, *[word(v.dtype, kernel.side.values[v]) for v in symbols(kernel.side.func)])


def word(dtype: DType, value: Any) -> tuple[int, str]:
    """The bits of a scalar argument, and the type by which a kernel takes it."""
    kind = register_type(dtype)
    assert isinstance(kind, (IntType, FloatType))
    bits = bits_of(dtype, float(value)) if dtype.is_float else int(value) & ((1 << 64) - 1)
    return bits, f"i{kind.bits}" if isinstance(kind, IntType) else kind.name
