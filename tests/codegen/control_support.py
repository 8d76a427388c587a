"""Sets the floating-point control register of a thread, as another library might."""

from __future__ import annotations

import ctypes
from typing import Any, Final, final

import llvmlite.binding as llvm

from verified_tir.codegen.target import initialize

_TEXT: Final = """
define void @set_control(i32 %value) {
  %cell = alloca i32
  store i32 %value, ptr %cell
  call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) %cell)
  ret void
}
"""


@final
class SetControl:
    """Called with a value, it sets the register MXCSR of the thread that calls it."""

    def __init__(self) -> None:
        initialize()
        self._session = llvm.create_lljit_compiler(use_jit_link=True)
        builder = llvm.JITLibraryBuilder().add_ir(_TEXT).export_symbol("set_control")
        self._library: Any = builder.link(self._session, "control")
        self._set = ctypes.PYFUNCTYPE(None, ctypes.c_uint32)(self._library["set_control"])

    def __call__(self, value: int) -> None:
        self._set(value)
