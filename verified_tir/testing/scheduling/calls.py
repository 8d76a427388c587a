"""Calls of the primitives about functions: blocks around nests, intrinsics, outlining and inlining.

The descriptions of intrinsics are parts of the program itself, outlined from a copy of the schedule, so that they fit;
or the same with something changed, so that they do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import functions
from verified_tir.testing.scheduling.inventory import Inventory, call, quoted
from verified_tir.testing.scheduling.step import writes

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

CHANGES = ((" + ", " - "), (" * ", " + "), ("T.max", "T.min"), ("0", "1"), ("[i", "[1 + i"), (" < ", " <= "))
"""What is changed in a description that shall not fit; the first that occurs."""
_PLACE = {
    a: re.compile(rf"\b{a}\b" if a.isalnum() else re.escape(a)) for a, _ in CHANGES
}  # a number, not part of a name
STEPS = ("", "", "lambda d: d.simplify()", "lambda d: d.split(d.loops()[0], [None, 2])",
         "lambda d: d.parallel(d.loops()[0])", "lambda d: d.unroll(d.loops()[-1])",
         "lambda d: d.reorder(*d.loops()[1::-1])", "lambda d: d.vectorize(d.loops()[-1])")  # fmt: skip
"""How an intrinsic is carried out."""


def steps_for(text: str) -> tuple[str, ...]:
    """Those that name loops only for a description that has some."""
    return STEPS if " in range(" in text or " in T." in text else tuple(s for s in STEPS if "loops()" not in s)


def scratch(schedule: Schedule) -> Schedule:
    """A schedule that stands where this one stands; what is done to it leaves this one alone."""
    import copy

    from verified_tir.schedule.session import Session

    other = copy.copy(schedule)
    other._session = Session(schedule.theorem, schedule._session.prover)
    other._records = list(schedule._records)
    return other


def outlined(inventory: Inventory, where: str, name: str) -> str | None:
    """The text of the function that a loop or block would be, or ``None`` if it cannot be one."""
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.testing.scheduling.step import Step

    other = scratch(inventory.schedule)
    try:
        Step("outline", f"s.outline({where}, {quoted(name)})").apply(other)
        return script(other.module[name])
    except (ScheduleError, IRError):
        return None


def changed(text: str, pick: Choices) -> str:
    """The same function with something else in it, as far as it then is a function: slices may come to nothing."""
    head, _, body = text.partition("):\n")
    changes = [(_PLACE[a], b) for a, b in CHANGES if _PLACE[a].search(body)]
    if not changes:
        return text
    place, new = pick.one(changes)
    made = f"{head}):\n{place.sub(new, body, count=1)}"
    try:
        parse_func(made)
    except IRError:
        return text
    return made


def as_literal(text: str) -> str:
    """A function's text as a string in a call."""
    lines = [line for line in text.strip().split("\n") if not line.startswith("#")]
    return '"""\n' + "\n".join(lines).strip().replace("\\", "\\\\") + '\n"""'


@writes("blockize")
def blockize(inventory: Inventory, pick: Choices) -> str:
    return call("blockize", inventory.loop(pick), name="" if not pick.chance(3) else quoted(inventory.fresh("b")))


@writes("outline")
def outline(inventory: Inventory, pick: Choices) -> str:
    return call("outline", inventory.place(pick), quoted(inventory.fresh("g")))


@writes("inline")
def inline(inventory: Inventory, pick: Choices) -> str:
    names = functions(inventory)
    return call("inline", quoted(pick.one(names)) if names and not pick.chance(12) else inventory.block(pick)[0])


@writes("refine_call")
def refine_call(inventory: Inventory, pick: Choices) -> str:
    names = functions(inventory)
    if not names or pick.chance(20):
        return call("refine_call", inventory.block(pick)[0], f"Schedule({as_literal(NOTHING)})")
    name = pick.one(names)
    steps = pick.one(_steps(inventory.schedule.module[name])[2:])
    lines = [f"half = Schedule(s.module[{quoted(name)}])", f"({steps})(half)", f's.refine_call("{name}", half)']
    return "\n".join(lines)


def _steps(func: PrimFunc) -> tuple[str, ...]:
    """Steps for a function: it may have no loop."""
    return STEPS if any(isinstance(n, For) for n in walk(func.body)) else STEPS[:3]


NOTHING = '@T.prim_func\ndef g(A: T.Buffer((2,), "int32")):\n    A[0] = 1'


@writes("assume_precondition")
def assume_precondition(inventory: Inventory, pick: Choices) -> str:
    names = functions(inventory)
    name = pick.one(names) if names else None
    if name is None:
        return call("assume_precondition", inventory.block(pick)[0], as_literal(NOTHING))
    from verified_tir.ir.script import script

    head, _, body = script(inventory.schedule.module[name]).partition("):\n")
    claim = pick.one(("True", "1 < 2", "2 < 1"))
    return call("assume_precondition", quoted(name), as_literal(f"{head}):\n    T.assume({claim})\n{body}"))


@writes("tensorize")
def tensorize(inventory: Inventory, pick: Choices) -> str:
    where = inventory.place(pick)
    name = inventory.fresh("intrin")
    text = outlined(inventory, where, name)
    if text is None or pick.chance(20):
        return call("tensorize", where, '"no such intrinsic"')
    if pick.chance(4):
        text = changed(text, pick)
    steps = pick.one(steps_for(text))
    return call(
        "tensorize", where, f"TensorIntrin.of({quoted(name)}, {as_literal(text)}{', ' if steps else ''}{steps})"
    )
