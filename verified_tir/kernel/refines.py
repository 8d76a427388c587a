"""Theorems, which only the kernel makes.

``Refines(before, after, relation, reassociated)`` says: on every pair of entry memories related by ``relation``, if
``before`` runs without undefined behaviour then so does ``after``, and every parameter's elements, read through the
relation, end up at least as defined and with the same bits; or, for blocks in ``reassociated``, with those of some
order of the same terms (see ``open_bits``).

What a theorem says is kept by this module and not by the object that stands for it: there is nothing in the object that
could be changed, copied or forged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, final
from weakref import WeakKeyDictionary

from verified_tir import ir
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.step import Rewrite, Rule
from verified_tir.logic.verdict import Discharged


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One applied rule: what it was, the program it gave, and the obligations that were proved for it."""

    rule: Rule
    after: ir.PrimFunc
    obligations: tuple[Discharged, ...]
    made: Rewrite
    """All that the rule computed."""


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """What a theorem says, and how it was derived."""

    start: ir.PrimFunc
    """The program that the derivation began with."""
    after: ir.PrimFunc
    definite: bool
    """Whether it is a theorem about arguments of definite values only (but for padding declared otherwise)."""
    assumed: tuple[ir.Stmt, ...] = ()
    """What is assumed of the arguments, in front of ``start`` (see ``rules.axiom``)."""
    relation: tuple[ParameterMap, ...] = ()
    """Layout changes of parameters, in the order in which they were made."""
    paddings: tuple[Padding, ...] = ()
    """What is assumed of the padding of the parameters of ``after``."""
    reassociated: frozenset[ir.Var] = frozenset()
    """Blocks of the first program whose float reductions were put into another order; empty means equal bits."""
    derivation: tuple[Step, ...] = ()
    licences: Mapping[ir.Var, frozenset[ir.Var]] = field(default_factory=dict)
    """The licensed blocks of ``after``, each with those of ``start`` whose reductions go on in it."""
    proved_by: frozenset[str] = frozenset()
    """The solvers that were asked, by name and version, and whether verdicts that lay on a disk were used."""

    @property
    def before(self) -> ir.PrimFunc:
        """The first of the two programs."""
        return self.start.with_body(ir.seq(*self.assumed, self.start.body)) if self.assumed else self.start

    @property
    def licensed(self) -> frozenset[ir.Var]:
        """Blocks of ``after`` whose float reductions may be put into another order."""
        return frozenset(self.licences)

    @property
    def entry(self) -> Entry:
        """The assumptions under which ``after`` is looked at.  The arrays of the first program count as passed: their
        extents are checked at the call."""
        return Entry(self.paddings, definite=self.definite, shapes=self.start.buffers, licensed=self.licensed)


_STATEMENTS: WeakKeyDictionary[Refines, Statement] = WeakKeyDictionary()


def _said(name: str) -> Any:
    """A read-only attribute of a theorem: what it says under that name."""
    return property(lambda theorem: getattr(statement_of(theorem), name))


@final
class Refines:
    """A theorem.  Made by the kernel only; it says what its :class:`Statement` says, and is its own copy."""

    __slots__ = ("__weakref__",)
    start: ir.PrimFunc = _said("start")
    assumed: tuple[ir.Stmt, ...] = _said("assumed")
    before: ir.PrimFunc = _said("before")
    after: ir.PrimFunc = _said("after")
    definite: bool = _said("definite")
    relation: tuple[ParameterMap, ...] = _said("relation")
    paddings: tuple[Padding, ...] = _said("paddings")
    reassociated: frozenset[ir.Var] = _said("reassociated")
    derivation: tuple[Step, ...] = _said("derivation")
    licensed: frozenset[ir.Var] = _said("licensed")
    proved_by: frozenset[str] = _said("proved_by")
    entry: Entry = _said("entry")

    def __init__(self, *_: object) -> None:
        raise TypeError("a theorem is made by the kernel: use reflexive() and apply()")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a theorem cannot be pickled: prove it again")

    def __deepcopy__(self, memo: object) -> Refines:
        return self

    def __repr__(self) -> str:
        return f"<theorem: {self.before.name} ⊑ {self.after.name}, {len(self.derivation)} steps>"


def statement_of(theorem: Refines) -> Statement:
    """What a theorem says.

    :raises TypeError: for whatever the kernel has not made.
    """
    found = _STATEMENTS.get(theorem) if type(theorem) is Refines else None
    if found is None:
        raise TypeError("this is not a theorem: the kernel has not made it")
    return found


def _made(statement: Statement) -> Refines:
    """Make the theorem of a statement.  For ``kernel.theorem`` only."""
    theorem: Refines = object.__new__(Refines)
    _STATEMENTS[theorem] = statement
    return theorem
