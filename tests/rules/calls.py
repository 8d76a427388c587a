"""A grammar for calls: functions with what refines them, called on views that lie apart or not quite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tests.rules.building import function, of_kind
from tests.rules.family import Family, taken
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import DeclBuffer, For, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import refresh_binders
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import Refines, Rule, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]
_PROVER = Prover(Solver())
M = Buffer.declare("M", (12,), "int32")
N = Buffer.declare("N", (5,), "int32")
O4 = Buffer.declare("O4", (4,), "int32")
CALLEES = (
    "for k in range(4):\n        Q[k] = P[k] + n",
    "for k in range(4):\n        Q[k] = Q[k] + P[3 - k]",
    "Q[0] = P[1]\n    Q[2] = P[3] + n",
    "T.assume(n <= 4)\n    for k in range(n):\n        Q[k] = P[0] * 2",
    "w = T.decl_buffer((2, 2), 'int32', data=Q.data)\n    for k in range(2):\n        w[k, 0] = P[k]",
)


STEPS = ("touch", "turn", "parallel", "cut", "swap")


@cache
def lemma(callee: int, step: int) -> Refines | None:
    """A theorem about a callee, if it holds: all of Q is touched; another order; what may run at once."""
    params = 'P: T.Buffer((4,), "int32"), Q: T.Buffer((4,), "int32"), n: T.int32'
    func = parse_func(f"@T.prim_func\ndef {STEPS[step]}{callee}({params}):\n    {CALLEES[callee]}\n")
    q = func.buffers[1]
    loops = [(p, s) for p, s in places(func.body, lambda s: isinstance(s, For)) if isinstance(s, For)]
    rule: Rule | RuleBuilder | None = None
    match STEPS[step], loops:
        case "touch", _:
            rule = Insert((), Store(q, Load(q, (const(3),)), (const(3),)))
        case "turn", [(path, loop)]:
            r, last = Var.fresh("r"), loop.extent - 1
            rule = moves.reindex(path, 1, (NewLoop(r, const(0), loop.extent),), (), (last - r,), (last - loop.var,))
        case "parallel", [(path, _)]:
            rule = of_kind(func, path, "parallel")
        case "cut", [(path, _)]:
            rule = moves.split_index_set(path, const(1))
        case "swap", []:
            rule = moves.swap((), 0)
    proved = None if rule is None else taken(rule, reflexive(func), _PROVER)
    return proved if isinstance(proved, Refines) else None


Window = tuple[Buffer, int, int, int]
"""A buffer, where a view of it starts, its stride (0: row-major), and how much further it starts in each iteration."""

SOURCES: tuple[Window, ...] = (
    (M, 0, 0, 0), (M, 2, 0, 0), (M, 3, -1, 0), (M, 4, 0, 4), (N, 0, 0, 0), (N, 0, 1, 0), (O4, 0, 0, 0),
)  # fmt: skip
TARGETS: tuple[Window, ...] = (
    (M, 4, 0, 0), (M, 3, 0, 0), (M, 0, 0, 4), (M, 0, 0, 1), (M, 1, 2, 0), (M, 8, 0, 0), (M, 9, 0, 0), (N, 1, 0, 0),
    (N, 0, 0, 1), (O4, 0, 0, 0),
)  # fmt: skip


def _view(name: str, window: Window, i: Var, broadcast: bool) -> Buffer:
    owner, start, stride, step = window
    if owner is O4 and not broadcast:
        return O4
    offset: Expr = const(start) if not step else i * step + start
    strides = (0,) if broadcast else (stride,) if stride else ()
    return Buffer.declare(name, (4,), "int32", data=owner.data, strides=strides, elem_offset=offset)


def _calls(callee: int, step: int, source: Window, target: Window, count: int, scalar: int, shared: int) -> Made | None:
    """:param shared: whether P is broadcast, or Q, or both are one view."""
    proved = lemma(callee, step)
    if proved is None:
        return None
    i = Var.fresh("i")
    p = _view("P", source, i, shared == 1)
    q = p if shared == 3 else _view("Q", target, i, shared == 2)
    (n,) = scalars_of(proved.before)
    value: Expr = (const(2), i, i * 3)[scalar]
    arguments = Arguments((p, q), ((n, value),))
    body, _ = refresh_binders(instantiate(proved.before, arguments))
    inner: Stmt = body
    views = [v for v in dict.fromkeys((q, p)) if v is not O4]
    for view in views:
        inner = DeclBuffer(view, inner)
    func = function([M, N, O4], For(i, const(0), const(min(count, 2)), inner, "parallel" if count == 3 else "serial"))
    return func, (Refine((0,) * (1 + len(views)), proved, arguments),)


FAMILIES = (
    Family("calls", (range(4), range(len(STEPS)), SOURCES, TARGETS, (1, 2, 3), (0, 1), range(4)), _calls, sizes=(0,)),
    Family("pointers", ((4,), (1, 3), SOURCES, TARGETS, (1, 2), (0,), (0, 1)), _calls, sizes=(0,)),
)
