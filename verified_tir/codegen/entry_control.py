"""The processor's floating-point control register, which may have been changed by another library.

Results are IEEE-754's, rounded to nearest, with subnormals, only while the register says so; and while it does not
mask exceptions, an ordinary division by zero ends the process.

=========  ======  ==========================================================================
processor  name    bits that matter
=========  ======  ==========================================================================
x86-64     MXCSR   FTZ 15, rounding 13–14, exception masks 7–12 (to be set), DAZ 6
AArch64    FPCR    FZ 24, rounding 22–23, FZ16 19, trap enables 8–15
=========  ======  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from verified_tir.codegen.errors import CodegenError


@final
@dataclass(frozen=True, slots=True)
class Register:
    """How to read the register in LLVM IR, which bits matter, and what they must be."""

    name: str
    code: str
    mask: int
    usual: int
    flush: int
    rounding: int


_X86 = Register(
    "MXCSR",
    """  %control_cell = alloca i32
  call void asm sideeffect "stmxcsr $0", "=*m"(ptr elementtype(i32) %control_cell)
  %control = load i32, ptr %control_cell
""",
    mask=0xFFC0, usual=0x1F80, flush=0x8040, rounding=0x6000,
)  # fmt: skip
_AARCH64 = Register(
    "FPCR",
    """  %control_wide = call i64 asm sideeffect "mrs $0, fpcr", "=r"()
  %control = trunc i64 %control_wide to i32
""",
    mask=0x1C8FF00, usual=0, flush=0x1080000, rounding=0xC00000,
)  # fmt: skip


def register_of(triple: str) -> Register:
    """The register of a processor.

    :raises CodegenError: if that is not known.
    """
    if triple.startswith("x86_64"):
        return _X86
    if triple.startswith(("aarch64", "arm64")):
        return _AARCH64
    raise CodegenError(f"there is no entry for {triple}: how to read its floating-point control register is not known")


@final
@dataclass(frozen=True, slots=True)
class ControlRegister:
    """A register and a function that reads it."""

    register: Register
    read: Callable[[], int]

    def check(self) -> None:
        """:raises FloatingPointError: if results would not be IEEE-754's."""
        r = self.register
        wrong = (self.read() ^ r.usual) & r.mask
        if not wrong:
            return
        if wrong & r.flush:
            what = "subnormal numbers are flushed to zero"
        elif wrong & r.rounding:
            what = "floating-point operations do not round to nearest"
        else:
            what = "floating-point exceptions are trapped"
        raise FloatingPointError(
            f"{what} in this thread: its control register {r.name} was changed, by a library built with -ffast-math "
            "perhaps; restore it (torch.set_flush_denormal(False), fesetenv(FE_DFL_ENV)), or call from another thread"
        )
