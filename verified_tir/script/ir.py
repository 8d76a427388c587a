"""The namespace ``I``: modules of functions."""

from __future__ import annotations

from verified_tir.ir.func import IRModule, PrimFunc

__all__ = ["ir_module"]


def ir_module(cls: type) -> IRModule:
    """The functions of a class body, in its order, as a module.

    Functions call each other as ``Module.name(…)``.
    """
    return IRModule(tuple((name, f) for name, f in vars(cls).items() if isinstance(f, PrimFunc)))
