"""What blocks claim, and the program that they expand to: the way from what was written to what the kernel speaks of.

Each block's claims are asked where it stands:

* arguments of calls can be evaluated, and bindings of blocks, which lie in the iteration variables' domains;
* reads and writes cover what is touched;
* instances that conflict agree on every spatial axis, and differ in another one, unless they are one instance that runs
  twice and leaves the same, or of one reduction that begins anew.

A theorem is about the expanded program, in which none of this is left; so a false claim proves nothing false.  It is
refused because whoever reads the block would be misled.  A claim that is not decided misleads nobody who reads that:
it is dropped, with a note.  Two conventions of TVM claim nothing: no regions at all at a block without axes, as at the
root; and the kinds of axes around an opaque call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from verified_tir.elaborate.blocks import expand, expand_blocks, place_as_written, starts
from verified_tir.elaborate.calls import CALL, is_argument
from verified_tir.elaborate.meaning import prove_meaning
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.misplaced import misplaced
from verified_tir.ir.node import IRError
from verified_tir.ir.outside import shown
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, Evaluate, For, If, LetStmt, Region, Seq, Stmt, seq
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import binds, free_vars, nodes_of, sub_statements, substitute
from verified_tir.kernel.access import BARRIER, Access, Instance, conflicts, overlap
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.exact import exact_prover
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Allocated, Entry
from verified_tir.kernel.obligation import NoMatch, Question, Unproved, discharge
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import changes, evaluated_safely
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Discharged, Unknown
from verified_tir.semantics.encode import Encoded, Unencodable


def verify_program(
    func: PrimFunc, prover: Prover, entry: Entry | None = None, *, written: PrimFunc | None = None,
    notes: list[str] | None = None,
) -> tuple[PrimFunc, tuple[Discharged, ...]] | NoMatch | Unproved:  # fmt: skip
    """The expanded program and what was proved of it (that it has a meaning, and no races) and of its blocks, or the
    first thing that could not be.

    :param written: the program whose blocks' claims are asked, unless they are those of ``func``.
    :param notes: gets a sentence for each claim that was not decided, and is dropped.
    """
    exact_prover(prover)
    expanded = expand_blocks(func)
    ill_formed = misplaced(func) or misplaced(expanded)
    if ill_formed is not None:
        return NoMatch(*ill_formed)
    try:
        claimed: tuple[Discharged, ...] = ()
        for question in block_questions(written or func, entry or Entry()):
            proved, failed = discharge(prover, [question])
            claimed += proved
            if failed is not None and (question.name != "block" or not isinstance(failed[1], Unknown)):
                return Unproved(*failed, written or func)
            if failed is not None and notes is not None:
                notes.append(f"not decided, and dropped: {shown(question.claim)}")
    except (Unencodable, IRError) as problem:
        return NoMatch((), str(problem))
    judgements = (
        partial(prove_meaning, expanded, prover, entry),  # it notes that there is a meaning where nothing is assumed
        partial(prove_race_free, expanded, prover, entry or Entry()),
    )
    for judgement in judgements:
        found = judgement()
        match found:
            case NoMatch(where=place, reason=reason) if expanded is not func:
                return NoMatch(place_as_written(func.body, place), reason)
            case NoMatch() | Unproved():
                return found
        claimed += found
    return expanded, claimed


Around = tuple[tuple[Stmt, Context], ...]
"""The statements around a place, back to the enclosing block, each with the context in which it stands."""


def block_questions(func: PrimFunc, entry: Entry) -> Iterator[Question]:
    """The claims of every block and of every call of a program as written."""
    if not all(b.is_label and not is_argument(b) for b in nodes_of(func.body, Block)):
        context = begin(func, replace(entry, definite=True, shapes=()))
        yield from _claims(context, func.body, (), ())


def _claims(context: Context, stmt: Stmt, path: Path, around: Around) -> Iterator[Question]:
    if isinstance(stmt, Block) and not stmt.is_label:
        inside = context.fork()
        yield from _bindings(inside, stmt, path)
        yield from _regions(inside, stmt, path)
        yield from _axes(context, stmt, path, around)
        for b in stmt.alloc_buffers:
            inside.new_versions(Allocated(), b.data)
        for k, sub in enumerate(sub_statements(stmt)):
            inner = inside.fork()
            if stmt.init is not None and k == 1:
                inner.execute(If(all_of(starts(stmt)), expand(stmt.init)))
            yield from _claims(inner, sub, (*path, k), ())
        return
    if isinstance(stmt, Block) and is_argument(stmt) and isinstance(stmt.body, Evaluate):
        yield from evaluated_safely(context.fork(), (stmt.body.value,), (), (*path, 0))
    here = context.fork()
    for k, sub in enumerate(sub_statements(stmt)):
        inner = here.fork()
        if not isinstance(stmt, Seq):
            inner.enter(expand(stmt), k)
        outside = () if _is_call(stmt) else (*around, (stmt, context))
        yield from _claims(inner, sub, (*path, k), outside)
        if isinstance(stmt, Seq):
            here.execute(expand(sub))


def _is_call(stmt: Stmt) -> bool:
    """Whether the statement is what a called function does: its blocks know of its own loops, not of those around."""
    return isinstance(stmt, Block) and CALL in dict(stmt.annotations)


def _bindings(inside: Context, block: Block, path: Path) -> Iterator[Question]:
    """Domains and bindings can be evaluated, also where the block does not run; and each binding lies in its domain
    where it does.  Afterwards ``inside`` knows the iteration variables."""
    evaluated = [e for iv in block.iter_vars for e in (iv.min, iv.extent, iv.value)]
    yield from evaluated_safely(inside, evaluated, (), path)
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
    if not block.iter_vars and block.reads == () == block.writes:  # as at TVM's root
        return
    body = _body(block)
    views = {s.buffer for s in nodes_of(body, DeclBuffer)}  # of what the regions are about (``T.match_buffer``)
    run = instance(context, body)  # what it stores itself may decide where it goes
    reads = None if block.reads is None else (*block.reads, *(block.writes or ()))
    own = written_blocks(body) if block.writes is None else set()
    for a in run.outer():
        declared = block.writes if a.write else reads
        if declared is None or a.buffer is BARRIER or (a.buffer.data in own and not a.write):
            continue
        if a.buffer in views and any(r.buffer.data is a.buffer.data for r in declared):
            continue
        goal = f.or_(*[_within(run.context, r, a) for r in declared])
        verb = "writes" if a.write else "reads"
        claim = f"block {block.name} {verb} only what it declares of {a.buffer.name}"
        yield Question("block", claim, run.context, a.given, goal, path)


def _body(block: Block) -> Stmt:
    """All that the block does, whichever instance it is: ``init`` and the body, among what it allocates."""
    parts = [block.body] if block.init is None else [block.init, block.body]
    body = seq(*map(expand, parts))
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
    one, two = (_Run.of(outer, chain, block, whole) for _ in range(2))
    spatial = [f.eq(one.axes[iv.var].value, two.axes[iv.var].value) for iv in block.iter_vars if iv.kind == "spatial"]
    other = [f.ne(one.axes[iv.var].value, two.axes[iv.var].value) for iv in block.iter_vars if iv.kind != "spatial"]
    free = any(iv.kind == "opaque" for iv in block.iter_vars)
    once = free or _leaves_the_same(block, chain)
    anew = [f.ne(x, y) for x, y in zip(one.loops, two.loops, strict=True)][: _loops_that_begin_anew(block, chain)]
    goal = f.and_(*spatial) if once else f.and_(*spatial, f.or_(*other, *anew))
    different = f.or_(*[f.ne(x, y) for x, y in zip(one.loops, two.loops, strict=True)])
    kinds = ", ".join(f"{iv.var.name} ({iv.kind})" for iv in block.iter_vars)
    for a, b in conflicts(one.run.outer(), two.run.outer()):
        if BARRIER in (a.buffer, b.buffer):
            continue
        where = one.allocated.get(a.buffer.data, 0)
        # a buffer allocated inside some of the loops is another one in each of their iterations
        same_scope = [f.eq(x, y) for x, y in zip(one.loops[:where], two.loops[:where], strict=True)]
        given = (*one.given, *two.given, different, *same_scope, *a.given, *b.given, overlap(a, b))
        claim = f"block {block.name}: instances that meet in {a.buffer.name} differ only in reduction axes, of {kinds}"
        yield Question("block", claim, outer, given, goal, path)


def _leaves_the_same(block: Block, chain: list[Stmt]) -> bool:
    """Whether an instance of a block that runs a second time stores what it stored: it reads nothing that it writes,
    and knows of the loops and lets around only its axes."""
    body = _body(block)
    return _knows_only_its_axes(block, chain) and read_blocks(body).isdisjoint(written_blocks(body))


def _knows_only_its_axes(block: Block, chain: list[Stmt]) -> bool:
    body = _body(block)
    return {v for s in chain for v in binds(s)}.isdisjoint(free_vars(body)) and not opaque_calls(body)


def _loops_that_begin_anew(block: Block, chain: list[Stmt]) -> int:
    """How many of the outer loops repeat whole reductions, each of which begins with ``init``: what two tiles need is
    computed for each, as ``compute_at`` leaves it."""
    if block.init is None or not _knows_only_its_axes(block, chain) or any(isinstance(s, LetStmt) for s in chain):
        return 0
    summed = {v for iv in block.iter_vars if iv.kind != "spatial" for v in free_vars(iv.value)}
    loops = [s.var for s in chain if isinstance(s, For)]
    return next((k for k, v in enumerate(loops) if v in summed), len(loops))


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
    def of(outer: Context, chain: list[Stmt], block: Block, whole: Stmt) -> _Run:
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
                    here.new_versions(Allocated(), b.data)
                case _:
                    pass  # which branch was taken is not used: without it the question only becomes harder
        axes = {iv.var: here.encoder().encode(iv.value) for iv in block.iter_vars}
        here.env.update(axes)
        predicate = () if changes(whole, (block.predicate,)) else (here.encoder().value(block.predicate),)
        given = (*here.path[start:], *predicate)
        run = instance(here, _body(block), written=written_blocks(whole))
        return _Run(run, given, loops, axes, allocated)
