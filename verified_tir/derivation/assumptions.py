"""What a theorem rests on, in sentences: the axioms that a caller must meet.

Nothing here is proved or used in a proof; it is what a person reads beside "proved".  Padding that there is none of, as
where the new extents fit, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.elaborate.contraction import contracted_buffers
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script, texts
from verified_tir.ir.stmt import Allocate, Assert, Assume, For, If, LetStmt, Stmt
from verified_tir.ir.sugar import binary
from verified_tir.ir.visit import free_vars, sub_statements, walk
from verified_tir.kernel.begin import LARGEST
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.rules.call import Implement
from verified_tir.kernel.theorem import Refines, Rule


def assumptions(theorem: Refines) -> list[str]:
    """Sentences about the arguments: their contents, extents and padding, and what the program itself assumes."""
    paddings = [p for p in theorem.paddings if not _never(p.predicate)]
    found = [_arrays(theorem.after, paddings)]
    found += _extents(theorem)
    found += [_padding(p) for p in paddings]
    found += [f"{claim} (T.assume in the program)" for claim in _assumed(theorem.start.body, ())]
    found += [f"{claim} (asserted by the schedule)" for s in theorem.assumed for claim in _assumed(s, ())]
    found += [_rounded(reassociated(theorem))] if theorem.reassociated else []
    found += [_fused(names)] if (names := contracted_buffers(theorem.start)) else []
    found += [f"{a} (an axiom, of tensorize)" for step in theorem.derivation if (a := axiom_of(step.rule))]
    return found


def axiom_of(rule: Rule) -> str:
    """What a rule believes, as a sentence; nothing, if all that it needs is proved."""
    if isinstance(rule, Implement):
        return f"{rule.implementation.name} does what {rule.description.name} describes"
    return ""


def _arrays(func: PrimFunc, paddings: list[Padding]) -> str:
    names = [b.name for b in func.buffers]
    if not names:
        return "the function has no arrays"
    but = " but for their padding" if any(p.value is None or isinstance(p.value, Undef) for p in paddings) else ""
    if len(names) == 1:
        return f"{names[0]} holds definite values{but.replace('their', 'its')}"
    return f"{', '.join(names)} hold definite values{but}, and what is written overlaps no other argument"


def _extents(theorem: Refines) -> Iterator[str]:
    """Each symbolic extent, symbols first.  A symbol that is not an extent itself may have any value of its type."""
    buffers = (*theorem.before.buffers, *theorem.after.buffers)
    extents = dict.fromkeys(e for b in buffers for e in b.shape if free_vars(e))
    given = dict.fromkeys(e for b in theorem.before.buffers for e in b.shape if free_vars(e))
    symbols = [e for e in extents if isinstance(e, Var)]
    for e in (*symbols, *(e for e in given if not isinstance(e, Var))):
        largest = LARGEST.get(e.dtype.bits, LARGEST[32])
        yield f"0 <= {script(e)} <= {largest}, and so for every number of elements"


def reassociated(theorem: Refines) -> list[str]:
    """The names of the buffers of the program as written whose float reductions were put into another order."""
    return sorted(_owner(theorem.before, data) for data in theorem.reassociated)


def _owner(func: PrimFunc, data: Var) -> str:
    """The name of the buffer as which a block was passed or allocated."""
    found = [*func.buffers, *(n.buffer for n in walk(func.body) if isinstance(n, Allocate))]
    return next(b.name for b in found if b.data is data)


def _rounded(names: list[str]) -> str:
    return f"the bits of a float reduction into {' or '.join(names)} may be those of another order of its terms"


def _fused(names: list[str]) -> str:
    return f"in {' and '.join(names)}, a product that is added to an element is not rounded by itself (T.fma)"


def _padding(p: Padding) -> str:
    stated = p.predicate if p.value is None else p.value
    element, predicate, value = texts(Load(p.buffer, p.indices), p.predicate, stated)
    where = " everywhere" if isinstance(p.predicate, IntImm) else f" where {predicate}"
    if p.value is None:
        return f"{element} is touched by nobody{where}"
    if isinstance(p.value, Undef):
        return f"{element} may be anything{where}, before and after"
    if p.owed:
        return f"{element} == {value}{where}, after; before it may be anything"
    return f"{element} == {value}{where}, before and after"


def _never(condition: Expr) -> bool:
    """Whether the condition is false as it stands; what takes a proof to see is shown."""
    match condition:
        case IntImm(value=value):
            return not value
        case Binary(op="and", a=a, b=b):
            return _never(a) or _never(b)
        case Binary(op="or", a=a, b=b):
            return _never(a) and _never(b)
    return False


def assumed_at(func: PrimFunc, path: Path) -> str:
    """What the statement at a path assumes or asserts, in a sentence."""
    around: list[str] = []
    stmt = func.body
    for step in path:
        around += _around(stmt, step)
        stmt = sub_statements(stmt)[step]
    claims = [script(stmt.condition)] if isinstance(stmt, Assert) else []
    claims = list(_claims(stmt.condition)) if isinstance(stmt, Assume) else claims
    return ", ".join((" and ".join(claims), *around))


def _assumed(stmt: Stmt, around: tuple[str, ...]) -> Iterator[str]:
    """What is assumed in a statement, with the loops, branches and lets around that say for what."""
    if isinstance(stmt, Assume):
        for claim in _claims(stmt.condition):
            yield ", ".join((claim, *around))
        return
    for k, inner in enumerate(sub_statements(stmt)):
        yield from _assumed(inner, (*around, *_around(stmt, k)))


def _around(stmt: Stmt, step: int) -> tuple[str, ...]:
    """What a statement says of a sub-statement: for which iterations it runs, on which condition, with which let."""
    match stmt:
        case For(var=v, min=low, extent=extent):
            high = binary("add", low, extent)
            first = "" if isinstance(low, IntImm) and not low.value else f"{script(low)}, "
            return (f"for {v.name} in range({first}{script(high)})",)
        case If(condition=condition):
            return (f"{'unless' if step else 'if'} {script(condition)}",)
        case LetStmt(var=v, value=value):
            return (f"with {v.name} = {script(value)}",)
    return ()


def _claims(condition: Expr) -> Iterator[str]:
    """The sentences of an assumed condition; in it, ``x == undef`` says that x may be evaluated."""
    match condition:
        case Binary(op="and", a=a, b=b):
            yield from _claims(a)
            yield from _claims(b)
        case Binary(op="eq", a=accessed, b=Undef()) | Binary(op="eq", a=Undef(), b=accessed):
            yield f"{script(accessed)} is accessible"
        case _:
            yield script(condition)
