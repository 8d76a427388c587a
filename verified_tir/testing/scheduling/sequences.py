"""Sequences of steps that people take: one primitive prepares what the next one needs.

Each sequence looks at the program anew before each step, and goes on whatever became of the one before: a step that is
refused leaves nothing behind, and the next one is tried on what there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verified_tir.testing.scheduling import blocks, calls, layouts, loops, rewrites, staging, tiles
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import reduced
from verified_tir.testing.scheduling.inventory import Inventory, call, listed, quoted
from verified_tir.testing.scheduling.step import WRITERS, Step, sequence

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

Steps = Iterator[Step]


def write(primitive: str, s: Schedule, pick: Choices) -> Step:
    """A step with arguments for the program as it is now."""
    return Step(primitive, WRITERS[primitive](Inventory(s), pick))


def step(primitive: str, *arguments: str, **named: str) -> Step:
    """A step with these arguments."""
    return Step(primitive, call(primitive, *arguments, **named))


@sequence
def tile_reorder_mark(s: Schedule, pick: Choices) -> Steps:
    """Two loops in tiles, the inner ones turned, one of them marked."""
    found = Inventory(s).chain(pick, 2, 2)
    if len(found) < 2:
        yield write("split", s, pick)
    else:
        yield step("tile", *(x.text for x in found), factors=listed(pick.one(loops.FACTORS) for _ in found))
    yield write("reorder", s, pick)
    yield write(pick.one(("vectorize", "parallel", "unroll", "bind")), s, pick)
    yield write("simplify", s, pick)


@sequence
def layout_and_follow(s: Schedule, pick: Choices) -> Steps:
    """A parameter in another layout, the loops after it, and the branches gone (RFC 77)."""
    inventory = Inventory(s)
    _, buffer = inventory.buffer(pick)
    text = layouts.transform(inventory, pick, [buffer] if buffer is not None else inventory.buffers)
    yield Step("transform_layout", text)
    name = quoted(buffer.name) if buffer is not None else inventory.buffer(pick)[0]
    yield step("sequential_buffer_access", name, reassociate=loops.licence(inventory, pick))
    yield write(pick.one(("remove_branching_through_overcompute", "remove_overcompute_through_branching", "simplify")),
                s, pick)  # fmt: skip
    yield write(pick.one(("remove_no_op", "assume_padding", "write_padding", "vectorize")), s, pick)
    yield write(pick.one(("remove_branching_through_overcompute", "reduce_loop_extents")), s, pick)


@sequence
def assume_and_overcompute(s: Schedule, pick: Choices) -> Steps:
    """Something is assumed of a parameter, then used."""
    yield write(pick.one(("assume", "add_buffer_constraint")), s, pick)
    inventory = Inventory(s)
    yield Step("transform_layout", layouts.transform(inventory, pick, list(inventory.func.buffers)))
    yield write(pick.one(("remove_branching_through_overcompute", "simplify", "remove_no_op")), s, pick)
    yield write(pick.one(("simplify", "remove_overcompute_through_branching", "reorder", "rfactor")), s, pick)


@sequence
def copy_and_compute_at(s: Schedule, pick: Choices) -> Steps:
    """A copy, computed where it is used, in a smaller buffer."""
    yield write(pick.one(("cache_read", "cache_write")), s, pick)
    yield write("split", s, pick)
    yield write(pick.one(("compute_at", "reverse_compute_at")), s, pick)
    yield write(pick.one(("set_scope", "sink_allocation", "bind", "vectorize")), s, pick)
    yield write(pick.one(("compute_inline", "reverse_compute_inline", "parallel")), s, pick)


@sequence
def copy_in_another_layout(s: Schedule, pick: Choices) -> Steps:
    """A copy whose layout has padding."""
    yield write(pick.one(("cache_read", "cache_write")), s, pick)
    inventory = Inventory(s)
    yield Step("transform_layout", layouts.transform(inventory, pick, inventory.local or inventory.buffers))
    yield write("sequential_buffer_access", s, pick)
    yield write("remove_branching_through_overcompute", s, pick)
    yield write(pick.one(("compute_inline", "compute_at", "remove_no_op")), s, pick)


@sequence
def partial_sums(s: Schedule, pick: Choices) -> Steps:
    """A reduction in groups, then something that could rely on its bits."""
    found = reduced(Inventory(s))
    if found:
        loop = pick.one(found)
        yield step("split", loop.text, f"[None, {loops.factor(pick, loop)}]")
    else:
        yield write("split", s, pick)
    yield write("rfactor", s, pick)
    yield write(pick.one(("parallel", "vectorize", "reorder", "compute_at", "reverse_compute_at")), s, pick)
    yield write(pick.one(("remove_no_op", "simplify", "remove_branching_through_overcompute", "rfactor")), s, pick)


@sequence
def initialisation_apart(s: Schedule, pick: Choices) -> Steps:
    """The initialisation of a reduction in a nest of its own, and what then fits."""
    yield write("decompose_reduction", s, pick)
    yield write(pick.one(("tensorize", "vectorize", "parallel", "merge_adjacent_loops")), s, pick)
    yield write(pick.one(("pad_einsum", "reorder", "compute_inline", "remove_no_op")), s, pick)


@sequence
def padded_product(s: Schedule, pick: Choices) -> Steps:
    """A sum of products on padded copies, in tiles."""
    yield write("pad_einsum", s, pick)
    yield write("split", s, pick)
    yield write(pick.one(("reorder", "compute_inline", "tensorize", "vectorize")), s, pick)


@sequence
def function_apart(s: Schedule, pick: Choices) -> Steps:
    """A nest becomes a function, is scheduled alone, and comes back."""
    if not Inventory(s).blocks:
        yield write("blockize", s, pick)
    yield write("outline", s, pick)
    yield write(pick.one(("refine_call", "assume_precondition", "refine_call")), s, pick)
    yield write(pick.one(("split", "simplify", "compute_at", "remove_no_op")), s, pick)
    yield write("inline", s, pick)


@sequence
def intrinsic(s: Schedule, pick: Choices) -> Steps:
    """Tiles become an intrinsic."""
    yield write("split", s, pick)
    yield write("reorder", s, pick)
    yield write("blockize", s, pick)
    yield write("tensorize", s, pick)
    yield write(pick.one(("inline", "parallel", "simplify", "reorder")), s, pick)


@sequence
def merged_stages(s: Schedule, pick: Choices) -> Steps:
    """Neighbouring nests as one, their buffer made small or done without."""
    yield write(pick.one(("merge_adjacent_loops", "merge_loops", "move_after")), s, pick)
    yield write(pick.one(("sink_allocation", "compute_inline", "reverse_compute_inline")), s, pick)
    yield write(pick.one(("fission", "remove_no_op", "parallel", "vectorize")), s, pick)


@sequence
def ranges_cut(s: Schedule, pick: Choices) -> Steps:
    """A loop in parts, the branches in them decided."""
    yield write(pick.one(("partition", "peel", "split")), s, pick)
    yield write(pick.one(("simplify", "hoist_expression", "reduce_loop_extents")), s, pick)
    yield write(pick.one(("merge_loops", "remove_loop", "remove_no_op", "fuse")), s, pick)


@sequence
def named_values(s: Schedule, pick: Choices) -> Steps:
    """An expression gets a name, or a store two steps, and statements move past it."""
    yield write(pick.one(("bind_expr", "split_write")), s, pick)
    yield write(pick.one(("fission", "move_before", "move_after", "hoist_expression")), s, pick)
    yield write(pick.one(("inline_let", "merge_writes", "compute_inline", "remove_no_op")), s, pick)


@sequence
def noted_and_forgotten(s: Schedule, pick: Choices) -> Steps:
    """A loop or a block is annotated and changed, and the annotation is taken away."""
    yield write("annotate", s, pick)
    yield write(pick.one(("split", "reorder", "fuse", "simplify", "unroll")), s, pick)
    yield write("unannotate", s, pick)


@sequence
def stores_apart(s: Schedule, pick: Choices) -> Steps:
    """A store in two steps, something between them, and one store again."""
    yield write("split_write", s, pick)
    yield write(pick.one(("simplify", "fission", "restate", "reorder")), s, pick)
    yield write("merge_writes", s, pick)


@sequence
def memory_of_an_iteration(s: Schedule, pick: Choices) -> Steps:
    """A copy that each iteration of a loop makes anew, in memory of its own."""
    yield write(pick.one(("cache_read", "cache_write")), s, pick)
    yield write(pick.one(("compute_at", "reverse_compute_at", "merge_adjacent_loops")), s, pick)
    yield write("sink_allocation", s, pick)
    yield write(pick.one(("parallel", "vectorize", "unroll", "set_scope")), s, pick)


@sequence
def padding_of_results(s: Schedule, pick: Choices) -> Steps:
    """A parameter that is written gets padding, which is stored, too (RFC 77's stage for producers)."""
    inventory = Inventory(s)
    text, buffer = inventory.buffer(pick, [b for b in inventory.func.buffers if b in inventory.written])
    zero = "0.0" if buffer is not None and buffer.dtype.is_float else "0"
    pad = pick.one(("T.undef()", "T.undef()", zero))
    yield step("transform_layout", text, layouts.padding_map(pick, buffer), pad_value=pad)
    yield write(pick.one(("sequential_buffer_access", "assume_padding", "simplify")), s, pick)
    yield step("write_padding", text, "" if pick.chance(2) else zero)
    yield write(pick.one(("simplify", "merge_adjacent_loops", "remove_no_op", "vectorize")), s, pick)
    yield write(pick.one(("remove_branching_through_overcompute", "reduce_loop_extents", "parallel")), s, pick)


@sequence
def padding_left_alone(s: Schedule, pick: Choices) -> Steps:
    """Parameters get padding, loops run over all of it, and then no more."""
    inventory = Inventory(s)
    text, buffer = inventory.buffer(
        pick, [b for b in inventory.func.buffers if b not in inventory.written] or inventory.buffers
    )
    zero = "0.0" if buffer is not None and buffer.dtype.is_float else "0"
    mapped = layouts.padding_map(pick, buffer)
    yield step("transform_layout", text, mapped, pad_value=zero)
    for b in inventory.func.buffers:  # those of the same shape hold the results, where each has one element to read
        if buffer is not None and b is not buffer and layouts.extents(b) == layouts.extents(buffer):
            yield step("transform_layout", inventory.named(b), mapped, pad_value=zero)
    yield step("sequential_buffer_access", text, reassociate=loops.licence(inventory, pick))
    yield step("remove_branching_through_overcompute", wrap_indices="" if pick.chance(2) else "True")
    yield step("remove_overcompute_through_branching")
    yield write(pick.one(("simplify", "hoist_expression", "reduce_loop_extents", "partition")), s, pick)


__all__ = ["blocks", "calls", "layouts", "loops", "rewrites", "staging", "tiles"]
