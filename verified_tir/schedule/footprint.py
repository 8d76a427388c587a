"""The footprint of a statement: which elements of a buffer it accesses (RFC 77, "Predicate for DomainTouched").

Input: a program, a buffer, and the block or loop that is asked about.  Output: a :class:`DomainTouched`: a range for
each dimension, and a condition over the indices.  The indices of each access are inverted as an index map; where they
do not determine the iteration (``A[i + f]``), the condition has *witnesses*: there is some f for which it holds.

The analysis is not part of any proof.  It gives more elements than are accessed only where it says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from verified_tir.elaborate.blocks import expand
from verified_tir.index.bounds import Ranges
from verified_tir.index.conditions import junction, operands
from verified_tir.index.evaluate import UnsafeIndex, evaluate
from verified_tir.index.fold import size
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, TRUE, Expr, IntImm, Var
from verified_tir.ir.find import block_path, local_buffers, loop_path
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at, places
from verified_tir.ir.stmt import For, Stmt
from verified_tir.ir.sugar import all_of, binary, const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.schedule.footprint_accesses import pieces
from verified_tir.schedule.footprint_solve import POINTS, Solved, index_variables, of_one_type, solve

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

Mask = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True)
class DomainTouched:
    """The elements of ``buffer`` that are accessed: those within ``ranges`` for which ``predicate`` holds.

    :ivar indices: one variable for each dimension.
    :ivar ranges: (least index, number of indices) for each dimension.
    :ivar predicate: a condition over the indices, the witnesses, shape symbols and loops around the statement.
    :ivar witnesses: further variables of the predicate, with their ranges: an element is accessed if it holds for some
        values of theirs.
    :ivar exact: whether each of these elements is accessed in every run (that has no undefined behaviour).
    :ivar why: if not, why there may be fewer.
    """

    buffer: Buffer
    indices: tuple[Var, ...]
    ranges: tuple[tuple[Expr, Expr], ...]
    predicate: Expr
    witnesses: tuple[tuple[Var, Expr, Expr], ...] = ()
    exact: bool = True
    why: str = ""

    def elements(self, values: Mapping[Var | str, int] | None = None) -> set[tuple[int, ...]]:
        """The elements themselves.

        :param values: of the symbols and loops that ranges and predicate mention, by variable or name.
        :raises IRError: if one is missing.
        """
        known = self._known(values or {})
        mask = _holds(self, known)
        low = [_number(e, known) for e, _ in self.ranges]
        return {tuple(int(x) + a for x, a in zip(point, low, strict=True)) for point in np.argwhere(mask)}

    def _known(self, values: Mapping[Var | str, int]) -> dict[Var, int]:
        """The values of all free variables."""
        own = {*self.indices, *(v for v, _, _ in self.witnesses)}
        exprs = [self.predicate, *(e for r in self.ranges for e in r), *(e for _, *r in self.witnesses for e in r)]
        known: dict[Var, int] = {}
        for v in dict.fromkeys(v for e in exprs for v in free_vars(e) if v not in own):
            value = values.get(v, values.get(v.name))
            if value is None:
                raise IRError(f"the elements of {self.buffer.name} depend on {v.name}; give its value")
            known[v] = value
        return known

    def __str__(self) -> str:
        from verified_tir.ir.script import script

        element = f"{self.buffer.name}[{', '.join(v.name for v in self.indices)}]" if self.indices else self.buffer.name
        if self.predicate is FALSE:
            return f"no element of {self.buffer.name}"
        conditions = [f"{v.name} in {_range_text(*r)}" for v, r in zip(self.indices, self.ranges, strict=True)]
        conditions += [] if self.predicate is TRUE else [script(self.predicate)]
        some = [f"some {v.name} in {_range_text(low, n)}" for v, low, n in self.witnesses]
        text = f"{element} where {', '.join(conditions)}" if conditions else element
        text += f", for {' and '.join(some)}" if some else ""
        return text if self.exact else f"at most {text} ({self.why})"


def domain_touched(
    program: PrimFunc | Schedule | str,
    buffer: str | Buffer,
    block: str | None = None,
    *,
    loop: Var | str | None = None,
    reads: bool = True,
    writes: bool = True,
) -> DomainTouched:
    """The footprint of a program, or of a block or loop in it, in a buffer: the elements that it reads or writes.

    Loops inside are run through; of loops outside, and of shape symbols, the result is a function.

    :param program: a function, its text, or a schedule.
    :param buffer: a parameter or local buffer, or its name.
    :param block: ask about this block only;
    :param loop: or about this loop only.
    :param reads: whether elements count that are read,
    :param writes: and whether those do that are written.
    :raises IRError: if there is no such buffer, block or loop.
    """
    func = _function(program)
    func = func.with_body(expand(func.body))
    found = _buffer(func, buffer)
    stmt = _statement(func, block, loop if isinstance(program, (PrimFunc, str)) else _current(program, loop))
    return footprint_of(stmt, found, reads=reads, writes=writes)


def footprint_of(stmt: Stmt, buffer: Buffer, *, reads: bool = True, writes: bool = True) -> DomainTouched:
    """The footprint of a statement in a buffer; its blocks must be expanded."""
    parts = [p for p in pieces(stmt, buffer) if (p.write and writes) or (not p.write and reads)]
    shape, parts = of_one_type(buffer.shape, parts)
    indices = index_variables(buffer.name, shape, parts)
    distinct = dict.fromkeys(replace(p, write=False) for p in parts)  # what is read and written counts once
    return _union(buffer, indices, [solve(shape, indices, p) for p in distinct])


# -- looking up --------------------------------------------------------------------------------------------------------


def _function(program: PrimFunc | Schedule | str) -> PrimFunc:
    if isinstance(program, str):
        from verified_tir.ir.script import parse_func

        return parse_func(program)
    return program if isinstance(program, PrimFunc) else program.func


def _current(schedule: Schedule, loop: Var | str | None) -> Var | str | None:
    """The loop that a handle means now."""
    return schedule._session.current(loop) if isinstance(loop, Var) else loop


def _buffer(func: PrimFunc, wanted: str | Buffer) -> Buffer:
    known = [*func.buffers, *local_buffers(func.body)]
    name = wanted if isinstance(wanted, str) else wanted.name
    found = [b for b in known if b is wanted] or [b for b in known if b.name == name]
    if len(found) != 1:
        names = ", ".join(b.name for b in known) or "none"
        count = f"are {len(found)} buffers" if found else "is no buffer"
        raise IRError(f"there {count} called {name!r}; the buffers are {names}")
    return found[0]


def _statement(func: PrimFunc, block: str | None, loop: Var | str | None) -> Stmt:
    if block is not None:
        path = block_path(func, block)
        if path is None:
            raise IRError(f"there is no block called {block!r}")
        return at(func.body, path)
    if loop is None:
        return func.body
    if isinstance(loop, Var):
        path = loop_path(func, loop)
        found = [] if path is None else [path]
    else:
        found = [p for p, s in places(func.body, lambda s: isinstance(s, For) and s.var.name == loop)]
    if len(found) != 1:
        name = loop if isinstance(loop, str) else loop.name
        raise IRError(f"there are {len(found)} loops called {name!r}")
    return at(func.body, found[0])


# -- all accesses ------------------------------------------------------------------------------------------------------


def _union(buffer: Buffer, indices: tuple[Var, ...], parts: Sequence[Solved]) -> DomainTouched:
    """The union of the footprints of several accesses."""
    zero = tuple((const(0, v.dtype), const(0, v.dtype)) for v in indices)
    live = [p for p in parts if FALSE not in p.conditions]
    if not live:
        return DomainTouched(buffer, indices, zero, FALSE)
    hull = tuple(reduce(_hull, rs) for rs in zip(*(p.ranges for p in live), strict=True))
    ranges = dict(zip(indices, hull, strict=True))
    predicates: dict[Expr, None] = {}
    witnesses: Ranges = {}
    for p in live:
        inside = [c for v, r, whole in zip(indices, p.ranges, hull, strict=True) for c in _within(v, r, whole)]
        some = {v: (low, n) for v, low, n in p.witnesses}
        narrow = [] if len(live) == 1 else _never_empty(some)
        conditions = list(dict.fromkeys([*inside, *p.conditions, *narrow]))
        predicates[all_of(conditions) if conditions else TRUE] = None
        witnesses |= some
    predicate = TRUE if TRUE in predicates else junction("or", list(predicates))
    predicate, witnesses = _renamed_apart(predicate, witnesses)
    used = set(free_vars(predicate))
    why = next((p.why for p in live if p.why), "")
    whole = DomainTouched(
        buffer, indices, tuple(ranges.values()), predicate,
        tuple((v, *r) for v, r in witnesses.items() if v in used), not why, why,
    )  # fmt: skip
    return _shrunk(whole)


def _never_empty(witnesses: Ranges) -> list[Expr]:
    """Let every witness have a value, and return what that value must fulfil: where one access has no witness, what
    another access touches is touched all the same."""
    narrow: list[Expr] = []
    for v, (low, n) in witnesses.items():
        if not (isinstance(n, IntImm) and n.value > 0):
            witnesses[v] = low, binary("max", n, const(1, n.dtype))
            narrow.append(binary("lt", v, low + n))
    return narrow


def _renamed_apart(predicate: Expr, witnesses: Ranges) -> tuple[Expr, Ranges]:
    """The predicate with witnesses renamed apart: nothing else in it has their names."""
    taken = {v.name for v in free_vars(predicate) if v not in witnesses}
    renamed: dict[Var, Expr] = {}
    found: Ranges = {}
    for v, r in witnesses.items():
        name = next(n for k in count() if (n := v.name if k == 0 else f"{v.name}_{k}") not in taken)
        taken.add(name)
        renamed[v] = new = Var.fresh(name, v.dtype)
        found[new] = r
    return substitute(predicate, renamed), found


def _hull(a: tuple[Expr, Expr], b: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    """The smallest range around two; of symbolic ones with ``min`` and ``max``."""
    if a == b:
        return a
    low = binary("min", a[0], b[0])
    return low, simplify_index(binary("max", a[0] + a[1], b[0] + b[1]) - low, {})


def _within(v: Var, own: tuple[Expr, Expr], whole: tuple[Expr, Expr]) -> Iterator[Expr]:
    """The condition that an index lies in the range of one access, where that is smaller than the whole."""
    if own == whole:
        return
    ranges = {v: whole}
    for c in (binary("le", own[0], v), binary("lt", v, own[0] + own[1])):
        short = simplify_index(c, ranges)
        if not (isinstance(short, IntImm) and short.value == 1):
            yield short


def _shrunk(domain: DomainTouched) -> DomainTouched:
    """The ranges of the elements themselves, where all is constant and small."""
    try:
        known = domain._known({})
        counts = [_number(n, known) for _, n in domain.ranges]
        counts += [_number(n, known) for _, _, n in domain.witnesses]
    except IRError:
        return domain
    if int(np.prod([max(n, 0) for n in counts], dtype=np.int64)) > POINTS:
        return domain
    mask = _holds(domain, known)
    if not mask.any():
        zero = tuple((const(0, v.dtype), const(0, v.dtype)) for v in domain.indices)
        return DomainTouched(domain.buffer, domain.indices, zero, FALSE)
    ranges = []
    for d, (v, (low, _)) in enumerate(zip(domain.indices, domain.ranges, strict=True)):
        hit = np.flatnonzero(mask.any(axis=tuple(k for k in range(mask.ndim) if k != d)))
        ranges.append((const(_number(low, known) + int(hit[0]), v.dtype), const(int(hit[-1] - hit[0]) + 1, v.dtype)))
    shape = tuple(_number(n, {}) for _, n in ranges)
    everywhere = int(mask.sum()) == int(np.prod(shape, dtype=np.int64))
    predicate = (
        TRUE if everywhere else _shorter(domain.predicate, dict(zip(domain.indices, ranges, strict=True)), domain)
    )
    used = set(free_vars(predicate))
    witnesses = tuple(w for w in domain.witnesses if w[0] in used)
    return DomainTouched(domain.buffer, domain.indices, tuple(ranges), predicate, witnesses, domain.exact, domain.why)


def _shorter(e: Expr, ranges: Ranges, domain: DomainTouched) -> Expr:
    short = simplify_index(e, {**ranges, **{v: (low, n) for v, low, n in domain.witnesses}})
    return short if size(short) < size(e) else e


def _holds(domain: DomainTouched, known: Mapping[Var, int]) -> Mask:
    """For each place of the ranges, whether some witness makes the predicate true.

    Each alternative is looked at by itself, with no witnesses but its own: those of all accesses together may have more
    values than there is memory.
    """
    try:
        return reduce(np.logical_or, (_mask(domain, e, known) for e in operands("or", domain.predicate)))
    except UnsafeIndex:  # one alternative guards the next
        return _mask(domain, domain.predicate, known)


def _mask(domain: DomainTouched, condition: Expr, known: Mapping[Var, int]) -> Mask:
    """For each place of the ranges, whether some witness makes a condition true."""
    used = set(free_vars(condition))
    axes = list(zip(domain.indices, domain.ranges, strict=True))
    axes += [(v, (low, n)) for v, low, n in domain.witnesses if v in used]
    shape = tuple(max(0, _number(n, known)) for _, (_, n) in axes)
    values: dict[Var, np.ndarray | int] = dict(known)
    for k, (v, (low, _)) in enumerate(axes):
        column = np.arange(shape[k], dtype=np.int64) + _number(low, known)
        values[v] = column.reshape([-1 if d == k else 1 for d in range(len(axes))])
    (mask,) = evaluate([condition], values)
    whole = np.broadcast_to(mask.astype(np.bool_), shape)
    return np.asarray(whole.any(axis=tuple(range(len(domain.indices), len(axes)))))


def _number(e: Expr, known: Mapping[Var, int]) -> int:
    return int(evaluate([e], dict(known))[0])


def _range_text(low: Expr, extent: Expr) -> str:
    from verified_tir.ir.script import script

    zero = isinstance(low, IntImm) and low.value == 0
    return f"range({script(extent)})" if zero else f"range({script(low)}, {script(simplify_index(low + extent, {}))})"
