"""Machine code against the interpreter, without a proof in between.

``build`` compiles what was proved.  Here any function is compiled, as it stands, and run on arguments on which the
interpreter finds no undefined behaviour and no race: there machine code must leave the same bits.  Arrays lie
between bytes that nobody may touch, and no better aligned than they must be.

A fault of the code generator may end the process.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final, final

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from verified_tir.codegen.compile import compile_llvm
from verified_tir.codegen.emit import KERNEL, Emitted, emit
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.pool import NAME, pool
from verified_tir.codegen.target import Target
from verified_tir.fuzz.target import Disagreement
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.floats import bits_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.semantics.interpreter import (
    ArgumentError,
    AssertionFailed,
    Outcome,
    StepLimit,
    UndefinedBehaviour,
    Unsupported,
    run,
)
from verified_tir.semantics.interpreter.arguments import array_extents, scalar_argument
from verified_tir.semantics.interpreter.extents import bind_symbols
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.semantics.interpreter.program import program_of
from verified_tir.semantics.values import UNDEF

Array = npt.NDArray[Any]
STEPS: Final = 20_000
"""Stores and iterations of one run, at most."""
GUARD: Final = 192
"""Bytes before and behind an array that nobody may touch."""
_PATTERN: Final = 0xA5


def assert_compiles_alike(
    func: PrimFunc, arguments: Iterable[Mapping[str, Any]], *, target: Target | None = None, licences: bool = True
) -> int:
    """Machine code leaves what the interpreter leaves, bit for bit, where that is defined, and touches nothing else.

    An assertion that fails must fail alike.  Arguments on which the program has no meaning, or breaks a licence of its
    marked loops, are passed over.

    :param arguments: arrays by name, and numbers, as ``run`` takes them; one set or more.  They are not modified.
    :param target: the machine; this one, with two threads, unless given.
    :param licences: whether licences are looked at; a program whose licences were proved needs it not.
    :returns: how many sets were compared; none for a program that has no machine code here.
    :raises AssertionError: if something differs.
    """
    machine = None
    compared = 0
    for given in arguments:
        expected = _meaning(func, given, licences)
        if expected is None:
            continue
        if machine is None:
            machine = machine_of(func, target)
            if machine is None:
                return 0
        compared += 1
        problem = machine.problem(given, expected)
        if problem is not None:
            kind, message = problem
            shown = [f"{k} = {v!r}" for k, v in given.items()]
            raise Disagreement(kind, "codegen", "\n".join([message, f"target: {machine.target}", script(func), *shown]))
    return compared


def machine_of(func: PrimFunc, target: Target | None = None) -> Machine | None:
    """The machine code of a function; ``None`` if it has none: a clear refusal of the code generator.

    :raises AssertionError: if LLVM does not accept the text that was generated.
    """
    try:
        return Machine(func, target or Target.host(threads=2))
    except CodegenError as refused:
        if "LLVM refuses" in str(refused):
            raise Disagreement("llvm-refuses", "codegen", f"{refused}\n{script(func)}") from refused
        return None


def _meaning(func: PrimFunc, given: Mapping[str, Any], licences: bool) -> Outcome | AssertionFailed | None:
    try:
        outcome = run(func, given, check_races=licences, max_steps=STEPS)
    except AssertionFailed as end:
        return end
    except (UndefinedBehaviour, StepLimit, Unsupported, ArgumentError):
        return None
    return None if outcome.findings else outcome


@final
class Machine:
    """A function's machine code in memory.

    :raises CodegenError: if it has none.
    """

    def __init__(self, func: PrimFunc, target: Target) -> None:
        self.func = func
        self.target = target
        self.emitted = emit(func, target)
        code = compile_llvm(self.emitted.text + trampoline(self.emitted), target)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine())
        if self.emitted.parallel:
            llvm.add_symbol(NAME, pool().address)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address = self._engine.get_function_address("from_words")
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)

    def problem(self, given: Mapping[str, Any], expected: Outcome | AssertionFailed) -> tuple[str, str] | None:
        """What is wrong when it runs on these arguments: the kind, and a sentence."""
        memory = {name: _Guarded(v) for name, v in given.items() if isinstance(v, np.ndarray)}
        status = int(self._entry(self._words(given, memory).ctypes.data))
        outside = [name for name, m in memory.items() if m.touched()]
        if outside:
            return "jit-writes-outside", f"machine code writes outside of {', '.join(outside)}"
        if isinstance(expected, AssertionFailed):
            message = self.emitted.asserts[status - 1] if 0 < status <= len(self.emitted.asserts) else None
            wanted = expected.message
            return None if message == wanted else ("jit-differs", f"status {status}: {message!r}, not {wanted!r}")
        if status:
            return "jit-differs", f"machine code ends with status {status}, the interpreter with results"
        for name, array in expected.arrays.items():
            found = memory[name].array
            wrong = np.argwhere(expected.defined[name] & ~same_bits(array, found))
            if len(wrong):
                k = tuple(int(x) for x in wrong[0])
                values = f"{name}{list(k)} is {found[k]!r}, by the interpreter {array[k]!r}"
                return "jit-differs", f"{values} ({len(wrong)} differ)"
        return None

    def _words(self, given: Mapping[str, Any], memory: Mapping[str, _Guarded]) -> npt.NDArray[np.uint64]:
        """The parameters of the kernel, each in a word."""
        values, offsets = _bound(self.func, given)
        words = np.zeros(max(1, len(self.emitted.parameters)), np.uint64)
        for k, p in enumerate(self.emitted.parameters):
            if isinstance(p.value, Buffer):
                words[k] = memory[p.name].address - offsets[p.value] * p.value.dtype.nbytes
            else:
                words[k] = word(p.value.dtype, values[p.value])
        return words


@final
class _Guarded:
    """A copy of an array with its strides, in memory of its own."""

    def __init__(self, array: Array) -> None:
        size = array.dtype.itemsize
        reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)] if array.size else []
        before, behind = -sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + size
        self._memory = np.full(2 * GUARD + 128 + before + behind, _PATTERN, np.uint8)
        start = GUARD + before
        start += (size - (self._memory.ctypes.data + start)) % 64  # aligned to its elements, and to no more
        self._start = start
        self._strides = array.strides
        self.array = self._view(self._memory, array)
        self.array[...] = array
        self.address = self._memory.ctypes.data + start

    def _view(self, memory: npt.NDArray[np.uint8], like: Array) -> Array:
        if not like.size:
            return np.zeros(like.shape, like.dtype)
        first = memory[self._start : self._start + like.dtype.itemsize].view(like.dtype)
        return np.lib.stride_tricks.as_strided(first, like.shape, self._strides)

    def touched(self) -> bool:
        """Whether a byte changed that belongs to no element."""
        own = np.zeros(len(self._memory), np.bool_)
        if self.array.size:
            bytes_of = np.lib.stride_tricks.as_strided(
                own[self._start :], (*self.array.shape, self.array.dtype.itemsize), (*self._strides, 1)
            )
            bytes_of[...] = True
        return bool(np.any((self._memory != _PATTERN) & ~own))


def _bound(func: PrimFunc, given: Mapping[str, Any]) -> tuple[dict[Var, Any], dict[Buffer, int]]:
    """The values of parameters and symbols, and where in its block each array begins, as the interpreter has them."""
    program = program_of(func)
    frame = Frame(Run())
    arrays = []
    for param, buffer in program.params:
        if buffer is None:
            frame.values[param] = scalar_argument(param, given[param.name])
        else:
            arrays.append((buffer, array_extents(buffer, given[buffer.name])))
    for symbol in program.symbols:
        if symbol.name in given and symbol not in frame.values:
            frame.values[symbol] = scalar_argument(symbol, given[symbol.name])
    bind_symbols(frame, program.symbols, arrays)
    offsets = {buffer: program.declarations[buffer](frame).offset for buffer, _ in arrays}
    return {v: 0 if x is UNDEF else x for v, x in frame.values.items()}, offsets


def trampoline(emitted: Emitted) -> str:
    """A function of one argument, an array of 64-bit words, that calls the kernel: ctypes has no float16."""
    lines = ["define i32 @from_words(ptr %words) {"]
    arguments = []
    for k, p in enumerate(emitted.parameters):
        lines.append(f"  %at{k} = getelementptr i64, ptr %words, i64 {k}")
        memory = "i8" if p.type == "i1" else p.type
        lines.append(f"  %raw{k} = load {memory}, ptr %at{k}")
        lines.append(f"  %x{k} = trunc i8 %raw{k} to i1" if p.type == "i1" else f"  %x{k} = freeze {memory} %raw{k}")
        arguments.append(f"{p.type} %x{k}")
    return "\n".join([*lines, f"  %r = call i32 @{KERNEL}({', '.join(arguments)})", "  ret i32 %r", "}", ""])


def word(dtype: DType, value: Any) -> int:
    """A scalar argument as the word that holds it."""
    if dtype.is_float:
        if dtype.bits < 32:
            return bits_of(dtype, float(value))
        return int.from_bytes(struct.pack("<f" if dtype.bits == 32 else "<d", float(value)), "little")
    return int(value) & (2**64 - 1)


VARIANTS: Final = ("host", "one thread", "three threads", "no fused operations", "baseline")
"""Variants of this machine, each of which runs here."""


def target_variant(name: str) -> Target:
    """A variant of this machine, by its name in :data:`VARIANTS`.

    ``"no fused operations"`` lacks fused multiply-add and the widest vectors; ``"baseline"`` is the oldest processor of
    the architecture, for which programs with float16 may have no machine code.

    :raises ValueError: for another name.
    """
    host = Target.host(threads=2)
    match name:
        case "host":
            return host
        case "one thread":
            return Target.host(threads=1)
        case "three threads":
            return Target.host(threads=3)
        case "no fused operations":
            lacking = ("+fma", "+avx512", "+avx10", "+amx", "+fullfp16", "+bf16")
            kept = [f"-{f[1:]}" if f.startswith(lacking) else f for f in host.features.split(",")]
            return Target(host.triple, host.cpu, ",".join(kept), threads=2)
        case "baseline":
            return Target(host.triple, "x86-64" if host.is_x86 else "generic", "", threads=2)
    raise ValueError(f"no variant is called {name}; there are {', '.join(VARIANTS)}")
