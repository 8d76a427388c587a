"""Expressions of notes of primitives (:mod:`verified_tir.schedule.recording`) as text, and back.

Beside the text stands what its names mean: its own index variables with their types, loops by their place in the
program, symbols by their name, buffers by their position.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import at
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import Evaluate, For, Seq, Stmt
from verified_tir.ir.visit import free_vars, nodes_of, refresh_binders, rewrite, substitute
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.layout import find_symbol


class Unrecordable(Exception):
    """An argument that cannot be noted, or a note that fits no argument; the message says which and why."""


def variable_noted(session: Session, var: Var) -> dict[str, Any]:
    """A loop by its place; else a symbol by its name."""
    loop = session.current(var)
    path = loop_path(session.func, loop)
    if path is not None:
        return {"loop": list(path), "name": loop.name}
    if find_symbol(session, var.name) is var:
        return {"symbol": var.name}
    raise Unrecordable(f"{var.name} is neither a loop nor a symbol of the program")


def variable_meant(session: Session, noted: Mapping[str, Any]) -> Var:
    match noted:
        case {"symbol": str(name), **rest} if not rest:
            return find_symbol(session, name)
        case {"loop": list(path), "name": str(name), **rest} if not rest:
            loop = at(session.func.body, tuple(path))
            if not isinstance(loop, For):
                raise Unrecordable(f"there is no loop at {tuple(path)}, where one over {name} should be")
            return loop.var
    raise Unrecordable(f"{noted!r} is not a variable")


def expressions_noted(
    session: Session, own: Sequence[Var], exprs: Sequence[Expr], new: Buffer | None = None
) -> dict[str, Any]:
    """Expressions over index variables ``own``, and over loops, symbols and buffers of the program, as text.

    :param new: a buffer that is not there yet, the transformed one.
    """
    loads = dict.fromkeys(n.buffer for e in exprs for n in nodes_of(e, Load))
    known = {b.data for b in loads} | {v for b in loads for v in _shape_vars(b)}
    others = dict.fromkeys(v for e in exprs for v in free_vars(e) if v not in own and v not in known)
    others |= dict.fromkeys(v for e in exprs for n in nodes_of(e, Load) for i in n.indices
                            for v in free_vars(i) if v not in own)  # fmt: skip
    names = _names([*own, *others], taken={b.name for b in loads})
    found: dict[str, Any] = {"of": [[names[v].name, str(v.dtype)] for v in own]}
    if others:
        found["where"] = {names[v].name: variable_noted(session, v) for v in others}
    if loads:
        found["buffers"] = {b.name: _rank(b) if b is new else _positioned(session, b) for b in loads}
        if len(found["buffers"]) < len(loads):
            raise Unrecordable("an expression reads two buffers of one name")
    found["text"] = [script(substitute(e, names)) for e in exprs]
    again = expressions_meant(session, found, own, new)
    if not all(structural_equal(a, b) for a, b in zip(exprs, again, strict=True)):
        raise Unrecordable(f"{', '.join(found['text'])} does not read back as the same expression")
    return found


def _shape_vars(buffer: Buffer) -> set[Var]:
    """Variables that an access needs to know its address, which are not written where it stands."""
    return {v for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for v in free_vars(e)}


def _rank(buffer: Buffer) -> dict[str, Any]:
    return {"rank": len(buffer.shape), "dtype": str(buffer.dtype)}


def _positioned(session: Session, buffer: Buffer) -> int:
    for k, b in enumerate(session.buffers):
        if b is buffer:
            return k
    raise Unrecordable(f"{buffer.name} is neither a parameter nor an allocated buffer")


def _names(variables: Sequence[Var], taken: set[str]) -> dict[Var, Var]:
    """Each variable with one whose name is its own in the text."""
    taken = {*taken, "T"}
    found: dict[Var, Var] = {}
    for v in variables:
        plain = v.name if v.name.isidentifier() and not keyword.iskeyword(v.name) else "v"
        name, k = plain, 0
        while name in taken:
            name, k = f"{plain}_{k}", k + 1
        taken.add(name)
        found[v] = v if name == v.name else Var.fresh(name, v.dtype)
    return found


def expressions_meant(
    session: Session, texts: Mapping[str, Any], own: Sequence[Var], new: Buffer | None = None
) -> tuple[Expr, ...]:
    """Texts as expressions: read as the statements of a function whose parameters are all the names in them."""
    variables: dict[str, Var] = dict(zip([name for name, _ in texts["of"]], own, strict=True))
    variables |= {name: variable_meant(session, v) for name, v in texts.get("where", {}).items()}
    buffers = {name: _read(session.buffers, b, new) for name, b in texts.get("buffers", {}).items()}
    params = [f"{name}: T.{v.dtype}" for name, v in variables.items()]
    params += [f'{name}: T.Buffer({_ones(b)}, "{b.dtype}")' for name, b in buffers.items()]
    if not texts["text"]:  # the map of a buffer of rank 0
        return ()
    lines = [f"    T.evaluate({text})" for text in texts["text"]]
    func = _parsed("\n".join(["@T.prim_func", f"def noted({', '.join(params)}):", *lines]))
    stmts: tuple[Stmt, ...] = func.body.stmts if isinstance(func.body, Seq) else (func.body,)
    if len(stmts) != len(texts["text"]):
        raise Unrecordable(f"{texts['text']!r} are not expressions")
    scalars = [p for p in func.params if func.buffer_of(p) is None]
    actual: dict[Var, Expr] = dict(zip(scalars, variables.values(), strict=True))
    placed = dict(zip(func.buffers, buffers.values(), strict=True))

    def moved(n: Node) -> Node | None:
        return Load(placed[n.buffer], n.indices) if isinstance(n, Load) and n.buffer in placed else None

    found: list[Expr] = []
    for s in stmts:
        if not isinstance(s, Evaluate):
            raise Unrecordable(f"{script(s)} is not an expression")
        found.append(refresh_binders(substitute(rewrite(s.value, moved), actual))[0])  # the text may be read again
    return tuple(found)


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> PrimFunc:
    """A schedule for each program of a model: the same few maps are noted hundreds of times."""
    return parse_func(text)


def _read(everything: Sequence[Buffer], where: int | Mapping[str, Any], new: Buffer | None) -> Buffer:
    if isinstance(where, int):
        return everything[where]
    if new is None or _rank(new) != dict(where):
        raise Unrecordable(f"the transformed buffer is not one of {where}")
    return new


def _ones(buffer: Buffer) -> str:
    return f"({', '.join('1' for _ in buffer.shape)}{',' if len(buffer.shape) == 1 else ''})"
