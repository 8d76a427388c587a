"""Loops for the pool of threads, in LLVM IR: nothing is proved of them, so a process that tests one starts soon."""

from __future__ import annotations

import ctypes
from typing import Any, Final, final

import llvmlite.binding as llvm
import numpy as np

from verified_tir.codegen.pool import pool
from verified_tir.codegen.target import Target

PART: Final = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL: Final = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)

_TEXT: Final = """
define i32 @integers(ptr %b, i64 %low, i64 %high) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %low, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %b, i64 %i
  %old = load i32, ptr %at
  %three = mul i32 %old, 3
  %number = trunc i64 %i to i32
  %new = add i32 %three, %number
  store i32 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp ne i64 %next, %high
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}

define i32 @halves(ptr %b, i64 %low, i64 %high) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %low, %entry ], [ %next, %loop ]
  %at = getelementptr float, ptr %b, i64 %i
  %old = load float, ptr %at
  %new = fmul float %old, 0.5
  store float %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp ne i64 %next, %high
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}
"""


@final
class Loops:
    """Loops over an array: ``integers`` (``b = 3 * b + i``, int32) and ``halves`` (``b = 0.5 * b``, float32)."""

    def __init__(self) -> None:
        Target.host(1).machine()
        builder = llvm.JITLibraryBuilder().add_ir(_TEXT).export_symbol("integers").export_symbol("halves")
        self._session = llvm.create_lljit_compiler(use_jit_link=True)
        self._library = builder.link(self._session, "loops")

    def run(self, name: str, array: Any, threads: int) -> None:
        """Run one of them over an array, on up to so many threads."""
        status = parallel(self._library[name], array.ctypes.data, 0, len(array), threads)
        assert status == 0

    def assert_right(self, n: int, times: int, threads: int = 4) -> None:
        """Run ``integers`` again and again, and look at the results."""
        steps, b, wanted = np.arange(n, dtype=np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
        for _ in range(times):
            self.run("integers", b, threads)
            wanted = wanted * 3 + steps
        assert (b == wanted).all()


def parallel(part: Any, context: int, first: int, extent: int, threads: int) -> int:
    """Call ``vtir_parallel``; ``part`` is an address, or a function of :data:`PART`."""
    address = part if isinstance(part, int) else ctypes.cast(part, ctypes.c_void_p).value
    return int(_PARALLEL(_ADDRESS)(address, context, first, extent, threads))


_ADDRESS: Final = pool().address
