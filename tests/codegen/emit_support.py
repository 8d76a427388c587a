"""Compiles a function and calls it on numpy arrays, without the entry point: what the tests of the emitter share."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from tests.parts.compiled import trampoline, word
from verified_tir.codegen.compile import compile_llvm
from verified_tir.codegen.emit import emit
from verified_tir.codegen.pool import NAME, pool
from verified_tir.codegen.target import Target
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import run
from verified_tir.semantics.interpreter.outcome import Outcome, same_bits

Array = npt.NDArray[Any]

TARGET = Target.host(threads=2)


class Compiled:
    """Machine code of a function."""

    def __init__(self, func: PrimFunc, target: Target = TARGET) -> None:
        self.func = func
        self.emitted = emit(func, target)
        code = compile_llvm(self.emitted.text + trampoline(self.emitted), target)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine())
        if self.emitted.parallel:
            llvm.add_symbol(NAME, pool().address)
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self.engine.get_function_address("from_words"))

    def __call__(self, arguments: Mapping[str, Any]) -> int:
        """Call it on arrays (changed in place) and numbers by name; what it returns."""
        words = np.zeros(max(1, len(self.emitted.parameters)), np.uint64)
        for k, p in enumerate(self.emitted.parameters):
            given = arguments[p.name]
            if isinstance(p.value, Buffer):
                words[k] = given.ctypes.data
            else:
                assert isinstance(p.value, Var)
                words[k] = word(p.value.dtype, given)
        return int(self.entry(words.ctypes.data))


@cache
def compiled(func: PrimFunc) -> Compiled:
    return Compiled(func)


def symbols(func: PrimFunc, arguments: Mapping[str, Any]) -> dict[str, int]:
    """The shape symbols that stand alone as an extent, from the arrays."""
    found: dict[str, int] = {}
    for b in func.buffers:
        for extent, size in zip(b.shape, arguments[b.name].shape, strict=False):
            if isinstance(extent, Var):
                found[extent.name] = size
    return found


def check(program: str | PrimFunc, target: Target = TARGET, **arguments: Any) -> Outcome:
    """Run a program both ways: what the interpreter defines, machine code must give, bit for bit."""
    func = parse_func(program) if isinstance(program, str) else program
    expected = run(func, arguments)
    given = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    assert Compiled(func, target)({**symbols(func, given), **given}) == 0
    compare(expected, given)
    return expected


def compare(expected: Outcome, found: Mapping[str, Any]) -> None:
    """Assert that arrays hold what the interpreter says, where that is defined."""
    for name, array in expected.arrays.items():
        wrong = expected.defined[name] & ~same_bits(array, found[name])
        where = np.argwhere(wrong)
        assert not len(where), (
            f"{name}{where[0].tolist()} is {found[name][tuple(where[0])]!r}, should be {array[tuple(where[0])]!r} "
            f"({len(where)} differ)"
        )
