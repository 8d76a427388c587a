"""Reductions over an axis that is bound to threads, as blocks declare them.

    for k in threads:
        with block("sum"):
            vk = reduce(4, k)
            B[0] = B[0] + A[vk]

TVM makes an exchange between threads of that (``LowerCrossThreadReduction``), so it is no race.  It is one if the loop
does anything else with that memory: another store, a load, or an update whose result depends on the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from verified_tir.ir.expr import Binary, Call, IntImm, Load, Var
from verified_tir.ir.node import once
from verified_tir.ir.stmt import AttrStmt, Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import children, mentions, nodes_of, substitute
from verified_tir.validate.calls import needs_order

_ANY_ORDER: Final = frozenset({"add", "mul", "min", "max", "bitand", "bitor", "bitxor"})
"""Operators that are associative and commutative (of floats, as real numbers)."""


def reduces(loop: For, data: Var | None) -> bool:
    """Whether all that a loop does with a block of memory is to reduce into it, in one block, over an axis that the
    loop decides."""
    return data is not None and data in reduced_by(loop)


@once
def reduced_by(loop: For) -> frozenset[Var]:
    """The blocks of memory that a loop does nothing with but reduce into them."""
    if any(needs_order(call) for call in nodes_of(loop.body, Call)):
        return frozenset()
    stored = dict.fromkeys(store.buffer.data for store in nodes_of(loop.body, Store))
    return frozenset([data for data in stored if _Updates(loop, frozenset({data})).alone()])


@final
@dataclass(slots=True)
class _Updates:
    """What a loop does with one block of memory.

    ``over`` are the loop's variable and the axes that it decides, ``operators`` those of the updates, ``blocks`` counts
    the blocks with such axes.
    """

    loop: For
    data: frozenset[Var]
    over: set[Var] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)
    blocks: int = 0

    def alone(self) -> bool:
        """Whether there are updates in one block only, with one operator, and nothing else."""
        self.over.add(self.loop.var)
        return self._fits(self.loop.body, frozenset(), within=False) and self.blocks == 1 == len(self.operators)

    def _fits(self, stmt: Stmt, free: frozenset[Var], *, within: bool) -> bool:
        """Whether there is nothing but updates.  ``free`` are variables around that no axis is bound to."""
        if not mentions(stmt, self.data):
            return True
        match stmt:
            case Store():
                return within and self._updates(stmt)
            case Block():
                return self._block_fits(stmt, free, within=within)
            case For(var=var, extent=extent) if not (isinstance(extent, IntImm) and extent.value <= 1):
                free = free | {var}
            case LetStmt(var=var, value=value, body=body) if mentions(value, self.data):  # one of several results
                stores = [s for s in nodes_of(body, Store) if s.buffer.data in self.data]
                return len(stores) == 1 and self._fits(substitute(body, {var: value}), free, within=within)
            case Seq() | For() | If() | LetStmt() | AttrStmt():
                pass
            case _:
                return False
        return all(
            self._fits(part, free, within=within) if isinstance(part, Stmt) else not mentions(part, self.data)
            for part in children(stmt)
        )

    def _block_fits(self, block: Block, free: frozenset[Var], *, within: bool) -> bool:
        decided = [iv.var for iv in block.iter_vars if iv.kind == "reduce" and mentions(iv.value, frozenset(self.over))]
        self.over.update(decided)
        self.blocks += bool(decided) and not within
        within = within or bool(decided)
        asked = [e for iv in block.iter_vars for e in (iv.min, iv.extent, iv.value)]
        free = frozenset([v for v in free if not any(mentions(iv.value, frozenset({v})) for iv in block.iter_vars)])
        if any(mentions(e, self.data) for e in (*asked, block.predicate)):
            return False
        init = block.init
        if init is not None and mentions(init, self.data):  # once for each element, then
            read = any(load.buffer.data in self.data for load in nodes_of(init, Load))
            if read or free or not within:
                return False
        return self._fits(block.body, free | {iv.var for iv in block.iter_vars}, within=within)

    def _updates(self, store: Store) -> bool:
        """Whether a store is ``B[x] = B[x] ⊕ e`` or ``B[x] = e ⊕ B[x]``, where the order of updates does not matter."""
        own = Load(store.buffer, store.indices)
        match store.value:
            case Binary(op=op, a=a, b=b) if op in _ANY_ORDER and store.predicate is None and (a is own or b is own):
                term = b if a is own else a
                self.operators.add(op)
                return not any(mentions(e, self.data) for e in (term, *store.indices))
        return False
