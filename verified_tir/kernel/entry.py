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

from verified_tir.ir.expr import TRUE, Binary, Expr, Load, all_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Allocate, Assume, Block, DeclBuffer, For, If, LetStmt, Region, Seq, Stmt, seq
from verified_tir.ir.visit import map_children, sub_statements, substitute, walk
from verified_tir.kernel.context import Context, Entry, begin, written_blocks
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.licences import licence_questions
from verified_tir.kernel.memory import Allocated, Version
from verified_tir.kernel.obligation import Discharged, NoMatch, Question, Unproved, discharge
from verified_tir.kernel.region import Access, conflicts, instance, overlap
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Unencodable


def expand_blocks(func: PrimFunc) -> PrimFunc:
    """The function with every block replaced by what it means."""
    return func.with_body(_expand(func.body))


def _expand(stmt: Stmt) -> Stmt:
    def visit(child: Node) -> Node:
        return _expand(child) if isinstance(child, Stmt) else child

    inner = map_children(stmt, visit)
    return expand_block(inner) if isinstance(inner, Block) and not inner.is_label else inner


def expand_block(block: Block) -> Stmt:
    """Bindings substituted (or bound, if they read memory), ``init`` run at the start of the reduction."""
    body = block.body
    if block.init is not None:
        starts: list[Expr] = [Binary("eq", iv.var, iv.min) for iv in block.iter_vars if iv.kind == "reduce"]
        body = seq(If(all_of(starts), block.init) if starts else block.init, body)
    for b in reversed(block.alloc_buffers):
        body = Allocate(b, body)
    condition = block.predicate
    lets = [iv for iv in block.iter_vars if any(isinstance(n, Load) for n in walk(iv.value))]
    plain = {iv.var: iv.value for iv in block.iter_vars if iv not in lets}
    body, condition = substitute(body, plain), substitute(condition, plain)
    body = Block.label(block.name, body, block.annotations)
    if condition is not TRUE:
        body = If(condition, body)
    for iv in reversed(lets):
        body = LetStmt(iv.var, iv.value, body)
    return body


def program_questions(func: PrimFunc, paddings: Entry) -> Iterator[Question]:
    """Everything that makes a program meaningful, block claims included."""
    context = begin(func, Entry(paddings.paddings, inputs_defined=True))
    yield from _visit(context, func.body, (), ())


def _visit(context: Context, stmt: Stmt, path: Path, loops: tuple[tuple[Stmt, Context], ...]) -> Iterator[Question]:
    if isinstance(stmt, Block) and not stmt.is_label:
        yield from _block(context, stmt, path, loops)
        expanded = expand_block(stmt)
        yield from _visit(context, expanded, path, ())
        return
    shallow = _without_body(stmt)
    if shallow is not None:
        run = instance(context, shallow, share_loads=True, with_safety=True)
        kept = [s for _, s in run.safety if not (isinstance(stmt, Assume) and s.kind == "the assumption holds")]
        yield from safe_questions(run.context, kept, (), path, "before")
    inner_loops = (*loops, (stmt, context))
    for k in range(len(sub_statements(stmt))):
        inner = context.fork()
        sub = inner.enter(stmt, k)
        yield from _visit(inner, sub, (*path, k), inner_loops)


def _without_body(stmt: Stmt) -> Stmt | None:
    """The statement with its sub-statements emptied: what it evaluates itself."""
    if isinstance(stmt, (Seq, DeclBuffer, Block)):
        return None
    return map_children(stmt, lambda c: SKIP if isinstance(c, Stmt) else c)


# -- what blocks claim ---------------------------------------------------------------------------------------------


def _block(context: Context, block: Block, path: Path, loops: tuple[tuple[Stmt, Context], ...]) -> Iterator[Question]:
    here = context.fork()
    values = {iv.var: iv.value for iv in block.iter_vars}
    condition = here.encoder().encode(substitute(block.predicate, values))
    inside = here.fork()
    inside.path.extend((condition.value, condition.defined))
    for iv in block.iter_vars:
        encoder = inside.encoder()
        low, extent, value = encoder.value(iv.min), encoder.value(iv.extent), encoder.encode(iv.value)
        goal = f.and_(f.le(low, value.value), f.lt(value.value, f.add(low, extent)))
        yield Question("block", f"the binding of {iv.var.name} lies in its domain", inside, (), goal, path)
        inside.env[iv.var] = value
    yield from _regions(inside, block, path)
    yield from _axes(context, block, path, loops)


def _regions(context: Context, block: Block, path: Path) -> Iterator[Question]:
    """What the block declares to read and write covers what it touches."""
    body = seq(*([block.init] if block.init is not None else []), _expand(block.body))
    for b in block.alloc_buffers:
        context.memory[b.data] = Version(b.data, Allocated())
    run = instance(context, body, share_loads=True)
    own = {b.data for b in block.alloc_buffers}
    readable = (
        None if block.reads is None else (*block.reads, *((block.writes or ()) if block.init is not None else ()))
    )
    for a in run.outer():
        declared = block.writes if a.write else readable
        if declared is None or a.buffer is None or a.buffer.data in own:
            continue
        if a.write or not _is_self_read(block, a):
            goal = f.or_(*[_within(run.context, r, a) for r in declared])
            verb = "writes" if a.write else "reads"
            claim = f"block {block.name} {verb} only what it declares of {a.buffer.name}"
            yield Question("block", claim, run.context, a.given, goal, path)


def _is_self_read(block: Block, a: Access) -> bool:
    return block.init is not None and a.buffer in [r.buffer for r in block.writes or ()] and block.reads is None


def _within(context: Context, region: Region, a: Access) -> Term:
    if region.buffer is not a.buffer:
        return f.FALSE
    encoder = context.encoder()
    parts = []
    for x, low, extent in zip(a.indices, region.mins, region.extents, strict=True):
        start = encoder.value(low)
        parts.append(f.between(start, x, f.add(start, encoder.value(extent))))
    return f.and_(*parts)


def _axes(context: Context, block: Block, path: Path, loops: tuple[tuple[Stmt, Context], ...]) -> Iterator[Question]:
    """Instances that conflict agree on every spatial axis, and differ in another one."""
    chain = _loop_chain(loops)
    if not block.iter_vars or not chain:
        return
    outer = chain[0][1].fork()
    whole = chain[0][0]
    outer.repeat(whole, whole)
    body = seq(*([block.init] if block.init is not None else []), _expand(block.body))
    runs = []
    for _ in range(2):
        here, given, variables, allocated = _enter(outer, [s for s, _ in loops][_first_loop(loops) :])
        axes = {iv.var: here.encoder().encode(iv.value) for iv in block.iter_vars}
        here.env.update(axes)
        condition = here.encoder().encode(block.predicate)
        run = instance(here, body, also_written=written_blocks(whole))
        runs.append((run, (*given, condition.value), variables, axes, allocated))
    (r1, g1, v1, a1, allocated), (r2, g2, v2, a2, _) = runs
    own = {b.data for b in block.alloc_buffers}
    spatial = [f.eq(a1[iv.var].value, a2[iv.var].value) for iv in block.iter_vars if iv.kind == "spatial"]
    other = [f.ne(a1[iv.var].value, a2[iv.var].value) for iv in block.iter_vars if iv.kind != "spatial"]
    if any(iv.kind == "opaque" for iv in block.iter_vars):
        goal_parts = f.and_(*spatial)
    else:
        goal_parts = f.and_(*spatial, f.or_(*other))
    merged = outer.fork()
    merged.names.update(r1.context.names)
    merged.names.update({k: f"{v}'" for k, v in r2.context.names.items() if k not in merged.names})
    different = f.or_(*[f.ne(x, y) for x, y in zip(v1, v2, strict=True)])
    for a, b in conflicts(r1.outer(), r2.outer()):
        if a.buffer is None or b.buffer is None or a.buffer.data in own:
            continue
        inner = allocated.get(a.buffer.data, 0)  # loops around the allocation: their iterations have their own
        same_scope = [f.eq(x, y) for x, y in zip(v1[:inner], v2[:inner], strict=True)]
        given = (*g1, *g2, different, *same_scope, *a.given, *b.given, overlap(merged, a, b))
        kinds = ", ".join(f"{iv.var.name} ({iv.kind})" for iv in block.iter_vars)
        claim = f"block {block.name}: instances that meet in {a.buffer.name} differ only in reduction axes, of {kinds}"
        yield Question("block", claim, merged, given, goal_parts, path)


def _first_loop(loops: tuple[tuple[Stmt, Context], ...]) -> int:
    return next((k for k, (s, _) in enumerate(loops) if isinstance(s, For)), len(loops))


def _loop_chain(loops: tuple[tuple[Stmt, Context], ...]) -> tuple[tuple[Stmt, Context], ...]:
    return loops[_first_loop(loops) :]


def _enter(outer: Context, chain: list[Stmt]) -> tuple[Context, tuple[Term, ...], list[Term], dict[object, int]]:
    """One arbitrary iteration of the loops (and branches) of a chain, renamed apart."""
    here = outer.fork()
    start = len(here.path)
    variables: list[Term] = []
    allocated: dict[object, int] = {}
    for stmt in chain:
        match stmt:
            case For():
                variables.append(here.bind_loop(stmt))
            case If():
                pass  # which branch was taken is not needed; dropping a condition only asks for more
            case LetStmt(var=v, value=value):
                here.env[v] = here.encoder().encode(value)
            case Allocate(buffer=b):
                allocated[b.data] = len(variables)
                here.memory[b.data] = Version(b.data, Allocated())
            case _:
                pass
    return here, tuple(here.path[start:]), variables, allocated


def verify_program(
    func: PrimFunc, prover: Prover, entry: Entry | None = None
) -> tuple[PrimFunc, tuple[Discharged, ...]] | NoMatch | Unproved:
    """The expanded program and what was proved of it, or the first thing that could not be."""
    entry = entry or Entry()
    done: list[Discharged] = []
    try:
        expanded = expand_blocks(func)
        for question in program_questions(func, entry):
            proved, failed = discharge(prover, question)
            done.extend(proved)
            if failed is not None:
                return Unproved(*failed, func)
        for question in licence_questions(expanded, entry):
            proved, failed = discharge(prover, question)
            done.extend(proved)
            if failed is not None:
                return Unproved(*failed, expanded)
    except Unencodable as problem:
        return NoMatch((), str(problem))
    return expanded, tuple(done)
