"""MakePackedAPI: what the function says to its callers.

    T.func_attr({"global_symbol": "f", "calling_conv": 1})
    A_arg = T.decl_buffer((8,), "float32", data=A.data)
    … A_arg[i] …

The checks themselves (rank, shape, strides, dtype, alignment, overlap) are made by the entry that the code generator
puts in front of the kernel (``docs/how-to/build.md``); the logical shapes of the parameters, which it checks, stay as
they are.  This pass records the calling convention as attributes, under TVM's names, and declares every parameter that
is still accessed directly as a buffer over the pointer that is passed (RFC 63: "Buffer should be declared and then
``BufferLoad`` should be used").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.stmt import Annotations
from verified_tir.kernel.rules.scope import Declare
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.edits import moves_of, redirected
from verified_tir.schedule.rule_builders import with_attributes

PACKED = 1
"""TVM's ``CallingConv.C_PACKED_FUNC``."""


@final
@dataclass(frozen=True, repr=False)
class MakePackedAPI(Pass):
    """Record the calling convention, and access parameters through declared buffers.

    A second run changes nothing.  Parameters with strides of their own are accessed as they are.
    """

    def lower(self, work: Lowering) -> None:
        session = work.session
        known = dict(session.func.attrs)
        wanted: Annotations = (("global_symbol", session.func.name), ("calling_conv", PACKED))
        missing = tuple(pair for pair in wanted if pair[0] not in known)
        if not missing:
            return  # it was run before
        session.apply(with_attributes((*session.func.attrs, *missing)))
        for b in reversed(session.func.buffers):
            found = moves_of(session.func.body, b)
            if found and not b.strides:
                view = Buffer(f"{b.name}_arg", b.data, b.dtype, b.shape, (), b.elem_offset, b.axis_separators)
                session.apply(Declare((), view, True))
                session.apply(redirected((0,), b, view, found))
