"""Which primitives have something to do in a program: what a plan called ``fitting`` chooses among."""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.ir.expr import Binary, IfThenElse, Load, Select
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Block, For, If, Seq, Store
from verified_tir.ir.visit import walk
from verified_tir.testing.scheduling.scene import Loop, Scene


def updates(scene: Scene, path: Path | None = None) -> list[Store]:
    """Stores ``B[x] = B[x] ⊕ e``."""
    return [s for s in scene.stores_in(path) if _reads_itself(s)]


def _reads_itself(s: Store) -> bool:
    match s.value:
        case Binary(a=a, b=b):
            return any(isinstance(e, Load) and e.buffer is s.buffer and e.indices == s.indices for e in (a, b))
    return False


def products(scene: Scene) -> list[tuple[str, Path]]:
    """Blocks with an update by a product of loads."""
    return [(n, p) for n, p in scene.blocks if any(_adds_product(s) for s in updates(scene, p))]


def _adds_product(s: Store) -> bool:
    terms = (s.value.a, s.value.b) if isinstance(s.value, Binary) and s.value.op == "add" else ()
    return any(isinstance(t, Binary) and t.op == "mul" for t in terms)


def initialised(scene: Scene) -> list[tuple[str, Path]]:
    """Blocks that begin with a condition and then store: expanded initialisations."""
    found = []
    for name, path in scene.blocks:
        match at(scene.func.body, (*path, 0)):
            case Seq(stmts=(If(else_body=None), _, *_)):
                found.append((name, path))
    return found


def reduced(scene: Scene) -> list[Loop]:
    """Loops over an update that does not mention them in its index."""

    def outside(x: Loop, s: Store) -> bool:
        return all(x.stmt.var not in walk(i) for i in s.indices)

    return [x for x in scene.loops if any(outside(x, s) for s in updates(scene, x.path))]


def fitting(scene: Scene) -> list[str]:
    """Primitives that a person might try here, the plainest first; some twice."""
    return list(_fitting(scene))


def _fitting(scene: Scene) -> Iterator[str]:
    yield from ("simplify", "remove_no_op", "transform_layout", "assume", "add_buffer_constraint")
    nodes = list(walk(scene.func.body))
    if scene.loops:
        yield from ("split", "parallel", "vectorize", "unroll", "bind", "peel", "partition", "blockize", "annotate")
        yield from ("sequential_buffer_access", "remove_loop", "cache_read", "cache_write", "tensorize")
    if any(len(nest) > 1 for nest in scene.nests):
        yield from ("reorder", "fuse", "tile", "reorder")
    if any(isinstance(n, (If, IfThenElse, Select)) for n in nodes):
        yield from ("remove_branching_through_overcompute", "hoist_expression", "reduce_loop_extents")
    if any(isinstance(n, Seq) for n in nodes):
        yield from ("fission", "merge_adjacent_loops", "move_before", "move_after", "merge_loops")
    if updates(scene):
        yield from ("rfactor", "rfactor")
    if initialised(scene):
        yield from ("decompose_reduction", "decompose_reduction")
    if products(scene):
        yield from ("pad_einsum", "pad_einsum")
    if scene.local:
        yield from ("sink_allocation", "compute_inline", "reverse_compute_inline", "compute_at", "reverse_compute_at")
        yield from ("set_scope", "compute_at", "reverse_compute_at")
    if scene.blocks:
        yield from ("bind_expr", "split_write", "outline", "cache_read", "cache_write")
        yield from ("merge_writes", "restate") if len(scene.blocks) > 1 else ("restate",)
    if scene.lets:
        yield "inline_let"
    if scene.schedule.theorem.paddings:
        yield from ("assume_padding", "write_padding", "remove_overcompute_through_branching")
        yield from ("remove_branching_through_overcompute", "sequential_buffer_access")
    if any(isinstance(n, (For, Block)) and n.annotations for n in nodes):
        yield "unannotate"
    if functions(scene):
        yield from ("inline", "refine_call", "assume_precondition", "refine_call")


def functions(scene: Scene) -> list[str]:
    """Names of the functions that were outlined."""
    from verified_tir.ir.node import IRError

    try:
        return [name for name, _ in scene.schedule.module.functions if name != scene.func.name]
    except IRError:
        return []
