"""read_at, write_at: a tile that is copied whenever an iteration of a loop begins, or copied back when it ends.

They are ``cache_read`` and ``cache_write`` in a loop; the block that copies is noted as ``auto_copy``, from which TVM's
lowering makes a cooperative copy.
"""

from __future__ import annotations

from verified_tir.ir.stmt import Block
from verified_tir.schedule.rule_builders import annotated
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.staging import cache_read, cache_write

NOTE = ("auto_copy", True)
"""What TVM notes at the block that copies."""


def copied_at(session: Session, loop: Handle, block: str, which: tuple[str, int], scope: str) -> str:
    """Copy a buffer of a block in each iteration of a loop; gives the name of the block that copies.

    :param which: ``("read", k)`` or ``("write", k)``.
    """
    kind, number = which
    if isinstance(number, bool) or not isinstance(number, int):
        raise fail(f"a buffer is given by its number among those that the block {kind}s, not by {number!r}")
    if not isinstance(scope, str):
        raise fail(f"a storage scope is a text such as 'shared', not {scope!r}")
    session.block(block)  # complains first about the block
    if kind == "read":
        name = cache_read(session, block, which, scope, loop).name
    else:
        name = f"{cache_write(session, block, which, scope, loop).name}_back"
    path, around = session.loop(loop)
    found = session.find(Block, lambda s: s.name == name, under=path)
    assert found, f"no block {name} in the loop over {around.var.name}"
    place, label = found[-1]
    session.apply(annotated(place, (*label.annotations, NOTE)))
    return name
