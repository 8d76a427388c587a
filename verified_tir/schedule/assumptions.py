"""What a theorem rests on, in sentences: the axioms that a caller must meet.

Nothing here is proved or used in a proof; it is what a person reads beside "proved".
"""

from __future__ import annotations

from verified_tir.ir.expr import Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Assume
from verified_tir.ir.visit import free_vars, walk
from verified_tir.kernel.context import LARGEST
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.theorem import Refines


def assumptions(theorem: Refines) -> list[str]:
    """Sentences about the arguments: their extents, their padding, what the program itself assumes."""
    found = [_arrays(theorem.after)]
    found += [_extent(v) for v in _symbols(theorem)]
    found += [_padding(p) for p in theorem.paddings]
    found += [
        f"{script(n.condition)} (T.assume in the program)" for n in walk(theorem.before.body) if isinstance(n, Assume)
    ]
    return found


def _arrays(func: PrimFunc) -> str:
    names = ", ".join(b.name for b in func.buffers)
    return f"{names or 'the arguments'} hold definite values, and what is written overlaps no other argument"


def _symbols(theorem: Refines) -> list[Var]:
    buffers = (*theorem.before.buffers, *theorem.after.buffers)
    return list(dict.fromkeys(v for b in buffers for e in b.shape for v in free_vars(e)))


def _extent(v: Var) -> str:
    return f"0 <= {v.name} <= {LARGEST.get(v.dtype.bits, LARGEST[32])}, and so for every number of elements"


def _padding(p: Padding) -> str:
    element = f"{p.buffer.name}[{', '.join(v.name for v in p.indices)}]"
    where = script(p.predicate)
    if p.value is None:
        return f"{element} is touched by nobody where {where}"
    if isinstance(p.value, Undef):
        return f"{element} may be anything where {where}, before and after"
    return f"{element} == {script(p.value)} where {where}, before and after"
