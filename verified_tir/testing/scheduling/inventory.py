"""What there is in a program, in the words with which a schedule's user would name it.

An :class:`Inventory` looks at a schedule as it stands.  Names are source text: ``"i"`` in quotes where that name is
the only one, ``s.loops()[3]`` where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, LetExpr, Load, Var
from verified_tir.ir.paths import Path, at, places
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, sub_statements, walk
from verified_tir.testing.scheduling.choices import Choices

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

NOBODY = '"nobody"'
"""A name that nothing has."""


@final
@dataclass(frozen=True, slots=True)
class Loop:
    """A loop with its place and the text that names it."""

    stmt: For
    path: Path
    text: str

    @property
    def extent(self) -> int:
        """The number of iterations; 4 where that is not a constant."""
        return self.stmt.extent.value if isinstance(self.stmt.extent, IntImm) else 4


@final
class Inventory:
    """Loops, blocks, buffers, lets of a program, with the texts that name them in a call of a primitive."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.func = schedule.func

    # -- loops -----------------------------------------------------------------------------------------------------

    @cached_property
    def loops(self) -> list[Loop]:
        """All loops in program order."""
        found = [(p, s) for p, s in places(self.func.body, lambda s: isinstance(s, For)) if isinstance(s, For)]
        names = [s.var.name for _, s in found]
        taken = {name for name, _ in self.blocks}
        return [
            Loop(s, p, quoted(s.var.name) if names.count(s.var.name) == 1 and s.var.name not in taken
                 else f"s.loops()[{k}]")
            for k, (p, s) in enumerate(found)
        ]  # fmt: skip

    def loop(self, pick: Choices) -> str:
        """A loop, now and then one that is not there."""
        if not self.loops or pick.chance(40):
            return NOBODY
        return pick.one(self.loops).text

    def some_loop(self, pick: Choices, among: Sequence[Loop]) -> str:
        """One of the given loops, mostly; else any."""
        if not among or pick.chance(12):
            return self.loop(pick)
        return pick.one(among).text

    def chain(self, pick: Choices, low: int, high: int) -> list[Loop]:
        """Loops of one nest, outermost first, next to each other: with nothing between but guards and labels."""
        starts = [nest for nest in self.nests if len(nest) >= low] or self.nests
        if not starts:
            return []
        nest = pick.one(starts)
        count = min(low + pick.number(high - low + 1), len(nest))
        first = pick.number(len(nest) - count + 1)
        return nest[first : first + count]

    @cached_property
    def nests(self) -> list[list[Loop]]:
        """Perfect nests (guards and labels may stand between the loops), the longest ones."""
        found: list[list[Loop]] = []
        inside: set[Path] = set()
        for loop in self.loops:
            if loop.path in inside:
                continue
            nest, path = [loop], (*loop.path, 0)
            while True:
                stmt = at(self.func.body, path)
                if isinstance(stmt, For):
                    nest.append(next(x for x in self.loops if x.path == path))
                    inside.add(path)
                elif not (isinstance(stmt, Block) or (isinstance(stmt, If) and stmt.else_body is None)):
                    break
                path = (*path, 0)
            found.append(nest)
        return found

    def around(self, path: Path) -> list[Loop]:
        """The loops around a place, outermost first."""
        return [x for x in self.loops if len(x.path) < len(path) and path[: len(x.path)] == x.path]

    @cached_property
    def neighbours(self) -> list[tuple[str, str]]:
        """Statements next to each other (loops or blocks, or what holds one), by their names."""
        found: list[tuple[str, str]] = []
        for path, stmt in places(self.func.body, lambda s: isinstance(s, Seq)):
            named = [self._named((*path, k)) for k, _ in enumerate(sub_statements(stmt))]
            found += [(a, b) for a, b in pairwise(named) if a is not None and b is not None]
        return found

    def _named(self, path: Path) -> str | None:
        """The loop or block that is a statement, or stands in it before all else."""
        while True:
            stmt = at(self.func.body, path)
            match stmt:
                case For():
                    return next(x.text for x in self.loops if x.path == path)
                case Block(name=name) if [n for n, _ in self.blocks].count(name) == 1:
                    return quoted(name)
                case _ if len(sub_statements(stmt)) == 1:
                    path = (*path, 0)
                case _:
                    return None

    # -- blocks ----------------------------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> list[tuple[str, Path]]:
        """Blocks with their places."""
        found = places(self.func.body, lambda s: isinstance(s, Block))
        return [(s.name, p) for p, s in found if isinstance(s, Block)]

    def block(self, pick: Choices, among: Sequence[tuple[str, Path]] | None = None) -> tuple[str, Path | None]:
        """A block, by text, and its place; now and then one that is not there."""
        among = self.blocks if among is None else among
        if not among or pick.chance(40):
            return NOBODY, None
        name, path = pick.one(among)
        return quoted(name), path

    def maybe_in_block(self, pick: Choices) -> str:
        """``block="B"`` now and then, else nothing."""
        return f"block={self.block(pick)[0]}" if self.blocks and pick.chance(4) else ""

    def place(self, pick: Choices) -> str:
        """A block or a loop."""
        return self.block(pick)[0] if self.blocks and pick.chance(2) else self.loop(pick)

    def stores_in(self, path: Path | None) -> list[Store]:
        """The stores at a place; of the whole program, if it is none."""
        root = self.func.body if path is None else at(self.func.body, path)
        return [n for n in walk(root) if isinstance(n, Store)]

    # -- buffers ---------------------------------------------------------------------------------------------------

    @cached_property
    def buffers(self) -> list[Buffer]:
        """Parameters, then local buffers."""
        return self.schedule.buffers

    @cached_property
    def local(self) -> list[Buffer]:
        """Local buffers."""
        return [s.buffer for _, s in places(self.func.body, lambda s: isinstance(s, Allocate))
                if isinstance(s, Allocate)]  # fmt: skip

    @cached_property
    def written(self) -> list[Buffer]:
        """Buffers that are stored to, in program order."""
        return list(dict.fromkeys(s.buffer for s in self.stores_in(None)))

    def named(self, buffer: Buffer) -> str:
        """The text that names a buffer."""
        same = [k for k, b in enumerate(self.buffers) if b.name == buffer.name]
        if len(same) == 1:
            return quoted(buffer.name)
        return next((f"s.buffers[{k}]" for k in same if self.buffers[k] is buffer), quoted(buffer.name))

    def buffer(self, pick: Choices, among: Sequence[Buffer] | None = None) -> tuple[str, Buffer | None]:
        """A buffer, by text; now and then one that is not there."""
        among = self.buffers if among is None else among
        if not among or pick.chance(40):
            return NOBODY, None
        found = pick.one(among)
        return self.named(found), found

    # -- the rest --------------------------------------------------------------------------------------------------

    @cached_property
    def symbols(self) -> list[str]:
        """Integer parameters and symbols of the shapes, by name."""
        found = [p for p in self.func.params if self.func.buffer_of(p) is None and p.dtype.is_int]
        found += [v for b in self.func.buffers for e in b.shape for v in free_vars(e)]
        return list(dict.fromkeys(v.name for v in found))

    @cached_property
    def lets(self) -> list[str]:
        """Names that lets bind."""
        found = (n.var for n in walk(self.func.body) if isinstance(n, (LetStmt, LetExpr)))
        return list(dict.fromkeys(v.name for v in found))

    def expressions(self, path: Path) -> list[str]:
        """Expressions at a place, as text: loads first, then what is made of them."""
        nodes = [n for n in walk(at(self.func.body, path)) if isinstance(n, Expr)]
        nodes = [n for n in nodes if not isinstance(n, (Var, IntImm)) and n.dtype.code != "handle"]
        nodes.sort(key=lambda n: not isinstance(n, Load))
        return list(dict.fromkeys(script(n) for n in nodes))

    def fresh(self, stem: str) -> str:
        """A name that nothing in the program has."""
        taken = {n for n, _ in self.blocks} | {x.stmt.var.name for x in self.loops} | {b.name for b in self.buffers}
        taken |= set(self.lets)
        return next(f"{stem}{k}" for k in range(1000) if f"{stem}{k}" not in taken)


def quoted(name: str) -> str:
    """A name as text."""
    return f'"{name}"' if '"' not in name else repr(name)


def call(primitive: str, *arguments: str, **named: str) -> str:
    """The text of a call; empty arguments are left out."""
    given = [a for a in arguments if a]
    given += [f"{k}={v}" for k, v in named.items() if v]
    return f"s.{primitive}({', '.join(given)})"


def listed(items: Iterable[object]) -> str:
    """``[a, b]``."""
    return f"[{', '.join(map(str, items))}]"


def statement_at(inventory: Inventory, path: Path) -> Stmt:
    """The statement at a place of the program."""
    return at(inventory.func.body, path)
