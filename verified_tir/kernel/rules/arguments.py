"""Arguments that a function may be called with: shared by the rules of ``call``.

They are such that the elements of the argument buffers are memories of the function's own, on which all is true that
its theorems take for granted (``kernel.begin``): what its programs do is then what its theorems say.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations_with_replacement

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, IntImm, LetExpr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import DeclBuffer
from verified_tir.ir.visit import walk
from verified_tir.kernel.begin import shape_bounds
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, written_blocks
from verified_tir.kernel.memory import flat_address
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import evaluated_safely
from verified_tir.kernel.rules.layout import in_box
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder, fresh


def fits(context: Context, programs: tuple[PrimFunc, ...], arguments: Arguments, path: Path) -> Iterator[Question]:
    """The arguments are such as a function and what refines it (``programs``) may be called with.

    :raises Misfit: if they are not, as far as no proof is needed.
    """
    func, there = programs[0], context.fork()
    there.env.update({v: _constant(context, func, v, e) for v, e in arguments.values})
    yield from evaluated_safely(context, (e for _, e in arguments.values), (), path)
    pairs = [(p, a, _written(programs, p)) for p, a in zip(func.buffers, arguments.buffers, strict=True)]
    encoder = context.encoder()
    for p, a, written in pairs:
        _check_block(context, programs, p, a, written)
        passed = f"{a.name}, passed for {p.name} of {func.name}"
        for claim, goal in _same_layout(context, there, p, a, opaque_calls(func.body)):
            yield Question("call", f"{passed}: {claim}", context, (), goal, path)
        x, inside = _any_element(context, a)
        reach = context.accessible(a, x, None)
        yield Question("call", f"all of {passed}, may be touched", context, (inside,), reach, path)
    for (p, a, one), (q, b, other) in combinations_with_replacement(pairs, 2):
        if a.data is b.data and (one or other) and (p is not q or a.strides):
            (x, inside), (y, also) = _any_element(context, a), _any_element(context, b)
            apart = f.ne(flat_address(a, x, encoder), flat_address(b, y, encoder))
            claim = f"{a.name} and {b.name}, for {p.name} and {q.name} of {func.name}, have nothing in common"
            if p is q:
                apart = f.or_(apart, f.and_(*[f.eq(i, j) for i, j in zip(x, y, strict=True)]))
                claim = f"no two indices of {a.name}, passed for {p.name} of {func.name}, mean one element"
            yield Question("call", claim, context, (inside, also), apart, path)


def _constant(context: Context, func: PrimFunc, v: Var, e: Expr) -> Encoded:
    """What is passed for a scalar or a symbol: a value that is the same wherever the function's body mentions it."""
    if v.dtype.code == "handle":
        raise Misfit(f"{v.name} of {func.name} is a pointer without a buffer")
    if any(isinstance(n, (Load, Call, Undef, LetExpr)) for n in walk(e)):
        raise Misfit(f"{v.name} of {func.name} would be computed from memory; bind it by a let first")
    value = context.encoder().encode(e)
    if value.data and not v.dtype.is_float:
        raise Misfit(f"{v.name} of {func.name} would be data, which wraps where a parameter may not overflow")
    return value


def _check_block(context: Context, programs: tuple[PrimFunc, ...], p: Buffer, a: Buffer, written: bool) -> None:
    """The block of an argument is alive, and nobody sees more of it than the parameter shows."""
    name = programs[0].name
    views = context.views.get(a.data, ())
    if a.data not in context.memory or a not in views:
        raise Misfit(f"{a.name} is not alive here")
    if written and len({b.dtype for b in views}) > 1:  # a NaN that is stored has no bits at another type
        raise Misfit(f"the block of {a.name} has views of several types")
    if _pointed(programs, p) and not (_whole(p) and _whole(a) and a in context.owners):
        raise Misfit(f"{p.name} of {name} is known by its pointer, and {a.name} is no whole block")


def _written(programs: tuple[PrimFunc, ...], parameter: Buffer) -> bool:
    return any(parameter.data in written_blocks(g.body) or opaque_calls(g.body) for g in programs)


def _pointed(programs: tuple[PrimFunc, ...], parameter: Buffer) -> bool:
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


def _same_layout(context: Context, there: Context, p: Buffer, a: Buffer, opaque: bool) -> Iterator[tuple[str, Term]]:
    """The argument has the shape of the parameter, which is that of an array; and the strides and the offset, if the
    parameter declares any.  An opaque call sees the strides, declared or not.

    :param there: where the function's symbols have the values that are passed.
    """
    mine, theirs = context.encoder(), there.encoder()
    for k, (e, wanted) in enumerate(zip(a.shape, p.shape, strict=True)):
        yield f"dimension {k} is the parameter's", f.eq(mine.value(e), theirs.value(wanted))
    for bound in shape_bounds(there, p):
        yield "it is no larger than an array", bound
    if p.strides or (a.strides and opaque):
        for k in range(len(p.shape)):
            yield f"stride {k} is the parameter's", f.eq(_stride(a, k, mine), _stride(p, k, theirs))
    if not isinstance(p.elem_offset, IntImm):
        yield "it starts where the parameter does", f.eq(mine.value(a.elem_offset), theirs.value(p.elem_offset))


def _stride(buffer: Buffer, axis: int, encoder: Encoder) -> Term:
    """How far apart two elements are that differ by one in one index."""
    if buffer.strides:
        return encoder.value(buffer.strides[axis])
    return reduce(f.mul, [encoder.value(e) for e in buffer.shape[axis + 1 :]], f.integer(1))


def _any_element(context: Context, buffer: Buffer) -> tuple[tuple[Term, ...], Term]:
    """The indices of an arbitrary element, and that they lie in the shape."""
    x = tuple(fresh("x", f.INT) for _ in buffer.shape)
    return x, in_box(context, x, buffer.shape)
