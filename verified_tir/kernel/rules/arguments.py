"""Arguments that a function may be called with: shared by the rules of ``call``.

They are such that the elements of the argument buffers are memories of the function's own: what its theorems speak of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, IntImm, LetExpr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import DeclBuffer
from verified_tir.ir.visit import substitute, walk
from verified_tir.kernel.begin import LARGEST
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, written_blocks
from verified_tir.kernel.memory import flat_address
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.rules.common import evaluated_safely
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoder, fresh


def argument_problem(context: Context, programs: tuple[PrimFunc, ...], arguments: Arguments) -> str | None:
    """Why the function and what refines it (``programs``) cannot be called so, as far as no proof is needed."""
    func = programs[0]
    for v, e in arguments.values:
        if v.dtype.code == "handle":
            return f"{v.name} of {func.name} is a pointer without a buffer"
        if any(isinstance(n, (Load, Call, Undef, LetExpr)) for n in walk(e)):
            return f"{v.name} of {func.name} would be computed from memory; bind it by a let first"
        if (v.dtype.is_int or v.dtype.is_bool) and context.encoder().encode(e).data:
            return f"{v.name} of {func.name} would be data, which wraps where a parameter may not overflow"
    for p, a in zip(func.buffers, arguments.buffers, strict=True):
        if not _alive(context, a):
            return f"{a.name} is not alive here"
        if _written(programs, p):
            if arguments.buffers.count(a) > 1:
                return f"{a.name} is passed twice to {func.name}, which writes it"
            if len({b.dtype for b in context.views.get(a.data, ())}) > 1:
                return f"the block of {a.name} has views of several types"
        if _pointed(programs, p) and not (_whole(p) and _whole(a) and a in context.owners):
            return f"{p.name} of {func.name} is known by its pointer, and {a.name} is no whole block"
    return None


def _alive(context: Context, buffer: Buffer) -> bool:
    return buffer.data in context.memory and buffer in context.views.get(buffer.data, ())


def _written(programs: Iterable[PrimFunc], parameter: Buffer) -> bool:
    return any(parameter.data in written_blocks(g.body) or opaque_calls(g.body) for g in programs)


def _pointed(programs: Iterable[PrimFunc], parameter: Buffer) -> bool:
    """Whether a program sees the parameter's block other than through the parameter, whose strides and offset would
    then be seen; unless it is told all of them."""
    nodes = [n for g in programs for n in walk(g.body)]
    if any(isinstance(n, DeclBuffer) and n.buffer.data is parameter.data for n in nodes):
        return True
    told = len(parameter.strides) == len(parameter.shape) and not isinstance(parameter.elem_offset, IntImm)
    return not told and any(isinstance(n, Call) and parameter.data in n.args for n in nodes)


def _whole(buffer: Buffer) -> bool:
    """Whether a buffer's elements are laid out from the start of its block, one after the other."""
    return not buffer.strides and isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0


# -- what is owed ------------------------------------------------------------------------------------------------------


def fits(context: Context, programs: tuple[PrimFunc, ...], arguments: Arguments, path: Path) -> Iterator[Question]:
    """The arguments are such as the function may be called with."""
    func = programs[0]
    values = dict(arguments.values)
    yield from evaluated_safely(context, values.values(), (), path)
    encoder = context.encoder()
    extents = {e for b in func.buffers for e in b.shape}
    for v, e in arguments.values:
        if v in extents and v.dtype.bits in LARGEST:
            yield _ask(context, f"{v.name} of {func.name} is an extent", _extent(encoder.value(e), v.dtype.bits), path)
    pairs = list(zip(func.buffers, arguments.buffers, strict=True))
    for p, a in pairs:
        yield from _same_layout(context, func, p, a, values, path)
        x, inside = _any_element(a, encoder)
        claim = f"all of {a.name}, passed for {p.name} of {func.name}, may be touched"
        yield _ask(context, claim, context.accessible(a, x, None), path, inside)
        if a.strides and _written(programs, p):
            y, also = _any_element(a, encoder)
            apart = f.ne(flat_address(a, x, encoder), flat_address(a, y, encoder))
            same = f.and_(*[f.eq(i, j) for i, j in zip(x, y, strict=True)])
            claim = f"no two indices of {a.name}, passed for {p.name} of {func.name}, mean one element"
            yield _ask(context, claim, f.or_(same, apart), path, (*inside, *also))
    for k, (p, a) in enumerate(pairs):
        for q, b in pairs[k + 1 :]:
            if a.data is b.data and (_written(programs, p) or _written(programs, q)):
                (x, inside), (y, also) = _any_element(a, encoder), _any_element(b, encoder)
                claim = f"{a.name} and {b.name}, for {p.name} and {q.name} of {func.name}, have nothing in common"
                apart = f.ne(flat_address(a, x, encoder), flat_address(b, y, encoder))
                yield _ask(context, claim, apart, path, (*inside, *also))


def _same_layout(
    context: Context, func: PrimFunc, p: Buffer, a: Buffer, values: dict[Var, Expr], path: Path
) -> Iterator[Question]:
    """The argument has the shape of the parameter; and the strides and the offset, if the parameter declares any."""
    encoder = context.encoder()
    count, symbolic = f.integer(1), False
    for k, (mine, wanted) in enumerate(zip(a.shape, p.shape, strict=True)):
        size = encoder.value(substitute(wanted, values))
        claim = f"dimension {k} of {a.name} is that of {p.name} of {func.name}"
        yield _ask(context, claim, f.eq(encoder.value(mine), size), path)
        count = f.mul(count, size)
        if not isinstance(wanted, IntImm):
            symbolic = True
            yield _ask(context, f"{claim}, an extent of an array", _extent(size, wanted.dtype.bits), path)
    if symbolic:
        claim = f"{p.name} of {func.name} has no more elements than an array"
        yield _ask(context, claim, f.le(count, f.integer(LARGEST[32])), path)
    if p.strides or (a.strides and opaque_calls(func.body)):  # an opaque call sees the strides, declared or not
        for k in range(len(p.shape)):
            claim = f"stride {k} of {a.name} is that of {p.name} of {func.name}"
            wanted_stride = _stride(substitute(p, values), k, encoder)
            yield _ask(context, claim, f.eq(_stride(a, k, encoder), wanted_stride), path)
    if not isinstance(p.elem_offset, IntImm):
        claim = f"{a.name} starts where {p.name} of {func.name} does"
        offset = encoder.value(substitute(p.elem_offset, values))
        yield _ask(context, claim, f.eq(encoder.value(a.elem_offset), offset), path)


def _stride(buffer: Buffer, axis: int, encoder: Encoder) -> Term:
    if buffer.strides:
        return encoder.value(buffer.strides[axis])
    stride = f.integer(1)
    for extent in buffer.shape[axis + 1 :]:
        stride = f.mul(stride, encoder.value(extent))
    return stride


def _extent(size: Term, bits: int) -> Term:
    return f.and_(f.le(f.integer(0), size), f.le(size, f.integer(LARGEST.get(bits, LARGEST[32]))))


def _any_element(buffer: Buffer, encoder: Encoder) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The indices of an arbitrary element, and that they lie in the shape."""
    x = tuple(fresh("x", f.INT) for _ in buffer.shape)
    return x, tuple(f.between(f.integer(0), i, encoder.value(e)) for i, e in zip(x, buffer.shape, strict=True))


def _ask(context: Context, claim: str, goal: Term, path: Path, given: tuple[Term, ...] = ()) -> Question:
    return Question("call", claim, context, given, goal, path)
