"""How the kernel is asked to lift a layout rewrite: gathered, moved to the front or the end, made the compact form.

A rewrite of an operand whose array is allocated only after other statements cannot be moved past them.  It is written
anew at the front, to an array that is allocated there; the old statements then copy that array, and whoever reads what
they store reads the new array instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

from verified_tir.graph.compact import Step, graph_of, steps_become
from verified_tir.graph.copies import Copied
from verified_tir.graph.program import copy_of, function, program_of_graph, type_of_buffer
from verified_tir.graph.replace_statements import Proof, replace_statements
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, Seq, Stmt
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.inline import compute_inline


@final
@dataclass(slots=True)
class Group:
    """The statements that store to ``target`` at the top of the program, all of them; ``found`` is what they copy, if
    that is a rewrite with a compact form (``reason``: why it has none)."""

    source: Buffer
    target: Buffer
    paths: list[Path]
    side: Literal["operand", "result"]
    found: Copied | None
    reason: str = ""


def gathered(session: Session, group: Group, label: str) -> None:
    """The statements stand next to each other, under one label: where the first stands, or for a result the last.

    :raises TacticFailed: if they stand in different blocks, or may not pass what is between.
    """
    inside = group.paths[0][:-1]
    if group.side == "result" and group.source.scope != "global":
        raise fail(f"{group.source.name} lives in scope {group.source.scope}, and what is passed on is global memory")
    if any(p[:-1] != inside for p in group.paths) or not group.paths[0]:
        raise fail(f"the statements that store to {group.target.name} do not stand side by side", group.paths[0])
    numbers = [p[-1] for p in group.paths] if isinstance(session.stmt(inside), Seq) else []
    if not numbers:
        session.apply(labelled(group.paths[0], label))
        return
    count = len(numbers)
    if group.side == "operand":
        for k, n in enumerate(numbers):
            for position in range(n - 1, numbers[0] + k - 1, -1):
                session.apply(moves.swap(inside, position))
        first = numbers[0]
    else:
        for k, n in enumerate(reversed(numbers)):
            for position in range(n, numbers[-1] - k):
                session.apply(moves.swap(inside, position))
        first = numbers[-1] - count + 1
    session.apply(labelled((*inside, first), label, count))


def to_its_end(session: Session, group: Group, label: str, is_lifted: Callable[[Stmt], bool]) -> None:
    """The labelled statements go to the front of their sequence, or to its end, next to what was lifted before.

    :raises TacticFailed: if they may not pass what stands there, or the sequence does not begin or end the program.
    """
    path = session.block(label)[0]
    inside = path[:-1]
    stmts = session.stmt(inside)
    assert isinstance(stmts, Seq)
    if group.side == "operand":
        goal = sum(is_lifted(s) for s in stmts.stmts[: path[-1]])
        for position in range(path[-1] - 1, goal - 1, -1):
            session.apply(moves.swap(inside, position))
        return
    goal = len(stmts.stmts) - 1 - sum(is_lifted(s) for s in stmts.stmts[path[-1] + 1 :])
    for position in range(path[-1], goal):
        session.apply(moves.swap(inside, position))
    for k in range(len(inside)):
        around = session.stmt(inside[:k])
        if isinstance(around, Seq) and inside[k] != len(around.stmts) - 1:
            after = f"{group.target.name} is stored before other statements, outside of where {group.source.name} lives"
            raise fail(after, path)


def compacted(
    session: Session, source: Buffer, target: Buffer, label: str, steps: Sequence[Step], found: Copied
) -> None:
    """The labelled statements become the programs of the steps, under the same label.

    It is proved of them alone, without all that is known about the program around, where they store all of the target;
    otherwise here, where nothing was stored to it before.
    """
    path, block = session.block(label)
    if found.filled:
        alone = Proof(function(label, [source, target], block), definite=False)
        alone.take("compact", (label,), lambda s: steps_become(s, (), 1, steps, *alone.func.buffers))
        session.apply(Refine(path, alone.theorem, Arguments((source, target))))
    else:
        steps_become(session, path, 1, steps, source, target)
    session.apply(labelled(path, label))


def moved_up(session: Session, group: Group, label: str, steps: Sequence[Step], anew: Buffer, before: int) -> None:
    """The rewrite is written anew in front of the program (after ``before`` others), and the old one goes.

    :param anew: a fresh buffer like the target.
    """
    program = program_of_graph(graph_of(steps, type_of_buffer(group.source)))
    statement = Block.label(label, instantiate(program, Arguments((group.source, anew))))
    old = f"{label}_copy"
    session.apply(Declare((), anew))
    session.apply(Insert(_top_place(session, before), statement))
    path = next(p for p, b in session.find(Block) if b.name == label and p != _top_place(session, before))
    replace_statements(session, path, 1, copy_of(anew, group.target, old), group.target)
    compute_inline(session, old)


def _top_place(session: Session, number: int) -> Path:
    """The place of a statement at the top of the program, by its number; allocations are looked through."""
    path: Path = ()
    while not isinstance(session.stmt(path), (Seq, Block)):
        path = (*path, 0)
    return (*path, number) if isinstance(session.stmt(path), Seq) else path
