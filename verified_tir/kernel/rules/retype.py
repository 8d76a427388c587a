"""A bool buffer is kept as bytes.

    B = alloc(s, bool); S[B[x]; B[x] = v]    ⟶    B′ = alloc(s, int8); S[bool(B′[x]); B′[x] = int8(v)]
    f(B: bool): S[B[x]; B[x] = v]            ⟶    f(B: bool): B′ = decl_buffer(s, int8, data=B.data); S[…]

Theorem.  B′ holds at every moment the byte of B[x], 1 for true and 0 for false, and is defined where B is: so at
allocation, and kept by every store, since the byte of v is ``int8(v)``.  ``bool(B′[x])`` is then B[x].  In a parameter
a bool occupies one byte, 0 or 1 (``docs/semantics.md``), and so do those that are stored.

All accesses of the buffer change together.  A buffer with other views is refused, since they would see bytes where they
saw bools; one that is used other than by loads and stores is, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Cast, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import Allocate, DeclBuffer, Stmt, Store
from verified_tir.ir.visit import map_children, walk
from verified_tir.kernel.begin import begin
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.common import statement_at
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class BoolBytes:
    """Keep as ``int8`` the bool buffer allocated at ``path``, or the parameter ``param``.

    :param param: the handle of a parameter; ``path`` is not looked at then.
    """

    path: Path
    param: Var | None = None

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        if self.param is not None:
            old = before.buffer_of(self.param)
            if old is None:
                return NoMatch((), f"{self.param.name} is no buffer parameter")
            scope: Stmt = before.body
        else:
            target = statement_at(before, self.path)
            if isinstance(target, NoMatch):
                return target
            if not isinstance(target, Allocate):
                return NoMatch(self.path, "no buffer is allocated here")
            old, scope = target.buffer, target.body
        if not old.dtype.is_bool:
            return NoMatch(self.path, f"{old.name} holds {old.dtype}, not bool")
        if len(begin(before, entry).views[old.data]) > 1:
            return NoMatch(self.path, f"{old.name} has other views, which would see bytes where they saw bools")
        if any(p.buffer is old for p in entry.paddings):
            return NoMatch(self.path, f"{old.name} has padding, which is stated of bools")
        new = self._bytes(old)
        try:
            body = _Bytes(old, new).statement(scope)
        except IRError as reason:
            return NoMatch(self.path, str(reason))
        if self.param is not None:
            return Rewrite(before.with_body(DeclBuffer(new, body)), ())
        assert isinstance(target, Allocate)
        return Rewrite(before.with_body(put(before.body, self.path, Allocate(new, body, target.annotations))), ())

    def _bytes(self, old: Buffer) -> Buffer:
        return Buffer.declare(
            f"{old.name}_bytes", old.shape, DType.parse("int8").with_lanes(old.dtype.lanes),
            data=None if self.param is None else old.data, strides=old.strides, elem_offset=old.elem_offset,
            scope=old.scope, axis_separators=old.axis_separators,
        )  # fmt: skip


class _Bytes:
    """Replaces the accesses of a bool buffer by those of its bytes."""

    def __init__(self, old: Buffer, new: Buffer) -> None:
        self.old, self.new = old, new
        self.memo: dict[Node, Node] = {}

    def statement(self, stmt: Stmt) -> Stmt:
        """The statement with all accesses replaced.

        :raises IRError: if the buffer is used other than by loads and stores.
        """
        done = self.go(stmt)
        old_block = self.old.data if self.new.data is not self.old.data else None
        if any(n is self.old or n is old_block for n in walk(done)):
            raise IRError(f"{self.old.name} is used other than by loads and stores")
        assert isinstance(done, Stmt)
        return done

    def go(self, node: Node) -> Node:
        found = self.memo.get(node)
        if found is None:
            found = self.memo[node] = self._go(map_children(node, self._keep))
        return found

    def _keep(self, child: Node) -> Node:
        return child if isinstance(child, Buffer) else self.go(child)

    def _go(self, node: Node) -> Node:
        match node:
            case Load(buffer=b, indices=indices, predicate=mask) if b is self.old:
                return Cast(node.dtype, Load(self.new, indices, mask))
            case Store(buffer=b, value=value, indices=indices, predicate=mask) if b is self.old:
                return Store(self.new, Cast(self.new.dtype.with_lanes(value.dtype.lanes), value), indices, mask)
        return node
