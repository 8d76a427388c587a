"""What means nothing: labels, attributes, annotations.

    with T.block("b"): S           ⟷     S                        (a label; S may be several statements)
    with T.attr(…): S               ⟶     S
    T.func_attr({…})                ⟶     T.func_attr({…′})
    for i in …, annotations={…}     ⟶     for i in …, annotations={…′}

Theorem.  The interpreter looks at none of them, so every run is the same run.  What a later reader of the program makes
of them (a tactic looks for a label, a pass for its hint) is that reader's affair: it can only be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import Allocate, Annotations, AttrStmt, Block, For, Seq, Stmt, seq
from verified_tir.kernel.calls import without_labels
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.common import following, kept, statement_at
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Unwrap:
    """A label, or an attribute around a statement, goes.  Owes nothing."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case Block(is_label=True, body=body) | AttrStmt(body=body):
                return Rewrite(before.with_body(put(before.body, self.path, body)), (), kept=kept(before, self.path))
        return NoMatch(self.path, "neither a label nor an attribute")


@final
@dataclass(frozen=True, slots=True)
class Label:
    """The statement at ``path`` gets a label.  Owes nothing.

    :param count: how many statements of a sequence stand under it, from the one at ``path`` on.
    """

    path: Path
    name: str
    count: int = 1

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        others = following(before, self.path, self.count - 1)
        if isinstance(others, NoMatch):
            return others
        labelled, where = Block.label(self.name, seq(target, *others)), self.path
        new: Stmt = labelled
        if others:
            where, k = self.path[:-1], self.path[-1]
            around = statement_at(before, where)
            assert isinstance(around, Seq)
            new = seq(*around.stmts[:k], labelled, *around.stmts[k + self.count :])
        return Rewrite(before.with_body(put(before.body, where, new)), (), kept=kept(before, self.path))


@final
@dataclass(frozen=True, slots=True)
class Annotate:
    """The loop, allocation or label at ``path`` gets these annotations instead of its own.  Owes nothing."""

    path: Path
    annotations: Annotations

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        match target:
            case NoMatch():
                return target
            case For(var=v, min=low, extent=extent, body=body, kind=kind, thread=thread):
                new: Stmt = For(v, low, extent, body, kind, thread, self.annotations)
            case Allocate(buffer=b, body=body):
                new = Allocate(b, body, self.annotations)
            case Block(is_label=True, name=name, body=body):
                new = Block.label(name, body, self.annotations)
            case _:
                return NoMatch(self.path, "neither a loop nor an allocation nor a label: it has no annotations")
        return Rewrite(before.with_body(put(before.body, self.path, new)), (), kept=kept(before, self.path))


@final
@dataclass(frozen=True, slots=True)
class Attributes:
    """The function gets these attributes instead of its own.  Owes nothing."""

    attrs: Annotations

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        return Rewrite(
            PrimFunc(before.name, before.params, before.buffer_map, before.body, self.attrs, before.ret_type), ()
        )


@final
@dataclass(frozen=True, slots=True)
class RemoveLabels:
    """All labels go.  Owes nothing."""

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        return Rewrite(before.with_body(without_labels(before.body)), ())
