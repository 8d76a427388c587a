"""Another expression for what is stored, with the same value: what nobody would find, somebody may say."""

from __future__ import annotations

from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.node import IRError
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.schedule import codes
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.assume import function_of
from verified_tir.schedule.tactics.layout import find_buffer


def restate(session: Session, name: str | Buffer, value: Any) -> None:
    """Let the only store to a buffer store ``value`` of its indices; the kernel proves that it is what is stored now.

    :raises TacticFailed: if there is no store or there are several, or the values differ.
    """
    buffer, _ = find_buffer(session, name)
    stores = session.stores_to(buffer)
    if len(stores) != 1:
        raise fail(
            f"{buffer.name} is stored to in {len(stores)} places; restate is for one", code=codes.NOT_OF_THIS_FORM
        )
    path, store = stores[0]
    try:
        new = function_of(value, buffer)(*store.indices)
    except IRError as problem:
        raise fail(str(problem), path) from problem
    if new.dtype is not store.value.dtype:
        raise fail(
            f"{buffer.name} holds {store.value.dtype}, and the value given is {new.dtype}",
            path,
            code=codes.TYPES_DIFFER,
        )
    if new is not store.value:
        position = next(k for k, e in enumerate(expressions(store)) if e is store.value)
        session.apply(rewritten(path, (position,), new))
