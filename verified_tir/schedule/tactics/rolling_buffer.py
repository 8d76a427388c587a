"""rolling_buffer: a buffer of which a few rows are alive at a time would be kept in so many rows, used in turn.

    for t:                                         for t:
        for a in range(6):                             for a in range(6):
            B[4*t + a] = …                                 if t < 1 or a >= 2:
        for b in range(4):               ⟶                     B[(4*t + a) % 6] = …
            C[4*t + b] = … B[4*t + b + k]              for b in range(4):
                                                           C[4*t + b] = … B[(4*t + b + k) % 6]

Two rules are missing in the kernel: a data refinement (``couple``) that lets two elements share a place if the first is
dead when the second is stored; and the reverse of ``recompute``, which removes the second computation of a row where
that is more than one store (``erase`` removes stores of values that are known to be there, and of sums no value is
known).  So the primitive is refused; this file says what stands in the way, and what to do.
"""

from __future__ import annotations

from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.layout import buffer_in


def refuse(session: Session, block: str, number: int) -> None:
    """Say why a buffer is not rolled.

    :raises TacticFailed: always.
    """
    if isinstance(number, bool) or not isinstance(number, int):
        raise fail(f"a buffer is given by its number among those that the block writes, not by {number!r}")
    path, _ = session.block(block)
    buffer = buffer_in(session, block, ("write", number))
    if session.allocation(buffer) is None:
        raise fail(f"{buffer.name} is a parameter; only a local buffer can be rolled", path)
    raise fail(
        f"{buffer.name} cannot be kept in a window of its rows: no rule lets an element take the place of another one "
        "that is not read any more. Use compute_at, after which each iteration has a buffer of what it reads", path,
    )  # fmt: skip
