"""Change what has no meaning: labels, attributes, annotations, the kinds of loops, storage scopes.

    with T.block("b"): S               ⟷     S                                  (a label; S may be several statements)
    with T.attr(…): S                  ⟷     S
    for i in …, annotations={…}        ⟷     for i in …, annotations={…′}       (so for allocations and labels)
    for i in range(n): S               ⟷     for i in T.parallel(n): S
    if c: S                            ⟷     if c: S  else: nothing
    B = alloc(s, scope="global"); S    ⟷     B = alloc(s, scope="shared"); S
    T.func_attr({…})                   ⟷     T.func_attr({…′})

Theorem.  The meaning of a program is the serial one, which looks at none of these: two programs that are one and the
same without them (``bare``) have the same runs.  What a kind permits an executor to do, and which threads share the
blocks of a scope, is another judgement (``verified_tir.kernel.race_free``).  An opaque call sees in which scope the
memory lies whose address escapes to it: that scope stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from verified_tir import ir
from verified_tir.kernel.effects import escapes, opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.rules.common import occurs
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Same:
    """Replace the statement at ``path`` by ``new``, which is the same but for what has no meaning.  Owes nothing.

    What ``new`` binds are the same variables.  Only an allocation in another scope has a fresh one: its type says the
    scope.

    :param attrs: the function's new attributes, if they change.
    """

    path: ir.Path
    new: ir.Stmt
    attrs: ir.Annotations | None = None

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        old = ir.at(before.body, self.path)
        blocks = zip(_allocated(self.new), _allocated(old), strict=False)
        moved = {a: b for a, b in blocks if a is not b}
        if bare(ir.substitute(self.new, moved)) is not bare(old):
            raise Misfit("they differ in more than labels, attributes, annotations, kinds, scopes and empty branches")
        for a, b in moved.items():
            if occurs(before, a) or not _differ_in_scope(a, b):
                raise Misfit(f"{a.name} is not fresh, or differs from {b.name} in more than its scope")
            if opaque_calls(old) and escapes(b, old):
                raise Misfit(f"the address of {b.name} escapes to an opaque call")
        attrs = before.attrs if self.attrs is None else self.attrs
        after = replace(before, body=ir.put(before.body, self.path, self.new), attrs=attrs)
        return Rewrite(after, (), heirs=tuple(moved.items()))


@ir.once
def bare(stmt: ir.Stmt) -> ir.Stmt:
    """The statement without what means nothing (but scopes).  Nodes are interned: equal ones are one object."""
    inner = ir.map_children(stmt, lambda n: bare(n) if isinstance(n, ir.Stmt) else n)
    match inner:
        case ir.AttrStmt(body=body) | ir.Block(is_label=True, body=body):
            return body
        case ir.Seq(stmts=stmts):
            return ir.seq(*stmts)
        case ir.For(var=v, min=low, extent=extent, body=body):
            return ir.For(v, low, extent, body)
        case ir.If(condition=c, then_body=body, else_body=ir.Seq(stmts=())):
            return ir.If(c, body)
        case ir.Allocate(buffer=b, body=body):
            return ir.Allocate(b, body)
    return inner


def _allocated(stmt: ir.Stmt) -> list[ir.Var]:
    return [s.buffer.data for s in ir.nodes_of(stmt, ir.Allocate)]


def _differ_in_scope(a: ir.Var, b: ir.Var) -> bool:
    """Whether two pointers are of one type but for the scope."""
    both = isinstance(a.type, ir.PointerType) and isinstance(b.type, ir.PointerType)
    return both and a.type.element is b.type.element  # type: ignore[union-attr]
