"""What to try after a refusal, in one sentence that names the loops, blocks and buffers concerned.

This is advice, and nothing of it was tried; what was tried and proved is a remedy (:mod:`.remedies`).  It follows from
the code of the refusal, the primitive that was called, and what the program does at the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from verified_tir.ir.stmt import Block, For
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.schedule.advice_on_steps import ON_STEPS
from verified_tir.schedule.codes import OBLIGATIONS
from verified_tir.schedule.seen import Seen
from verified_tir.schedule.spelling import meant

if TYPE_CHECKING:
    from verified_tir.schedule.errors import ScheduleError


def advice_on(refused: ScheduleError) -> str:
    """What to try; empty if there is nothing general to say, or the reason says it."""
    if refused.undecided:
        return (
            "constant extents, to see whether the step is right at all; a T.assume that states what you know; smaller "
            "steps; or a larger budget (Schedule(budget=…))"
        )
    seen = Seen(refused)
    if refused.code in ON_STEPS:
        return _spelt(seen) + _filled(ON_STEPS[refused.code], seen)
    found = _ON_CLAIMS.get(refused.code)
    return "" if found is None else found(seen)


_ON_CLAIM: TypeAlias = Callable[[Seen], str]


def _filled(template: str, seen: Seen) -> str:
    known = ", ".join(dict.fromkeys(f.var.name for f in nodes_of(seen.refused.program.body, For))) or "none"
    return template.format(
        step=seen.primitive, first=seen.first or "it", buffer=seen.buffer, loop=seen.loop, loops=known,
        size=seen.symbols[0] if seen.symbols else "n",
    )  # fmt: skip


def _spelt(seen: Seen) -> str:
    """What may have been meant by a name that there is not."""
    asked = re.search(r"there is no (loop|block|buffer) called '(\w+)'", seen.claim)
    if asked is None:
        return ""
    body = seen.refused.program.body
    names = {
        "loop": [f.var.name for f in nodes_of(body, For)],
        "block": [b.name for b in nodes_of(body, Block)],
        "buffer": list(seen.buffers),
    }
    found = meant(asked[2], names[asked[1]])
    return f"{found.removeprefix('; ')} " if found else ""


# -- safety ----------------------------------------------------------------------------------------------------------


def _bounds(seen: Seen) -> str:
    guard = _guard(seen)
    if seen.refused.code == "VT0201":
        stated = f"; or state what you know of the arguments: T.assume({guard})" if seen.symbols else ""
        return (
            f"guard it, as in T.if_then_else({guard}, {seen.what}, 0) or `if {guard}:` around a store; or shorten the "
            f"loop over {seen.loop}{stated}"
        )
    if seen.primitive == "remove_branching_through_overcompute":
        return (
            f"pad {seen.buffer} until {seen.what} exists, by its transform_layout with a pad_value and larger shape=; "
            "or name the block whose branch is to go, and leave this one"
        )
    return f"take the step where {guard} is known: inside of its branch, or after s.assume({guard})"


def _guard(seen: Seen) -> str:
    """The condition that the access of a claim lies inside of its buffer, as far as it is not plain."""
    name, _, rest = seen.what.partition("[")
    buffer = seen.buffers.get(name)
    indices = _split(rest.rstrip("]"))
    if buffer is None or len(indices) != len(buffer.shape):
        return "its index is in range"
    from verified_tir.ir.script import script

    parts = [(i, script(e)) for i, e in zip(indices, buffer.shape, strict=True)]
    odd = [(i, e) for i, e in parts if not i.isidentifier()] or parts
    return " and ".join(f"0 <= {i} and {i} < {e}" if "-" in i or "[" in i else f"{i} < {e}" for i, e in odd)


def _split(text: str) -> list[str]:
    """Indices of an access, split at the commas outside of brackets."""
    found, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            found.append("")
        else:
            found[-1] += c
    return [part.strip() for part in found]


def _overflow(seen: Seen) -> str:
    fits = f"state that it fits: T.assume({seen.what} <= 2147483647)" if seen.symbols else "make the extents smaller"
    return f"count in 64 bits, with T.int64(…) as the extents of the loops or symbols declared T.int64; or {fits}"


def _undef(seen: Seen) -> str:
    if "T.undef" in seen.claim:
        return "put a value where T.undef() stands: only what is stored may be undefined, no index, bound or condition"
    return (
        f"store to {seen.buffer} before it is read here; if it is read in padding, give the padding a value: "
        f"transform_layout({seen.buffer}, …, pad_value=0)"
    )


def _arithmetic(seen: Seen) -> str:
    if seen.claim.endswith("the assumption holds"):
        return _assumption(seen)
    if "division by zero" in seen.claim:
        divisor = re.split(r" // | % |/|floordiv|floormod", seen.what)[-1].strip("() ")
        return f"guard it with T.if_then_else({divisor} != 0, {seen.what}, …), or state T.assume({divisor} != 0)"
    if "shift" in seen.claim:
        return (
            f"keep the amount of the shift in {seen.what} from 0 to the number of bits less one, with T.min or a guard"
        )
    return (
        f"state that the extent {seen.what} is not negative: T.assume({seen.what} >= 0), or use T.max({seen.what}, 0)"
    )


def _assumption(seen: Seen) -> str:
    if seen.primitive in ("assume_precondition", "refine_call", "tensorize"):
        return (
            f"what the function assumes must hold where it is called: establish {seen.what} before, by a guard, by "
            "padding, or by s.assume(…, axiom=True) about an argument"
        )
    return (
        f"weaken {seen.what}; or say where it holds, with before= a loop; or, if it is about the arguments, make it "
        "an axiom of the theorem: axiom=True"
    )


def _accessible(seen: Seen) -> str:
    return (
        f"the padding of {seen.buffer} was declared with pad_value=None, which nothing may touch: give its "
        "transform_layout "
        "a value, pad_value=0 or pad_value=T.undef(); or keep the branch, by naming the blocks whose branches are to go"
    )


# -- races and dependences -------------------------------------------------------------------------------------------


def _race(seen: Seen) -> str:
    loop = re.search(r"loop over (\w+)", seen.claim)
    name = loop[1] if loop else seen.first
    if "opaque call" in seen.claim:
        return (
            f"mark a loop inside of {name} that holds no opaque call, or replace the call by an intrinsic (tensorize)"
        )
    if "each has its own" in seen.claim:
        return (
            f"bring all uses of {seen.buffer} into one iteration of {name}, by compute_at or reverse_compute_at; or "
            f'keep it where all threads see it: set_scope("{seen.buffer}", "global")'
        )
    if seen.is_local:
        return (
            f"each iteration of {name} needs its own {seen.buffer}: let it store there before it reads, then "
            f'sink_allocation("{seen.buffer}"); or mark another loop'
        )
    update = seen.update
    if update is not None:
        used = {v.name for i in update.indices for v in free_vars(i)}
        own = [f.var.name for f in seen.around if f.var.name in used - {name}]
        other = f"mark a loop over its elements instead ({', '.join(own)})" if own else "mark a loop outside of the sum"
        return (
            f"the iterations of {name} update one element of {seen.buffer}: {other}, or split the sum: "
            f'rfactor("{name}")'
        )
    return (
        f"iterations of {name} meet in {seen.buffer}: mark another loop; or, if they only seem to, split {name} so "
        f"that the iterations of a part are independent; or read old values from a copy: cache_read of {seen.buffer}"
    )


def _dependence(seen: Seen) -> str:
    match seen.primitive:
        case "reorder" | "tile" | "sequential_buffer_access" | "transform_block_layout" | "fuse_reduction_epilogue":
            return _order(seen)
        case "fission":
            return f"cut elsewhere (position=), so that what writes {seen.buffer} stays with what reads it before"
        case "merge" | "merge_loops" | "merge_adjacent_loops" | "move_before" | "move_after":
            return (
                f"what meets in {seen.buffer} must keep its order: leave the two apart, or compute one where the "
                f"other needs it, by compute_at or reverse_compute_at"
            )
        case "compute_at" | "rolling_buffer" | "compute_inline":
            return (
                f"{seen.buffer} changes between the old place and the new one: move to a loop that stands before that "
                f"change, or keep the old values: cache_read of {seen.buffer}"
            )
        case "reverse_compute_at" | "decompose_reduction" | "decompose_padding":
            return f"something between the two places uses {seen.buffer}: move that first (move_before, fission)"
        case "cache_read" | "cache_write" | "read_at" | "write_at" | "cache_inplace":
            return (
                f"{seen.buffer} is used through another view or in another place meanwhile: copy at an inner loop, or "
                f"move those uses out of it first"
            )
    return (
        f"keep the order of what reads and writes {seen.buffer}; move the statement in between first (move_before, "
        "fission)"
    )


def _order(seen: Seen) -> str:
    if seen.update is not None or "reassociate" in seen.claim:
        return (
            f"if the sum into {seen.buffer} may be rounded otherwise, say so: {seen.primitive}(…, "
            f'reassociate="{seen.buffer}"); '
            "or keep the loops of the sum in their order"
        )
    return (
        f"iterations depend on each other through {seen.buffer}: keep their order, or take out the statements that do "
        f"not (fission), or read old values from a copy (cache_read of {seen.buffer})"
    )


def _bijection(seen: Seen) -> str:
    size = seen.symbols[0] if seen.symbols else ""
    match seen.primitive:
        case "merge" | "merge_loops" | "merge_adjacent_loops":
            return (
                "the loops run over different ranges: give them the same one first, by partition or peel of the longer"
            )
        case "split" | "tile":
            return (
                "choose factors that divide the extent, or leave the guard (no disable_predication); of a symbolic "
                f"extent say what divides it: T.assume({size or 'n'} % 4 == 0) at the head of the program"
            )
        case "pad_einsum":
            return f"pad the loops that index the result only, or choose a factor of 1 for {seen.loop}"
    if size:
        return f"the loop may be empty or shorter than that: T.assume({size} >= 1), or as much as the step needs"
    return (
        f"the iterations before and after must be the same: partition or peel the loop over {seen.loop} so that they "
        "are"
    )


def _rounding(seen: Seen) -> str:
    if "NaN" in seen.claim:
        return (
            "state that there is no NaN in what is read: s.assume(lambda …: A[…] == A[…], A, axiom=True) for each "
            f"input of the {_kind(seen)}"
        )
    return (
        f"if the {_kind(seen)} into {seen.buffer} may be rounded otherwise, say so: {seen.primitive}(…, "
        f'reassociate="{seen.buffer}")'
    )


def _kind(seen: Seen) -> str:
    return next((w for w in ("sum", "product", "max", "min") if re.search(rf"\b{w}\b", seen.claim)), "reduction")


# -- other claims ----------------------------------------------------------------------------------------------------


def _no_op(seen: Seen) -> str:
    if seen.primitive in ("remove_loop",):
        return f"iterations after the first store something else to {seen.buffer}: keep the loop"
    if seen.primitive == "write_padding":
        return f"the padding of {seen.buffer} must hold that value already: pad it so, transform_layout(…, pad_value=…)"
    return (
        f"let the padding hold what leaves {seen.buffer} as it is, as pad_value=0 for a sum of products, the lowest "
        f"value for a maximum; let a sum begin with 0.0 (x + 0.0 is not x for -0.0); or keep the branch"
    )


def _equal(seen: Seen) -> str:
    match seen.primitive:
        case "compute_inline" | "reverse_compute_inline":
            return (
                f"{seen.buffer} is read where it holds something else than the one value that is stored to it: inline "
                f"before the step that changed that, or use compute_at"
            )
        case "inline_let" | "bind_expr":
            return (
                "memory that the expression reads is written meanwhile: choose a block in which nothing stores to "
                f"{seen.buffer}"
            )
        case "unsafe_set_dtype":
            return f"keep the type of {seen.buffer}, or choose one that holds all of its values"
        case "remove_branching_through_overcompute":
            return (
                "both branches must store the same where the condition is false: choose a pad_value from which the "
                "first computes what the second stores, or keep the branch"
            )
    return (
        f"both must have the same bits, whatever the arguments hold: write {seen.buffer} as before, or assume what "
        "makes them equal"
    )


def _stage(seen: Seen) -> str:
    source = re.search(r"what writes (\w+)", seen.claim)
    name = source[1] if source else seen.buffer
    return (
        f"{name} is written while the copy is in use: copy at an inner loop that does not write it, or copy what is "
        f"written, too: cache_write or cache_inplace of {name}"
    )


def _dead_store(seen: Seen) -> str:
    return (
        f"a later read sees what is stored to {seen.buffer}: keep the store, or move the reader (reverse_compute_at) "
        "so that it comes before"
    )


_ON_CLAIMS: Final[dict[str, _ON_CLAIM]] = {
    "VT0201": _bounds,
    "VT0401": _bounds,
    "VT0202": _overflow,
    "VT0402": _overflow,
    "VT0203": _undef,
    "VT0403": _undef,
    "VT0204": _arithmetic,
    "VT0205": _arithmetic,
    "VT0206": _arithmetic,
    "VT0404": _arithmetic,
    "VT0405": _accessible,
    "VT0208": _race,
    OBLIGATIONS["race"]: _race,
    OBLIGATIONS["dependence"]: _dependence,
    OBLIGATIONS["bijection"]: _bijection,
    OBLIGATIONS["rounding"]: _rounding,
    OBLIGATIONS["no-op"]: _no_op,
    OBLIGATIONS["equal"]: _equal,
    OBLIGATIONS["stage"]: _stage,
    OBLIGATIONS["dead-store"]: _dead_store,
}
"""By the code of a refusal; codes whose advice needs no look at the program are in :mod:`.advice_on_steps`."""
