"""``memory(…)``: which memory a function, and all that it calls, may read and write.

What a program can see is reached by addresses computed from arguments (``argmem``), or by others.  Of an address it is
not always known which: what is loaded from memory may have been an argument once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, final

from verified_tir.validate.llvm.sources import has_address, held, sources_of
from verified_tir.validate.llvm.syntax import POINTER, Effects, Function, Instruction, Register
from verified_tir.validate.memory import Refused

if TYPE_CHECKING:
    from verified_tir.validate.llvm.code import Registers, Step
    from verified_tir.validate.llvm.machine import Machine

ARGUMENT, OTHER, EITHER = 0, 1, 2
"""What an address is computed from."""
HEAP: Final = frozenset({"malloc", "aligned_alloc"})
_INVISIBLE: Final = frozenset({"inaccessiblemem", "errnomem", "target_mem0", "target_mem1"})
_SOMETHING: Final = Register(POINTER, "")
Bar: TypeAlias = tuple[int, int]
"""Blocks up to the first number may not be accessed, and perhaps not those up to the second."""
Limits: TypeAlias = tuple[Bar, Bar]
"""Of reading and of writing."""


def allowed(effects: Iterable[str]) -> Effects:
    """What all of some ``memory(…)`` allow; a place that one does not mention has what it says of no place."""
    reads, writes = [True, True], [True, True]
    for effect in effects:
        parts = [part.rpartition(":") for part in effect.split(",")]
        ways = {place.strip(): how.strip() for place, _, how in parts}
        unknown = ways.keys() - _INVISIBLE - {"", "argmem"}
        if unknown:
            raise Refused(f"LLVM IR: memory({effect}) of a function")
        general = ways.get("", "none")
        for k, how in enumerate((ways.get("argmem", general), general)):
            reads[k] &= how in ("read", "readwrite")
            writes[k] &= how in ("write", "readwrite")
    return Effects((reads[0], reads[1]), (writes[0], writes[1]))


@final
@dataclass(frozen=True, slots=True)
class Bars:
    """What the functions that run may not access, by what an address in the innermost one is computed from."""

    argument: Limits = ((0, 0), (0, 0))
    other: Limits = ((0, 0), (0, 0))

    def of(self, way: int) -> Limits:
        if way == EITHER and self.argument != self.other:
            (a, b), (c, d) = self.argument, self.other
            return _either(a, c), _either(b, d)
        return self.other if way == OTHER else self.argument

    def inside(self, way: int, effects: Effects, first: int) -> Bars:
        """In a function that is called with addresses of one way, when there are ``first`` blocks."""
        found = []
        for k, (read, write) in enumerate((self.of(way), self.of(EITHER))):
            found.append((_least(read, effects.reads[k], first), _least(write, effects.writes[k], first)))
        return Bars(*found)


def _either(a: Bar, b: Bar) -> Bar:
    return min(a[0], b[0]), max(a[1], b[1])


def _least(bar: Bar, allows: bool, first: int) -> Bar:
    return bar if allows else (first, first)


@final
class Ways:
    """What the addresses in a function are computed from, if that makes a difference."""

    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        effects = function.effects
        self.matters = effects.reads[0] != effects.reads[1] or effects.writes[0] != effects.writes[1]
        self._argument, self._other = _origins(function, functions) if self.matters else (set[str](), set[str]())

    def confined(self, machine: Machine, i: Instruction, step: Step) -> Step:
        """The step of an instruction, held to what may be accessed by way of its addresses."""
        if not self.matters or i.opcode not in ("load", "store", "call"):
            return step
        operands = [o for o in i.operands if isinstance(o, Register)]
        if any(not has_address(o.type) and o.name in self._argument for o in operands):
            return _handed_on(i)
        taken = operands[-1:] if i.opcode == "store" and isinstance(i.operands[-1], Register) else operands
        names = {o.name for o in taken if has_address(o.type)}
        other = not names.isdisjoint(self._other)
        way = (EITHER if other else ARGUMENT) if not names.isdisjoint(self._argument) else OTHER
        blocks = machine.blocks

        def run(r: Registers) -> None:
            blocks.unread, blocks.unwritten = machine.bars.of(way)
            machine.way = way
            try:
                step(r)
            finally:
                machine.way = EITHER

        return run


def _handed_on(i: Instruction) -> Callable[[Registers], None]:
    def run(_: Registers) -> None:
        raise Refused(f"LLVM IR: an address is handed on as a number where memory(…) matters: {i.text[:120]}")

    return run


def _origins(function: Function, functions: Mapping[str, Function]) -> tuple[set[str], set[str]]:
    """The registers that may be computed from the function's arguments, and from something that was not made in it."""
    code = [i for block in function.blocks.values() for i in (*block.phis, *block.body) if i.result is not None]
    made = {i.result: () for i in code if i.opcode == "alloca" or (i.opcode == "call" and i.word in HEAP)}
    found = {i.result for i in code if has_address(i.type) and i.opcode in ("load", "call", "inttoptr")} - made.keys()
    sources = {
        name: [o for o in known if isinstance(o, Register)] for name, known in sources_of(function, functions).items()
    }
    sources.update({name: [_SOMETHING] for name in found if name is not None})
    sources.update({name: [] for name in made if name is not None})
    given = {p.name for p in function.parameters if has_address(p.type)}
    return held(given | {name for name in found if name is not None}, sources)
