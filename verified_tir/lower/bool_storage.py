"""BoolStorage: bool buffers are kept as bytes (seed of the project: "Having explicit pointer casts would also simplify
the handling of boolean arrays").

    b = T.alloc_buffer((4,), "bool")               b_bytes = T.alloc_buffer((4,), "int8")
    b[0] = x < y                          ⟶        b_bytes[0] = T.Cast("int8", x < y)
    if b[0]: …                                      if T.Cast("bool", b_bytes[0]): …

A parameter stays a bool array, which is the calling convention; a view of bytes carries the accesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Load
from verified_tir.ir.stmt import Allocate, Stmt, Store
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.retype import BoolBytes
from verified_tir.lower.passes import Lowering, Pass


@final
@dataclass(frozen=True, repr=False)
class BoolStorage(Pass):
    """Keep the elements of bool buffers as ``int8``; one that has other views is refused."""

    def lower(self, work: Lowering) -> None:
        session = work.session
        accessed = {n.buffer for n in walk(session.func.body) if isinstance(n, (Load, Store))}
        for param in reversed(session.func.params):
            buffer = session.func.buffer_of(param)
            if buffer is not None and buffer.dtype.is_bool and buffer in accessed:
                session.apply(BoolBytes((), param))
        work.each(_is_bool, lambda path, _: session.apply(BoolBytes(path)))


def _is_bool(stmt: Stmt) -> bool:
    return isinstance(stmt, Allocate) and stmt.buffer.dtype.is_bool
