"""The program as it was written: its blocks expanded, its meaning proved to exist.

Before the first step the program itself is put to the proof:

* every access is in bounds, no index arithmetic overflows, nothing divides by zero, no branch depends on undef (the
  arguments being arrays of definite values), every ``assume`` that is no axiom holds;
* what blocks declare is true: bindings lie in the iteration variables' domains, reads and writes cover what is
  touched, instances that conflict agree on every spatial axis and differ in another one;
* loops marked parallel, vectorized or bound to threads have their licence.

Blocks then mean what they expand to; a bare block stays as a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final
from weakref import WeakSet

from verified_tir.ir.expr import Binary, Expr, Var, all_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import (
    SKIP,
    Allocate,
    Assume,
    Block,
    For,
    If,
    LetStmt,
    Region,
    Seq,
    Stmt,
    Store,
    While,
    seq,
)  # fmt: skip
from verified_tir.ir.visit import map_children, sub_statements, substitute, walk
from verified_tir.kernel import admissible
from verified_tir.kernel.blocks import expand, expand_blocks
from verified_tir.kernel.context import Context, Entry, begin, written_blocks
from verified_tir.kernel.exact import exact_prover
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.licences import licence_questions
from verified_tir.kernel.memory import Allocated, Version
from verified_tir.kernel.obligation import Discharged, NoMatch, Question, Unproved, discharge
from verified_tir.kernel.region import Access, Instance, conflicts, instance, overlap
from verified_tir.kernel.rules.common import changes, safe_questions
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Unencodable


def program_questions(func: PrimFunc, entry: Entry) -> Iterator[Question]:
    """Everything that makes a program (its blocks expanded) meaningful on arrays of definite values."""
    context = begin(func, replace(entry, definite=False, inputs_defined=True))
    yield from _visit(context, func.body, ())


class _Inexpressible(Exception):
    """What a statement says has no form in the logic; caught by :func:`verify_program`."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path


def _visit(context: Context, stmt: Stmt, path: Path) -> Iterator[Question]:
    shallow = _without_body(stmt)
    if shallow is not None:
        here = context.fork()
        if isinstance(stmt, While):  # its condition is evaluated again after each iteration
            here.repeat(stmt, stmt.body)
        try:
            run = instance(here, shallow, share_loads=True, with_safety=True)
        except (Unencodable, IRError) as problem:
            raise _Inexpressible(path, str(problem)) from None
        kept = [s for _, s in run.safety if not (isinstance(stmt, Assume) and s.kind == "the assumption holds")]
        yield from safe_questions(run.context, kept, (), path, "before")
    for k, sub, inner in context.inside(stmt):
        yield from _visit(inner, sub, (*path, k))


def _without_body(stmt: Stmt) -> Stmt | None:
    """The statement with its sub-statements emptied: what it evaluates itself."""
    if isinstance(stmt, (Seq, Block)):
        return None
    return map_children(stmt, lambda c: SKIP if isinstance(c, Stmt) else c)


# -- what blocks claim ---------------------------------------------------------------------------------------------

Around = tuple[tuple[Stmt, Context], ...]
"""The statements around a place, back to the enclosing block, each with the context in which it stands."""


def block_questions(func: PrimFunc, entry: Entry) -> Iterator[Question]:
    """The claims of every block of a program as written."""
    if any(isinstance(n, Block) and not n.is_label for n in walk(func.body)):
        context = begin(func, replace(entry, definite=False, inputs_defined=True, shapes=()))
        yield from _claims(context, func.body, (), ())


def _claims(context: Context, stmt: Stmt, path: Path, around: Around) -> Iterator[Question]:
    if isinstance(stmt, Block) and not stmt.is_label:
        inside = context.fork()
        yield from _bindings(inside, stmt, path)
        yield from _regions(inside, stmt, path)
        yield from _axes(context, stmt, path, around)
        for b in stmt.alloc_buffers:
            inside.memory[b.data] = Version(b.data, Allocated())
        for k, sub in enumerate(sub_statements(stmt)):
            inner = inside.fork()
            if stmt.init is not None and k == 1:
                inner.execute(If(all_of(_starts(stmt)), stmt.init))
            yield from _claims(inner, sub, (*path, k), ())
        return
    for k, sub, inner in context.inside(stmt):
        yield from _claims(inner, sub, (*path, k), (*around, (stmt, context)))


def _starts(block: Block) -> list[Expr]:
    return [Binary("eq", iv.var, iv.min) for iv in block.iter_vars if iv.kind == "reduce"]


def _bindings(inside: Context, block: Block, path: Path) -> Iterator[Question]:
    """Each binding lies in its domain where the block runs; afterwards ``inside`` knows the iteration variables."""
    values = {iv.var: iv.value for iv in block.iter_vars}
    condition = inside.encoder().encode(substitute(block.predicate, values))
    inside.path.extend((condition.value, condition.defined))
    for iv in block.iter_vars:
        encoder = inside.encoder()
        low, extent, value = encoder.value(iv.min), encoder.value(iv.extent), encoder.encode(iv.value)
        goal = f.and_(f.le(low, value.value), f.lt(value.value, f.add(low, extent)))
        yield Question("block", f"the binding of {iv.var.name} lies in its domain", inside.fork(), (), goal, path)
        inside.env[iv.var] = value


def _regions(context: Context, block: Block, path: Path) -> Iterator[Question]:
    """What the block declares to read and write covers what it touches.

    What is written may also be read: an update reads its own result, as TVM's texts leave unsaid.
    """
    body = seq(*([block.init] if block.init is not None else []), expand(block.body))
    run = instance(context, _allocated(block, body))  # what it stores itself may decide where it goes
    reads = None if block.reads is None else (*block.reads, *(block.writes or ()))
    own = written_blocks(body) if block.writes is None else set()
    for a in run.outer():
        declared = block.writes if a.write else reads
        if declared is None or a.buffer is None or (a.buffer.data in own and not a.write):
            continue
        goal = f.or_(*[_within(run.context, r, a) for r in declared])
        verb = "writes" if a.write else "reads"
        claim = f"block {block.name} {verb} only what it declares of {a.buffer.name}"
        yield Question("block", claim, run.context, a.given, goal, path)


def _allocated(block: Block, body: Stmt) -> Stmt:
    for b in reversed(block.alloc_buffers):
        body = Allocate(b, body)
    return body


def _within(context: Context, region: Region, a: Access) -> Term:
    if region.buffer is not a.buffer:
        return f.FALSE
    encoder = context.encoder()
    parts = []
    for x, low, extent in zip(a.indices, region.mins, region.extents, strict=True):
        start = encoder.value(low)
        parts.append(f.between(start, x, f.add(start, encoder.value(extent))))
    return f.and_(*parts)


def _axes(context: Context, block: Block, path: Path, around: Around) -> Iterator[Question]:
    """Instances that conflict agree on every spatial axis, and differ in another one.

    An instance is an iteration of all loops around the block, back to the enclosing block.
    """
    first = next((k for k, (s, _) in enumerate(around) if isinstance(s, For)), None)
    if not block.iter_vars or first is None:
        return
    whole, outer = around[first]
    chain = [s for s, _ in around[first:]]
    evaluated = [e for s in chain if isinstance(s, For) for e in (s.min, s.extent)]
    evaluated += [s.value for s in chain if isinstance(s, LetStmt)] + [iv.value for iv in block.iter_vars]
    if changes(whole, evaluated):
        claim = f"block {block.name}: the loops around it write nothing that their bounds or its bindings read"
        yield Question("block", claim, context, (), f.FALSE, path)
        return
    body = _allocated(block, seq(*([block.init] if block.init is not None else []), expand(block.body)))
    one, two = (_Run.of(outer, chain, block, body, whole) for _ in range(2))
    spatial = [f.eq(one.axes[iv.var].value, two.axes[iv.var].value) for iv in block.iter_vars if iv.kind == "spatial"]
    other = [f.ne(one.axes[iv.var].value, two.axes[iv.var].value) for iv in block.iter_vars if iv.kind != "spatial"]
    free = any(iv.kind == "opaque" for iv in block.iter_vars)
    goal = f.and_(*spatial) if free else f.and_(*spatial, f.or_(*other))
    merged = outer.fork()
    merged.names.update(one.run.context.names)
    merged.names.update({k: f"{v}'" for k, v in two.run.context.names.items() if k not in merged.names})
    different = f.or_(*[f.ne(x, y) for x, y in zip(one.loops, two.loops, strict=True)])
    kinds = ", ".join(f"{iv.var.name} ({iv.kind})" for iv in block.iter_vars)
    for a, b in conflicts(one.run.outer(), two.run.outer()):
        where = 0 if a.buffer is None or b.buffer is None else one.allocated.get(a.buffer.data, 0)
        # a buffer allocated inside some of the loops is another one in each of their iterations
        same_scope = [f.eq(x, y) for x, y in zip(one.loops[:where], two.loops[:where], strict=True)]
        given = (*one.given, *two.given, different, *same_scope, *a.given, *b.given, overlap(merged, a, b))
        what = "an opaque call" if a.buffer is None else a.buffer.name
        claim = f"block {block.name}: instances that meet in {what} differ only in reduction axes, of {kinds}"
        yield Question("block", claim, merged, given, goal, path)


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """One arbitrary instance of a block, renamed apart from any other."""

    run: Instance
    given: tuple[Term, ...]
    loops: list[Term]
    axes: dict[Var, Encoded]
    allocated: dict[Var, int]

    @staticmethod
    def of(outer: Context, chain: list[Stmt], block: Block, body: Stmt, whole: Stmt) -> _Run:
        here = outer.fork()
        start = len(here.path)
        loops: list[Term] = []
        allocated: dict[Var, int] = {}
        for stmt in chain:
            match stmt:
                case For():
                    loops.append(here.bind_loop(stmt))
                case LetStmt(var=v, value=value):
                    here.env[v] = here.encoder().encode(value)
                case Allocate(buffer=b):
                    allocated[b.data] = len(loops)
                    here.memory[b.data] = Version(b.data, Allocated())
                case _:
                    pass  # which branch was taken is not used: without it the question only becomes harder
        axes = {iv.var: here.encoder().encode(iv.value) for iv in block.iter_vars}
        here.env.update(axes)
        predicate = () if changes(whole, (block.predicate,)) else (here.encoder().value(block.predicate),)
        given = (*here.path[start:], *predicate)
        run = instance(here, body, also_written=written_blocks(whole))
        return _Run(run, given, loops, axes, allocated)


def contradictory(func: PrimFunc, prover: Prover, entry: Entry) -> bool:
    """Whether no input at all satisfies what the function assumes: then everything would be true of it."""
    context = begin(func, Entry(entry.paddings, inputs_defined=True, shapes=entry.shapes))
    context.execute(func.body)
    facts = prover.facts(context, tuple(context.path), tuple(context.path))
    return prover.solver.consistent((*context.path, *facts)) is False


def unreachable_places(func: PrimFunc, prover: Prover, entry: Entry) -> list[Path]:
    """Stores that no run gets to: what is proved about them means nothing, and a person should know."""
    found: list[Path] = []

    def visit(context: Context, stmt: Stmt, path: Path) -> None:
        if isinstance(stmt, Store) and prover.solver.consistent(tuple(context.path)) is False:
            found.append(path)
        for k, sub, inner in context.inside(stmt):
            visit(inner, sub, (*path, k))

    visit(begin(func, entry), func.body, ())
    return found


_MEANINGFUL: WeakSet[PrimFunc] = WeakSet()


def has_meaning(func: PrimFunc) -> bool:
    """Whether :func:`verify_program` has proved in this process that this (expanded) program has a meaning.

    ``p ⊑ p`` is a theorem of every program p, also of one that leaves its arrays; machine code is made of those only
    that do not.
    """
    return func in _MEANINGFUL


def verify_program(
    func: PrimFunc, prover: Prover, entry: Entry | None = None
) -> tuple[PrimFunc, tuple[Discharged, ...]] | NoMatch | Unproved:
    """The expanded program and what was proved of it, or the first thing that could not be."""
    exact_prover(prover)
    entry = entry or Entry()
    done: list[Discharged] = []
    untold: str | None = None
    try:
        expanded = expand_blocks(func)
        ill_formed = admissible.problem(expanded)
        if ill_formed is not None:
            return NoMatch(*(admissible.misplaced(func) or ((), ill_formed)))
        try:
            if contradictory(expanded, prover, entry):
                return NoMatch((), "what it assumes of its arguments contradicts itself: no input is left")
        except (Unencodable, IRError) as problem:
            untold = str(problem)  # the questions below come to the place, and say it
        stages = (
            (func, block_questions(func, entry)),
            (expanded, program_questions(expanded, entry)),
            (expanded, licence_questions(expanded, entry)),
        )
        for program, questions in stages:
            for question in questions:
                proved, failed = discharge(prover, question)
                done.extend(proved)
                if failed is not None:
                    return Unproved(*failed, program)
    except _Inexpressible as problem:
        return NoMatch(problem.path if expanded is func else (), str(problem))
    except (Unencodable, IRError) as problem:
        return NoMatch((), str(problem))
    if untold is not None:
        return NoMatch((), untold)
    if entry == Entry():
        _MEANINGFUL.add(expanded)
    return expanded, tuple(done)
