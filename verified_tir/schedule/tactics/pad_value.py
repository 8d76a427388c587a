"""What padding holds, in all the forms in which it can be said, and the stage that writes it (RFC 77, "Defining Padded
Values" and "Enhancement - transform_layout").
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from verified_tir.index.box import Box, holds, model_values
from verified_tir.index.conditions import negate
from verified_tir.index.simplify import simplify
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, FloatImm, IntImm, Load, Undef, Var
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, If, Seq, Stmt, Store
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import nodes_of, rewrite, substitute, walk
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.logic.verdict import Proved, Refuted
from verified_tir.schedule import codes
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.captured import in_either_layout

# -- what was said -----------------------------------------------------------------------------------------------------


def element_value(value: Any, buffer: Buffer, what: str) -> Expr:
    """A number, ``T.undef()`` or an expression, as one of the type of the buffer's elements.

    :raises IRError: for another type, and for a number that the type does not hold.
    """
    dtype = buffer.dtype
    match value:
        case Undef():
            return Undef(dtype)
        case IntImm(value=x) | FloatImm(value=x):
            value = x
        case Expr():
            if value.dtype is not dtype:
                raise IRError(f"{what} has type {value.dtype}, the elements of {buffer.name} {dtype}")
            return value
    try:
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise TypeError("it is neither a number, an expression, T.undef() nor None")
        plain = value.item() if isinstance(value, (np.number, np.bool_)) else value
        made = const(plain, dtype)
    except (IRError, TypeError, ValueError, OverflowError) as problem:
        raise IRError(f"{what} ({dtype}) cannot be {value!r}: {problem}") from problem
    if isinstance(made, FloatImm) and math.isinf(made.value) and not math.isinf(float(plain)):
        raise IRError(f"{what} ({dtype}) cannot be {value!r}: it is out of range, and would round to {made.value}")
    return made


def called(function: Callable[..., Any], buffer: Buffer, layout: LayoutMap, new: Buffer) -> Any:
    """What a function of the new indices gives, over ``layout.inverse_inputs``.

    It may read the buffer itself: at new indices, as RFC 77 has it, or at old ones, if as many are given.  Where both
    are as many, they are the old ones; a function with one parameter more is given the transformed buffer (``new``
    stands for it).

    :raises IRError: if it takes another number of indices.
    """
    own = layout.inverse_inputs
    signature = inspect.signature(function)
    try:
        signature.bind(*own)
    except TypeError as problem:
        try:
            signature.bind(*own, new)
        except TypeError:
            raise IRError(
                f"the padding of {buffer.name} is a function of {len(own)} indices (and, if it wants to read it, the "
                f"transformed buffer): {problem}"
            ) from problem
        return in_either_layout(function, (*own, new), buffer, new)
    return in_either_layout(function, own, buffer, new)


def transformed(buffer: Buffer, layout: LayoutMap) -> Buffer:
    """What stands for the transformed buffer before there is one."""
    return Buffer.declare(buffer.name, layout.shape, buffer.dtype, scope=buffer.scope)


def _at_new_indices(value: Expr, buffer: Buffer, new: Buffer, layout: LayoutMap) -> Expr:
    """The value with reads of the buffer at x replaced by reads of the new one at φ(x), in a readable form."""
    box = Box(layout.inverse_inputs, layout.shape)

    def short(e: Expr) -> Expr:
        found = shorter(e, simplify(e, box.ranges))
        same = holds(box, found.equal(e), (*box.at_least_zero(), layout.padding))
        return found if isinstance(same, Proved) else e

    def moved(n: Node) -> Node | None:
        if not (isinstance(n, Load) and n.buffer is buffer):
            return None
        return Load(new, tuple(map(short, layout.apply(n.indices))))

    for n in walk(value):
        if isinstance(n, Load) and n.buffer is buffer:
            _reads_within(n, layout, buffer.shape, f"which lies outside of {buffer.name} as it is before the step")

    return rewrite(value, moved)


def shorter(e: Expr, other: Expr) -> Expr:
    """Of two expressions the one with less nodes, the first if they are alike."""
    return other if sum(1 for _ in walk(other)) < sum(1 for _ in walk(e)) else e


def _reads_an_element(load: Load, layout: LayoutMap) -> None:
    """That a read at new indices, made wherever there is padding, is of an element and of no padding."""
    inside = _reads_within(load, layout, layout.shape, "which lies outside of the new shape")
    there = dict(zip(layout.inverse_inputs, load.indices, strict=True))
    _everywhere(load, layout, (inside,), negate(substitute(layout.padding, there)), "which is padding itself")


def _reads_within(load: Load, layout: LayoutMap, shape: tuple[Expr, ...], problem: str) -> Expr:
    """That a read, made wherever there is padding, is in bounds; the condition for it."""
    if any(isinstance(n, Load) for i in load.indices for n in walk(i)) or load.dtype.lanes != 1:
        raise IRError(f"the padding reads {_text(load)}, at an index that depends on the contents of memory")
    inside = all_of([c for i, e in zip(load.indices, shape, strict=True) for c in (i >= 0, i < e)])
    _everywhere(load, layout, (), inside, problem)
    return inside


def _everywhere(load: Load, layout: LayoutMap, given: tuple[Expr, ...], claim: Expr, problem: str) -> None:
    """That a claim is true wherever there is padding.

    :raises IRError: if not, with a place; or if that could not be decided.
    """
    point = _counterexample(Box(layout.inverse_inputs, layout.shape), (layout.padding, *given), claim)
    if point is not None:
        at = ", ".join(f"{v.name} = {x}" for v, x in point.items())
        raise IRError(f"the padding reads {_text(load)}, {problem}{f' at {at}' if at else ''}")


def _text(e: Expr) -> str:
    from verified_tir.ir.script import script

    return script(e)


def _counterexample(box: Box, given: tuple[Expr, ...], claim: Expr) -> dict[Var, int] | None:
    """Where in the box the claim is false although the givens are true; empty if it could not be decided."""
    verdict = holds(box, claim, (*box.at_least_zero(), *given))
    if isinstance(verdict, Refuted):
        return model_values(verdict, [*box.vars, *box.symbols(claim, *given)])
    return None if isinstance(verdict, Proved) else {}


def pad_value(given: Any, layout: LayoutMap, buffer: Buffer, new: Buffer, path: Path) -> Expr | None:
    """The padding's value over the new indices, which may read ``new``; ``None`` where it may not be touched.

    :raises TacticFailed: if what was given is not a value for it.
    """
    try:
        value = called(given, buffer, layout, new) if callable(given) and not isinstance(given, Expr) else given
        if value is None:
            return None
        found = element_value(value, buffer, f"the padding of {buffer.name}")
        for n in walk(found):
            if isinstance(n, Load) and n.buffer is new:
                _reads_an_element(n, layout)
        found = _at_new_indices(found, buffer, new, layout)
    except IRError as problem:
        raise fail(str(problem), path, code=codes.PAD_VALUE) from problem
    other = next((n.buffer for n in nodes_of(found, Load) if n.buffer is not new), None)
    if other is not None:
        raise fail(
            f"the padding of {buffer.name} may not depend on another buffer, and {other.name} is read (RFC 77: the "
            "expression may only contain constants and the transformed buffer itself)",
            path,
            code=codes.PAD_VALUE,
        )
    return found


def reads_memory(value: Expr | None) -> bool:
    """Whether the value depends on the contents of the buffer."""
    return value is not None and bool(nodes_of(value, Load))


# -- the stage that writes it ------------------------------------------------------------------------------------------


def write_padding(session: Session, body: Path, new: Buffer, layout: LayoutMap, value: Expr | None) -> None:
    """Store the padding's value after the last statement that writes the buffer; before the first that uses it, if a
    local buffer is read nowhere later.

    :param body: the path of the statement in which the buffer is alive.
    :param value: over ``layout.inverse_inputs``.
    """
    if value is not None and not isinstance(value, Undef) and layout.padding is not FALSE:
        store_where(session, body, new, layout.inverse_inputs, layout.padding, value)


def store_where(
    session: Session, body: Path, buffer: Buffer, indices: tuple[Var, ...], predicate: Expr, value: Expr
) -> None:
    """A stage that stores a value to all elements under a predicate, behind the last store to the buffer."""
    fresh = {v: Var.fresh(v.name, v.dtype) for v in indices}
    nest: Stmt = Store(buffer, substitute(value, fresh), tuple(fresh.values()))
    nest = Block.label(_label(session, buffer), If(substitute(predicate, fresh), nest))
    for v, extent in reversed(list(zip(fresh.values(), buffer.shape, strict=True))):
        nest = For(v, const(0, v.dtype), extent, nest)
    place, where = after_last_store(session, body, buffer)
    session.apply(Insert(place, nest, "after" if where == "after" else "before"))


def after_last_store(session: Session, body: Path, buffer: Buffer) -> tuple[Path, str]:
    """Where a stage goes that completes a buffer: ``"after"`` its last store, or ``"before"`` its first use."""
    while isinstance(inside := session.stmt(body), (Allocate, DeclBuffer, AttrStmt, Block)):
        body = (*body, 0)
    stmts = inside.stmts if isinstance(inside, Seq) else (inside,)
    writers = [k for k, s in enumerate(stmts) if writes(s, buffer)]
    users = [k for k, s in enumerate(stmts) if any(n is buffer for n in walk(s))]
    consumed = not writers or users[-1] > writers[-1]  # otherwise it is read where it is written, and nowhere later
    after = bool(writers) and (consumed or buffer in session.func.buffers)
    position = writers[-1] if after else min(users, default=0)
    return ((*body, position) if isinstance(inside, Seq) else body), "after" if after else "before"


def _label(session: Session, buffer: Buffer) -> str:
    taken = session.block_names()
    return next(n for n in _names(f"{buffer.name}_padding") if n not in taken)


def _names(stem: str) -> Iterator[str]:
    yield stem
    k = 1
    while True:
        yield f"{stem}_{k}"
        k += 1


def of_buffer(value: Expr, stand_in: Buffer, new: Buffer) -> Expr:
    """The value with reads of what stood for a buffer replaced by reads of the buffer."""
    return rewrite(value, lambda n: Load(new, n.indices) if isinstance(n, Load) and n.buffer is stand_in else None)


def writes(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement stores to the buffer."""
    return any(isinstance(n, Store) and n.buffer is buffer for n in walk(stmt))


__all__ = [
    "after_last_store", "called", "element_value", "of_buffer", "pad_value", "reads_memory", "shorter",
    "store_where", "transformed", "write_padding",
]  # fmt: skip
