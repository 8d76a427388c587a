"""A step costs what it changes: what is counted grows with the program as the program does, not as its square."""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir.ir.stmt import Stmt
from verified_tir.kernel.context import Context
from verified_tir.schedule.schedule import Schedule

NEST = """
    for i_{k} in T.parallel(16):
        with T.sblock("b_{k}"):
            v_{k} = T.axis.spatial(16, i_{k})
            B_{k}[v_{k}] = A_{k}[v_{k}] + T.float32(1)"""


def program(n: int) -> str:
    """``n`` marked nests side by side, over buffers of their own."""
    parameters = ", ".join(f'{x}_{k}: T.Buffer((16,), "float32")' for k in range(n) for x in "AB")
    return f"@T.prim_func\ndef f({parameters}):" + "".join(NEST.format(k=k) for k in range(n))


def walked_past(n: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """How many statements contexts walk past for a program, for one step on it, and what these started from."""
    executed: list[Stmt] = []
    kept: list[int] = []
    execute, ran = Context.execute, Context.ran

    def counted(self: Context, stmt: Stmt) -> None:
        executed.append(stmt)
        execute(self, stmt)

    def measured(self: Context, stmt: Stmt, *reached: Any, **after: Any) -> object:
        event = ran(self, stmt, *reached, **after)
        kept.append(len(event.memory))
        return event

    monkeypatch.setattr(Context, "execute", counted)
    monkeypatch.setattr(Context, "ran", measured)
    s = Schedule(program(n), cache=False)
    at_first = len(executed)
    s.split(f"i_{n // 2}", [None, 4])
    return at_first, len(executed) - at_first, max(kept)


def test_a_program_twice_as_long_is_twice_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        small = walked_past(10, patch)
    with monkeypatch.context() as patch:
        large = walked_past(20, patch)
    assert large[0] <= 2.2 * small[0] and large[1] <= 2.2 * small[1]
    assert large[2] == small[2] == 2, "a nest starts from the two blocks that it touches"
