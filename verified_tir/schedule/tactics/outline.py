"""outline and inline: a part of the program becomes a function of its own, and a call its body again.

In the program a function's body stands under a label with the annotation ``call``; ``Schedule.module`` shows it as a
function that is called.  Nothing is owed for a label; that the program can be written as a module is tried at once.
"""

from __future__ import annotations

from verified_tir.elaborate.calls import CALL
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Seq
from verified_tir.schedule import codes
from verified_tir.schedule.functions import assumes, called_function, outlined
from verified_tir.schedule.rule_builders import annotated, labelled, unwrapped
from verified_tir.schedule.session import Handle, Session, fail


def outline(session: Session, place: Handle, name: str) -> str:
    """Make a block, or the nest of a loop, the body of a function; gives the function's name.

    Assumptions that stand right before it become the function's: what it needs from its callers.
    """
    path = session.place(place)
    if not name.isidentifier():
        raise fail(f"{name!r} is not a name of a function", path, code=codes.WRONG_ARGUMENT)
    if name == session.func.name or session.has_block(name):
        raise fail(
            f"there is a block or function called {name!r} already; give another name", path, code=codes.NAME_IS_TAKEN
        )
    count = 1
    around = session.stmt(path[:-1]) if path else None
    if isinstance(around, Seq):
        while path[-1] > 0 and assumes(around.stmts[path[-1] - 1]):
            path, count = (*path[:-1], path[-1] - 1), count + 1
    session.apply(labelled(path, name, count))
    if isinstance(around, Seq) and count == len(around.stmts):
        path = path[:-1]
    session.apply(annotated(path, ((CALL, name),)))
    try:
        outlined(session.func)
    except IRError as problem:
        raise fail(str(problem), path) from problem
    return name


def inline(session: Session, name: str) -> None:
    """A function's body is a part of the program again."""
    path, block = session.block(name)
    if called_function(block) is None:
        raise fail(f"block {name} is not a function's body", path, code=codes.INTRINSIC_DOES_NOT_FIT)
    session.apply(unwrapped(path))


__all__ = ["inline", "outline"]
