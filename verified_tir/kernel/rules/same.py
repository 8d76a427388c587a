"""What means nothing may change: labels, attributes, annotations, the kinds of loops, storage scopes.

    with T.block("b"): S               ⟷     S                                  (a label; S may be several statements)
    with T.attr(…): S                  ⟷     S
    for i in …, annotations={…}        ⟷     for i in …, annotations={…′}       (so for allocations and labels)
    for i in range(n): S               ⟷     for i in T.parallel(n): S
    if c: S                            ⟷     if c: S  else: nothing
    B = alloc(s, scope="global"); S    ⟷     B = alloc(s, scope="shared"); S
    T.func_attr({…})                   ⟷     T.func_attr({…′})

Theorem.  The meaning of a program is the serial one, which looks at none of these: two programs that are one and the
same without them (``bare``) have the same runs.  What a kind permits an executor to do, and which threads share the
blocks of a scope, is another judgement (``verified_tir.kernel.race_free``).  An opaque call is told where its arguments
live; their scope stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Call, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import once
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, Annotations, AttrStmt, Block, For, If, Seq, Stmt, seq
from verified_tir.ir.visit import map_children, nodes_of, substitute, walk
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.rules.common import occurs
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Same:
    """The statement at ``path`` becomes ``new``, which is the same without what means nothing.  Owes nothing.

    What ``new`` binds are the same variables.  Only an allocation in another scope has a fresh one: its type says the
    scope.

    :param attrs: the function's new attributes, if they change.
    """

    path: Path
    new: Stmt
    attrs: Annotations | None = None

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        old = at(before.body, self.path)
        blocks = zip(_allocated(self.new), _allocated(old), strict=False)
        moved = {a: b for a, b in blocks if a is not b}
        if bare(substitute(self.new, moved)) is not bare(old):
            raise Misfit("they differ in more than labels, attributes, annotations, kinds, scopes and empty branches")
        for a, b in moved.items():
            if occurs(before, a) or not _differ_in_scope(a, b):
                raise Misfit(f"{a.name} is not fresh, or differs from {b.name} in more than its scope")
            if any(not is_pure(call.op) and b in walk(call) for call in nodes_of(old, Call)):
                raise Misfit(f"an opaque call is told where {b.name} lives")
        attrs = before.attrs if self.attrs is None else self.attrs
        after = replace(before, body=put(before.body, self.path, self.new), attrs=attrs)
        return Rewrite(after, (), heirs=tuple(moved.items()))


@once
def bare(stmt: Stmt) -> Stmt:
    """The statement without what means nothing (but scopes).  Nodes are interned: equal ones are one object."""
    inner = map_children(stmt, lambda n: bare(n) if isinstance(n, Stmt) else n)
    match inner:
        case AttrStmt(body=body) | Block(is_label=True, body=body):
            return body
        case Seq(stmts=stmts):
            return seq(*stmts)
        case For(var=v, min=low, extent=extent, body=body):
            return For(v, low, extent, body)
        case If(condition=c, then_body=body, else_body=Seq(stmts=())):
            return If(c, body)
        case Allocate(buffer=b, body=body):
            return Allocate(b, body)
    return inner


def _allocated(stmt: Stmt) -> list[Var]:
    return [s.buffer.data for s in nodes_of(stmt, Allocate)]


def _differ_in_scope(a: Var, b: Var) -> bool:
    """Whether two pointers are of one type but for the scope."""
    both = isinstance(a.type, PointerType) and isinstance(b.type, PointerType)
    return both and a.type.element is b.type.element  # type: ignore[union-attr]
