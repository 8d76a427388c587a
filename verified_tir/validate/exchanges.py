"""Exchanges of values between threads, spelled out: reductions over threads, here, and shuffles (``shuffles.py``).

    for tx in threads:                                 for tx in threads:
        T.tvm_thread_allreduce(1, v, c, B[tx], tx)   ⟶     sent[tx] = v if c else identity
                                                       for k in range(…):
                                                           sum[0] = sent[0] if k == 0 else sum[0] + sent[k]
                                                       for tx in threads:
                                                           B[tx] = sum[0]

All threads of a thread block take part: an exchange under a condition that threads decide differently is refused
(``threads.py``).  An exchange orders no accesses of memory: what threads touch before it and after it lies in one
phase.  ``sent`` is no memory of the program (scope ``EXCHANGE``), and nobody meets there.

A reduction over threads combines the values in the order of the threads, and begins with the first one; or with the
identity, if that is asked for: nothing says whether it is among the values.  A float sum that is combined otherwise is
the same sum in another order, and the verdict says so; also where only one program has the reduction
(:func:`unordered`), or both have some, and not of the same values in the same places (:func:`is_unordered`).
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterator, Sequence
from math import prod
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    Load,
    StringImm,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Allocate, Evaluate, For, If, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import nodes_of, substitute
from verified_tir.validate.memory import EXCHANGE, Refused
from verified_tir.validate.thread_loops import Threads, ordered, thread_id

ALLREDUCE: Final = "tvm_thread_allreduce"
ACTIVE: Final = "tvm_warp_activemask"
SHUFFLE: Final = "tvm_warp_shuffle"
KINDS: Final = {SHUFFLE: "", f"{SHUFFLE}_up": "up", f"{SHUFFLE}_down": "down", f"{SHUFFLE}_xor": "xor"}
"""The calls that are shuffles, and how each finds the lane that it reads."""
_LARGEST: Final = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": sys.float_info.max}
"""The largest finite number of a type."""
_TOTAL: Final = "combined"
_REDUCER: Final = "comm_reducer{}"


def is_exchange(call: Call) -> bool:
    """Whether a call depends on what other threads do at the same place."""
    return call.op in KINDS or call.op in (ALLREDUCE, ACTIVE)


def has_exchange(node: Node) -> bool:
    return any(is_exchange(n) for n in nodes_of(node, Call))


def has_reduction(func: PrimFunc) -> bool:
    """Whether threads reduce values that they have."""
    return any(n.op == ALLREDUCE for n in nodes_of(func.body, Call))


def unordered(before: PrimFunc, after: PrimFunc) -> tuple[str, ...]:
    """Sentences about floats that only one program combines over threads: nothing says in which order."""
    found = [{(reducer, dtype): name for reducer, dtype, name in _reductions(f)} for f in (before, after)]
    only = [name for which, other in (found, found[::-1]) for key, name in which.items() if key not in other]
    return tuple([_sentence(name) for name in only])


def all_unordered(func: PrimFunc) -> tuple[str, ...]:
    """Sentences about all floats that a program combines over threads."""
    return tuple(dict.fromkeys(_sentence(name) for _, _, name in _reductions(func)))


def _sentence(name: str) -> str:
    return f"{name} combines floats of several threads, in an order that is not fixed"


def is_unordered(store: Store) -> bool:
    """Whether a store takes what floats of several threads were combined to."""
    match store.value:
        case Load(buffer=total):
            return total.scope == EXCHANGE and total.name == _TOTAL and store.buffer.scope != EXCHANGE
    return False


def _reductions(func: PrimFunc) -> Iterator[tuple[Expr, DType, str]]:
    """The reductions of floats over threads: how they combine what, and the name of the first result."""
    for call in nodes_of(func.body, Call):
        if call.op == ALLREDUCE and any(isinstance(a, Load) and a.dtype.is_float for a in call.args):
            n = call.args[0].value if isinstance(call.args[0], IntImm) else 0
            left = next((a.buffer.name for a in call.args[n + 2 :] if isinstance(a, Load)), "a reduction")
            yield call.args[-1], call.args[min(1, len(call.args) - 1)].dtype, left


# -------------------------------------------------------------------------------------------- reductions over threads


def reduced(call: Call, threads: Threads, *, identity: bool = False) -> Stmt:
    """A reduction over threads: all send their values, which are combined, and each thread gets the result.

    :raises Refused: if its operands are of another form, or threads that it is over are not around it.
    """
    match call.args:
        case (IntImm(value=n), *rest, Call(op=op, args=(StringImm(value=text), *identities))) if op == _REDUCER:
            values, condition, left, over = rest[:n], rest[n], rest[n + 1 : 2 * n + 1], rest[2 * n + 1 :]
        case _:
            raise Refused(f"{ALLREDUCE} without its reducer")
    if len(identities) != n or len(left) != n or has_exchange(seq(*[Evaluate(v) for v in (*values, condition)])):
        raise Refused(f"{ALLREDUCE} of {n} values with {len(identities)} identities")
    inner = _over(over, threads)
    dtypes = [v.dtype for v in values]
    if any(d is not e.dtype or d.lanes != 1 for d, e in zip(dtypes, identities, strict=True)):
        raise Refused(f"{ALLREDUCE} whose identities have other types than its values")
    sent = [temporary("sent", threads.count(), d) for d in dtypes]
    outer = [loop for loop in ordered(threads) if loop not in inner]
    groups = prod([threads.extent(loop) for loop in outer])
    total = [temporary(_TOTAL, groups, d) for d in dtypes]
    group: Expr = const(0, INT32)
    for loop in reversed(outer):
        group = group * threads.extent(loop) + _coordinate(loop)
    me = thread_id(threads)
    chosen = [
        v if _is_true(condition) else IfThenElse(condition, v, i) for v, i in zip(values, identities, strict=True)
    ]
    send = threads.around(seq(*[Store(b, v, (me,)) for b, v in zip(sent, chosen, strict=True)]))
    start = identities if identity else []
    combine = _combined(text, (sent, total, start), (me, group), (outer, inner), threads)
    take = [Store(b.buffer, Load(t, (group,)), b.indices) for b, t in zip(_places(left), total, strict=True)]
    whole = seq(send, combine, threads.around(seq(*take)))
    for buffer in (*sent, *total):
        whole = Allocate(buffer, whole)
    return whole


def _combined(
    text: str,
    values: tuple[Sequence[Buffer], Sequence[Buffer], Sequence[Expr]],
    at: tuple[Expr, Expr],
    loops: tuple[Sequence[For], Sequence[For]],
    threads: Threads,
) -> Stmt:
    """The values of each group of threads, combined in their order, after the identities if these are given."""
    (sent, total, identities), (me, group), (outer, inner) = values, at, loops
    fresh = {loop.var: Var.fresh(loop.var.name, loop.var.dtype) for loop in (*outer, *inner)}
    me, group = substitute(me, fresh), substitute(group, fresh)
    first: Expr = const(1, BOOL)
    for loop in inner:
        here = Binary("eq", fresh[loop.var], loop.min)
        first = here if _is_true(first) else Binary("and", first, here)
    x, y = [Load(t, (group,)) for t in total], [Load(s, (me,)) for s in sent]
    results = _results(text, [*x, *y])
    if identities and not all(_is_neutral(r, i) for r, i in zip(results, identities, strict=True)):
        raise Refused("the identity of a reduction over threads is not known to be one")
    names = [Var.fresh(f"next{k}", e.dtype) for k, e in enumerate(results)]
    step: Stmt = seq(*[Store(t, v, (group,)) for t, v in zip(total, names, strict=True)])
    for name, result in reversed(list(zip(names, results, strict=True))):
        step = LetStmt(name, result, step)
    start: Stmt = seq(*[Store(t, v, (group,)) for t, v in zip(total, identities or y, strict=True)])
    alone = _is_true(first)
    if identities:
        body = seq(start if alone else If(first, start), step)
    else:
        body = start if alone else If(first, start, step)
    for loop in (*inner, *outer):
        body = For(fresh[loop.var], loop.min, const(threads.extent(loop), loop.extent.dtype), body, "serial")
    return body


def _is_neutral(result: Expr, identity: Expr) -> bool:
    """Whether a value, combined with any other one, gives that one, as far as numbers are real."""
    match result, identity:
        case Binary(op=op, a=Load(), b=Load()), IntImm(value=value) | FloatImm(value=value):
            t = identity.dtype
            least = t.min_value if t.is_int else -_LARGEST.get(str(t), math.inf)
            most = t.max_value if t.is_int else _LARGEST.get(str(t), math.inf)
            return {"add": value == 0, "mul": value == 1, "max": value <= least, "min": value >= most}.get(op, False)
    return False


def _results(text: str, operands: Sequence[Load]) -> list[Expr]:
    """What a reducer makes of operands; the text is that of a lambda, as the parser of programs writes it."""
    head, _, body = text.removeprefix("lambda ").partition(": ")
    names = head.split(", ")
    n = len(names) // 2
    results = "".join(f"    R{k}[0] = {part}\n" for k, part in enumerate([body] if n == 1 else _parts(body)))
    params = [f"{name}: T.{operand.dtype}" for name, operand in zip(names, operands, strict=True)]
    params += [f'R{k}: T.Buffer((1,), "{operands[k].dtype}")' for k in range(n)]
    made = parse_func(f"@T.prim_func\ndef combine({', '.join(params)}):\n{results}")
    given = dict(zip(made.params, operands, strict=False))
    return [substitute(store.value, given) for store in nodes_of(made.body, Store)]


def _parts(body: str) -> list[str]:
    """The texts of the elements of a tuple."""
    tree = ast.parse(body, mode="eval").body
    assert isinstance(tree, ast.Tuple)
    return [ast.unparse(e) for e in tree.elts]


def _over(over: Sequence[Expr], threads: Threads) -> list[For]:
    """The loops over threads that a reduction is over, the fastest coordinate first."""
    variables = [v for v in over if not (isinstance(v, IntImm) and v.value == 0)]  # an extent of 1
    found = [loop for loop in ordered(threads) if loop.var in variables]
    if len(found) != len(variables):
        raise Refused(f"{ALLREDUCE} over threads that are not around it")
    return found


def _places(left: Sequence[Expr]) -> list[Load]:
    if not all(isinstance(e, Load) and e.predicate is None for e in left):
        raise Refused(f"{ALLREDUCE} into what is not an element of a buffer")
    return [e for e in left if isinstance(e, Load)]


def _coordinate(loop: For) -> Expr:
    at = loop.var - loop.min
    return at if at.dtype is INT32 else Cast(INT32, at)


def _is_true(condition: Expr) -> bool:
    return isinstance(condition, IntImm) and condition.value != 0


def temporary(name: str, count: int, dtype: DType) -> Buffer:
    """Room for what threads exchange."""
    return Buffer.declare(name, (count,), dtype, scope=EXCHANGE)
