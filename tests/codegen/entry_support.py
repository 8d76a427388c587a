"""Entries around a kernel that only notes its arguments, so that they are tested apart from code generation."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from verified_tir import parse_func
from verified_tir.codegen import runtime
from verified_tir.codegen.compile import compile_llvm
from verified_tir.codegen.entry_check import Arguments, check
from verified_tir.codegen.entry_control import ControlRegister, register_of
from verified_tir.codegen.entry_plan import EntryPlan, entry_plan
from verified_tir.codegen.entry_table import kernel_types
from verified_tir.codegen.entry_text import entry_text
from verified_tir.codegen.runtime_load import LoadedCode
from verified_tir.codegen.target import Target
from verified_tir.kernel.theorem import Refines, reflexive


class Recorder:
    """A function whose kernel writes its arguments, as 64-bit words, to ``seen``, and gives ``status`` back."""

    def __init__(self, program: str | Refines, asserts: tuple[str, ...] = ("first", "second")) -> None:
        theorem = reflexive(parse_func(program)) if isinstance(program, str) else program
        self.plan: EntryPlan = entry_plan(theorem)
        self.target = Target.host(1)
        self.count = len(kernel_types(self.plan))
        self.memory = (ctypes.c_uint64 * (self.count + 2))()
        self.text = self.kernel() + entry_text(self.plan, self.target.triple)
        self.code = LoadedCode(compile_llvm(self.text, self.target))
        self.control = ControlRegister(register_of(self.target.triple), self.code.control)
        self.function: Any = runtime.function(theorem, self.plan, self.target, self.code, asserts, _NoTexts())

    def kernel(self) -> str:
        base = ctypes.addressof(self.memory)
        types = kernel_types(self.plan)
        lines = [f"define i32 @vtir_kernel({', '.join(f'{t} %p{k}' for k, t in enumerate(types))}) {{"]
        for k, t in enumerate(types):
            place = f"ptr inttoptr (i64 {base + 8 * k} to ptr)"
            lines += [f"  store i64 0, {place}"]
            if t == "i1":
                lines += [f"  %b{k} = zext i1 %p{k} to i8", f"  store i8 %b{k}, {place}"]
            else:
                lines += [f"  store {t} %p{k}, {place}"]
        calls, status = (f"ptr inttoptr (i64 {base + 8 * (self.count + k)} to ptr)" for k in (0, 1))
        lines += [f"  %n = load i64, {calls}", "  %m = add i64 %n, 1", f"  store i64 %m, {calls}"]
        return "\n".join([*lines, f"  %s = load i32, {status}", "  ret i32 %s", "}", ""])

    @property
    def seen(self) -> list[int]:
        return list(self.memory)[: self.count]

    @property
    def calls(self) -> int:
        return self.memory[self.count]

    def ends_with(self, status: int) -> None:
        self.memory[self.count + 1] = status & 0xFFFFFFFF

    def check(self, *args: object) -> Arguments:
        """The check in Python, alone."""
        return check(self.plan, args, self.control)

    def __call__(self, *args: object, **named: object) -> None:
        self.function(*args, **named)


class _NoTexts:
    llvm_ir = ""
    asm = ""


class SlowCalls:
    """Counts the calls that the compiled entry hands to the check in Python."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original: Callable[..., Arguments] = check

        def counting(*args: Any) -> Arguments:
            self.count += 1
            return original(*args)

        monkeypatch.setattr(runtime, "check", counting)


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> SlowCalls:
    return SlowCalls(monkeypatch)
