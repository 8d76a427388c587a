"""Which primitives have something to do in a program: what a plan called ``fitting`` chooses among."""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.ir.expr import Binary, IfThenElse, Load, Select
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Block, For, If, Seq, Store
from verified_tir.ir.visit import walk
from verified_tir.testing.scheduling.inventory import Inventory, Loop


def updates(inventory: Inventory, path: Path | None = None) -> list[Store]:
    """Stores ``B[x] = B[x] ⊕ e``."""
    return [s for s in inventory.stores_in(path) if _reads_itself(s)]


def _reads_itself(s: Store) -> bool:
    match s.value:
        case Binary(a=a, b=b):
            return any(isinstance(e, Load) and e.buffer is s.buffer and e.indices == s.indices for e in (a, b))
    return False


def products(inventory: Inventory) -> list[tuple[str, Path]]:
    """Blocks with an update by a product of loads."""
    return [(n, p) for n, p in inventory.blocks if any(_adds_product(s) for s in updates(inventory, p))]


def _adds_product(s: Store) -> bool:
    terms = (s.value.a, s.value.b) if isinstance(s.value, Binary) and s.value.op == "add" else ()
    return any(isinstance(t, Binary) and t.op == "mul" for t in terms)


def initialised(inventory: Inventory) -> list[tuple[str, Path]]:
    """Blocks that begin with a condition and then store: expanded initialisations."""
    found = []
    for name, path in inventory.blocks:
        match at(inventory.func.body, (*path, 0)):
            case Seq(stmts=(If(else_body=None), _, *_)):
                found.append((name, path))
    return found


def reduced(inventory: Inventory) -> list[Loop]:
    """Loops over an update that does not mention them in its index."""

    def outside(x: Loop, s: Store) -> bool:
        return all(x.stmt.var not in walk(i) for i in s.indices)

    return [x for x in inventory.loops if any(outside(x, s) for s in updates(inventory, x.path))]


def fitting(inventory: Inventory) -> list[str]:
    """Primitives that a person might try here, the plainest first; some twice."""
    return list(_fitting(inventory))


def _fitting(inventory: Inventory) -> Iterator[str]:
    yield from ("simplify", "remove_no_op", "transform_layout", "assume", "add_buffer_constraint")
    nodes = list(walk(inventory.func.body))
    if inventory.loops:
        yield from ("split", "parallel", "vectorize", "unroll", "bind", "peel", "partition", "blockize", "annotate")
        yield "loop_partition"
        yield from ("sequential_buffer_access", "remove_loop", "cache_read", "cache_write", "tensorize")
    if any(len(nest) > 1 for nest in inventory.nests):
        yield from ("reorder", "fuse", "tile", "reorder")
    if any(isinstance(n, (If, IfThenElse, Select)) for n in nodes):
        yield from ("remove_branching_through_overcompute", "hoist_expression", "reduce_loop_extents")
        yield from ("decompose_padding",) if inventory.blocks else ()
    if any(isinstance(n, Seq) for n in nodes):
        yield from ("fission", "merge_adjacent_loops", "move_before", "move_after", "merge_loops", "merge")
    if updates(inventory):
        yield from ("rfactor", "rfactor")
    if initialised(inventory):
        yield from ("decompose_reduction", "decompose_reduction", "fuse_reduction_epilogue")
    if products(inventory):
        yield from ("pad_einsum", "pad_einsum")
    if inventory.local:
        yield from ("sink_allocation", "compute_inline", "reverse_compute_inline", "compute_at", "reverse_compute_at")
        yield from ("set_scope", "compute_at", "reverse_compute_at")
        yield from ("rolling_buffer",) if inventory.blocks else ()
    if inventory.blocks:
        yield from ("bind_expr", "split_write", "outline", "cache_read", "cache_write", "read_at", "write_at")
        yield from ("merge_writes", "restate") if len(inventory.blocks) > 1 else ("restate",)
    if inventory.lets:
        yield "inline_let"
    if inventory.schedule.theorem.paddings:
        yield from ("assume_padding", "write_padding", "remove_overcompute_through_branching")
        yield from ("remove_branching_through_overcompute", "sequential_buffer_access")
    if any(isinstance(n, (For, Block)) and n.annotations for n in nodes):
        yield "unannotate"
    if functions(inventory):
        yield from ("inline", "refine_call", "assume_precondition", "refine_call")


def functions(inventory: Inventory) -> list[str]:
    """Names of the functions that were outlined."""
    from verified_tir.ir.node import IRError

    try:
        return [name for name, _ in inventory.schedule.module.functions if name != inventory.func.name]
    except IRError:
        return []
