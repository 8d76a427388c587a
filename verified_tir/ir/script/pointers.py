"""Casts of pointers in the text: ``T.reinterpret("handle", A.data)``, ``T.Cast("float32x4", A.data)``.

The RFC on vectorized TIR lets a graph say that memory is seen as elements of another type by a cast of the pointer to
it.  A cast moves nothing, so what is cast is the block itself; how it is seen is said by the buffer that is declared
over it.
"""

from __future__ import annotations

from verified_tir.ir.dtype import HANDLE, DType, PointerType
from verified_tir.ir.expr import Broadcast, Call, Cast, Expr, Var
from verified_tir.ir.node import IRError


def block_of(value: object, want: DType | PointerType | None = None) -> Var | None:
    """The pointer below casts; ``None`` of anything else.

    :param want: the declared type of the name that the pointer gets, which may name another element type but no other
        scope.
    :raises IRError: if a cast names another element type than the declaration, or the declaration another scope.
    """
    while isinstance(value, (Cast, Call)):
        match value:
            case Cast(value=Broadcast(value=inner) | inner) if inner.dtype is HANDLE:
                if isinstance(want, PointerType) and value.dtype not in (HANDLE, want.element):
                    raise IRError(f"the cast gives a pointer to {value.dtype}, the name is declared for {want.element}")
                value = inner
            case Call(op="reinterpret", args=(Expr(dtype=found) as inner,)) if found is HANDLE:
                value = inner
            case _:
                return None
    if not isinstance(value, Var) or value.dtype is not HANDLE:
        return None
    scope = value.type.scope if isinstance(value.type, PointerType) else None
    if isinstance(want, PointerType) and scope is not None and want.scope != scope:
        raise IRError(f"a cast does not move memory: {value.name} points to the scope {scope}, not to {want.scope}")
    return value
