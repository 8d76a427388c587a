"""Calls of the primitives about branches, what has no effect, and notes."""

from __future__ import annotations

from verified_tir.ir.stmt import Block, For
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.inventory import Inventory, call, quoted, statement_at
from verified_tir.testing.scheduling.step import writes

KEYS = ("pragma_unroll_explicit", "note")


@writes("simplify")
def simplify(inventory: Inventory, pick: Choices) -> str:
    return call("simplify")


@writes("remove_no_op")
def remove_no_op(inventory: Inventory, pick: Choices) -> str:
    return call("remove_no_op", inventory.maybe_in_block(pick))


@writes("remove_branching_through_overcompute")
def remove_branching_through_overcompute(inventory: Inventory, pick: Choices) -> str:
    wrap = "True" if pick.chance(4) else ""
    return call("remove_branching_through_overcompute", inventory.maybe_in_block(pick), wrap_indices=wrap)


@writes("remove_overcompute_through_branching")
def remove_overcompute_through_branching(inventory: Inventory, pick: Choices) -> str:
    return call("remove_overcompute_through_branching", inventory.maybe_in_block(pick))


@writes("hoist_expression")
def hoist_expression(inventory: Inventory, pick: Choices) -> str:
    conditions = pick.one(("", "HoistConditional(7)", "HoistConditional(2)", "HoistConditional(0)"))
    lets = "" if not conditions else pick.one(("", "HoistLetBinding(7)", "HoistLetBinding(2)", "HoistLetBinding(4)"))
    return call("hoist_expression", conditions, lets, inventory.maybe_in_block(pick))


@writes("reduce_loop_extents")
def reduce_loop_extents(inventory: Inventory, pick: Choices) -> str:
    return call("reduce_loop_extents", inventory.maybe_in_block(pick))


@writes("annotate")
def annotate(inventory: Inventory, pick: Choices) -> str:
    return call("annotate", inventory.place(pick), quoted(pick.one(KEYS)), pick.one(("1", '"yes"', "0.5", "[1]")))


@writes("unannotate")
def unannotate(inventory: Inventory, pick: Choices) -> str:
    places = [(x.text, x.path) for x in inventory.loops] + [(quoted(n), p) for n, p in inventory.blocks]
    noted = []
    for text, path in places:
        stmt = statement_at(inventory, path)
        if isinstance(stmt, (For, Block)):
            noted += [(text, key) for key, _ in stmt.annotations]
    if noted and not pick.chance(10):
        where, key = pick.one(noted)
        return call("unannotate", where, repr(key))
    return call("unannotate", inventory.place(pick), quoted(KEYS[0]))
