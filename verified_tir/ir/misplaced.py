"""Where a program is not well-formed, and what to do: for people.  Whether it is, ``wellformed`` says."""

from __future__ import annotations

from collections.abc import Callable, Collection

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, places
from verified_tir.ir.script.device import DEVICE_SCOPE
from verified_tir.ir.script.placed import plain_part
from verified_tir.ir.stmt import Stmt
from verified_tir.ir.visit import bound_vars, nodes_of, sub_statements
from verified_tir.ir.wellformed import Name, declares, needed, problems


def misplaced(func: PrimFunc) -> tuple[Path, str] | None:
    """Where and why the function is not well-formed; ``None`` if it is."""
    name, why = next(problems(func), (None, ""))
    if name is None:
        return None
    if isinstance(name, Buffer) and why.endswith("not a block here"):
        head = f"{name.name} = T.match_buffer({name.data.name}, shape, dtype)"
        why += "; declare it over a buffer's own data, or say at the head of the function what it points to: " + head
    return _place(func, name), _not_followed(name) or why


def _not_followed(name: Name) -> str:
    """What a text says that is read and printed, and has no meaning; the empty string if the name does not belong to
    such a thing."""
    if isinstance(name, Buffer) and name.elem_offset is not plain_part(name.elem_offset):
        return (
            f"where the elements of {name.name} lie, its layout or its address says, which nothing here follows; "
            "declare it with strides, or leave layout= and allocated_addr= out"
        )
    if isinstance(name, Var) and isinstance(name.type, PointerType) and name.type.scope == DEVICE_SCOPE:
        return (
            "what the threads of a device do together has no meaning here (T.device_entry, T.thread_id and the like, "
            "operations on tiles); write loops: over the threads, T.thread_binding, and over the elements of a tile"
        )
    return ""


def _place(func: PrimFunc, name: Name) -> Path:
    """The last, innermost statement that uses a name out of its scope; else the one that declares or binds it."""
    if name in func.buffers:
        return ()
    outer = {*func.params, *[v for b in func.buffers for v in nodes_of(b, Var)]}
    if name in needed(func.body) and name not in outer:
        return _innermost(func.body, name, needed)
    if isinstance(name, Buffer):
        return next((path for path, _ in places(func.body, lambda s: name in declares(s))), ())  # or in an attribute
    return _innermost(func.body, name, bound_vars)


def _innermost(stmt: Stmt, name: Name, names: Callable[[Stmt], Collection[Name]]) -> Path:
    """The place of the last, innermost statement that has a name among its ``names``."""
    subs = sub_statements(stmt)
    for k in range(len(subs) - 1, -1, -1):
        if name in names(subs[k]):
            return (k, *_innermost(subs[k], name, names))
    return ()
