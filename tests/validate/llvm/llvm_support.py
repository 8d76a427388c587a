"""Programs, the LLVM IR that the emitter writes for them, and what the optimiser makes of it."""

from __future__ import annotations

import re
from functools import cache

from verified_tir.codegen.compile import optimise
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.validate.llvm import LLVMReport, validate_llvm
from verified_tir.validate.verdict import Equal

TARGET = Target.host(threads=2)


@cache
def texts(func: PrimFunc) -> tuple[str, str]:
    """The emitter's text, and LLVM's after it was optimised as ``build`` does it."""
    text = emit(func, TARGET).text
    module, _ = optimise(text, TARGET)
    return text, str(module)


def program(parameters: str, body: str) -> PrimFunc:
    """A function of one line of parameters and some lines of statements."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return parse_func(f"@T.prim_func\ndef f({parameters}):\n{lines}\n")


def check(func: PrimFunc, **sizes: int) -> list[LLVMReport]:
    """Both texts are equal to the program, not vacuously."""
    found = []
    for text in texts(func):
        report = validate_llvm(func, text, sizes=sizes)
        assert isinstance(report.verdict, Equal) and not report.verdict.vacuous, f"{report.verdict}\n{text}"
        found.append(report)
    return found


def kernel(signature: str, *lines: str, more: str = "") -> str:
    """The text of a module whose kernel has one block."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"define i32 @vtir_kernel({signature}) {{\nentry:\n{body}\n  ret i32 0\n}}\n{more}"


def changed(text: str, old: str, new: str, *, count: int = 1) -> str:
    """The text with a pattern replaced, which must occur."""
    made, times = re.subn(old, new, text, count=count)
    assert times, f"{old} does not occur in\n{text}"
    return made
