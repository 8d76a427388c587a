"""Reorder statement instances: loop transformations that run the same instances in another order.

    for i: A(i)                    for i: B(i)
    for j: B(j)          ⟶         for p:
                                       for q: A(4 * p + q)

A region R is a *skeleton* of loops, branches, sequences and labels around *leaves*, any statements.  R′ is another
skeleton with *holes*.  A hole names the leaves that it runs: a *link* says that it runs the instance x = g(y) of a leaf
in its iteration y, and that y = h(x) is where this leaf's instance x went.  It is *active* at x and y if x lies in the
leaf's domain D (the ranges and conditions around it), y in the hole's domain D′, x = g(y) and y = h(x).

Theorem.  A run of R is a sequence of instances of its leaves.  Suppose that

1. at each hole, each y in D′ has an active link;
2. no two active links share an instance, on either side;
3. each x in the D of each leaf has an active link (so a leaf without one never runs);
4. of two instances the first one is the first in R′, too, or they touch no element in common that one of them writes.

Then R′ runs the instances of R (1 and 3 with 2: active links are a bijection between old and new instances), and both
end in the same memory: each instance reads what it read before, by induction along the new order.  Undefined behaviour
belongs to the whole run, so neither order can hide the other's.  An opaque call, an assertion and a ``while`` loop keep
their place among all others.

If R is the nest of a reduction, and nothing else, 4 may do without: B[x] then is B[x] ⊕ e₁ ⊕ … ⊕ eₙ of the same terms,
in another order, which is the same where ⊕ is exact (see ``reduction``).  If ⊕ rounds and the block of B is licensed,
the theorem is: the bits are those of some tree over these terms.

Domains, g and h are looked at in the memory in which R begins.  That is right since no leaf changes what a skeleton's
bounds and conditions read, nor what g reads.  But what is evaluated once, before any instance, may read what they
change: what stands around the first statement of R, up to the first loop's bounds.

The new bounds and conditions, and g, are evaluated also where R had no instance, so they are safe and defined there.
What R evaluates whenever it runs, before any instance, was safe: this may be used.  Empty and negative extents need no
care: they make D and D′ empty.

A leaf is the same statement in R′ but for g in place of x, and the variables that it binds: one more copy has its own.
If a hole has several links, these texts are one.

Splitting, fusing, interchange, tiling, shifting, reversal and skewing of loops are instances of this rule; so are loop
fission and fusion, index-set splitting, unrolling, elimination and introduction of single-trip loops, exchange of
statements, and branches that are introduced, removed, moved and merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from typing import final

from verified_tir import ir
from verified_tir.kernel.access import Access, equal, happens_before
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import changes, no_dependence, replaced, together
from verified_tir.kernel.rules.reduction import reduction_at
from verified_tir.kernel.rules.skeleton import Inside, Skeleton, check_values, evaluated_by, filled, known_of, safely
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


@final
@dataclass(frozen=True, slots=True)
class Link:
    """A hole runs instances of a leaf; both are numbers.

    :param old_of_new: g, one expression over the variables of the loops around the hole for each loop around the leaf.
    :param new_of_old: h, one expression over the variables of the loops around the leaf for each loop around the hole.
    """

    leaf: int
    hole: int
    old_of_new: tuple[ir.Expr, ...]
    new_of_old: tuple[ir.Expr, ...]


@final
@dataclass(frozen=True, slots=True)
class Reorder:
    """Run the leaves of R in the order of ``new``; R is ``count`` statements of a sequence, from ``path`` on.

    :param leaves: places in R (if it is several statements, in the sequence of these), each of that many statements of
        a sequence (else one), from there on.
    :param new: the new skeleton; ``Evaluate(IntImm(k))`` is its k-th hole.
    :param links: which holes run what; the first one of a hole gives its text.
    :param any_order: R is a reduction, whose terms come in whatever order that is.
    """

    path: ir.Path
    count: int
    leaves: tuple[tuple[ir.Path, int], ...]
    new: ir.Stmt
    links: tuple[Link, ...]
    any_order: bool = False

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        whole = together(before.body, self.path, self.count)
        bodies = [together(whole, place, count) for place, count in self.leaves]
        work = _Work(self, self._cut(whole), Skeleton(self.new), bodies, context_at(before, self.path, entry))
        if len(work.old.places) != len(bodies) or filled(work.old.stmt, bodies) is not whole:
            raise Misfit("a leaf is nested in another one, or a sequence directly in a sequence")
        work.check()
        after = replaced(before.body, self.path, self.count, filled(self.new, work.texts()))
        if not self.any_order:
            return Rewrite(before.with_body(after), work.questions())
        found = reduction_at(before, self.path, entry)
        if self.count != 1:
            raise Misfit("more than the reduction is put into another order")
        questions = chain(work.questions(), found.any_order())
        return Rewrite(before.with_body(after), questions, reassociated=found.reassociated)

    def _cut(self, whole: ir.Stmt) -> Skeleton:
        """R with holes for its leaves, the last one first: so the places of the others stay as they are."""
        for k, (place, count) in sorted(enumerate(self.leaves), key=lambda leaf: leaf[1], reverse=True):
            whole = replaced(whole, place, count, ir.Evaluate(ir.const(k)))
        return Skeleton(whole)

    def place(self, leaf: int, inner: ir.Path) -> ir.Path:
        """The place, in the program, of what stands at ``inner`` in a leaf."""
        return _within(self.path, self.count, _within(*self.leaves[leaf], inner))


def _within(path: ir.Path, count: int, inner: ir.Path) -> ir.Path:
    """The place of what stands at ``inner`` in ``count`` statements from ``path`` on."""
    return (*path[:-1], path[-1] + inner[0], *inner[1:]) if count > 1 else (*path, *inner)


# -- what is owed ------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Active:
    """A link at an instance where it is active."""

    link: Link
    old: Inside
    new: Inside
    given: tuple[Term, ...]


@final
class _Work:
    """The old and the new skeleton, with the links between them."""

    def __init__(self, rule: Reorder, old: Skeleton, new: Skeleton, bodies: list[ir.Stmt], start: Context) -> None:
        self.rule, self.old, self.new, self.bodies, self.start = rule, old, new, bodies, start
        self.accesses = cache(self._accesses)

    def check(self) -> None:
        """The parameters fit the program.

        :raises Misfit: if they do not.
        """
        links = self.rule.links
        if {k.hole for k in links} != {*self.new.places} or not {k.leaf for k in links} <= {*self.old.places}:
            raise Misfit("each hole must run a leaf, and nothing else")
        for link in links:
            check_values(self.old.loops(link.leaf), link.old_of_new)
            check_values(self.new.loops(link.hole), link.new_of_old)
        leaf = {link.hole: link.leaf for link in links}
        evaluated = [*evaluated_by(self.old.stmt)]
        evaluated += [(e, frozenset(leaf[k] for k in ran)) for e, ran in evaluated_by(self.new.stmt)]
        evaluated += [(e, frozenset(self.old.places)) for link in links for e in link.old_of_new]
        if any(changes(ir.seq(*[self.bodies[k] for k in ran]), (e,)) for e, ran in evaluated):
            raise Misfit("the body writes what bounds or guards read")

    def texts(self) -> list[ir.Stmt]:
        """What stands in each hole.  What is only compared with that binds variables of its own, too: those of its leaf
        may be those of the new loops, which the new program would not show."""
        found: dict[int, ir.Stmt] = {}
        copied: set[int] = set()
        for link in sorted(self.rule.links, key=lambda link: link.hole):
            body = self.bodies[link.leaf]
            another = link.leaf in copied or link.hole in found
            text = self._text(link, ir.refresh_binders(body)[0] if another else body)
            copied.add(link.leaf)
            first = found.setdefault(link.hole, text)
            if first is not text and not ir.structural_equal(first, text):
                raise Misfit("the statements to be merged differ")
        return [found[k] for k in range(len(found))]

    def _text(self, link: Link, body: ir.Stmt) -> ir.Stmt:
        """The text of a leaf with g in place of its variables."""
        pairs = zip(self.old.loops(link.leaf), link.old_of_new, strict=True)
        return ir.substitute(body, {s.var: g for s, g in pairs})

    # -- obligations ---------------------------------------------------------------------------------------------------

    def questions(self) -> Iterator[Question]:
        known = tuple(known_of(self.start, self.old.stmt))
        g = {link.hole: link.old_of_new for link in reversed(self.rule.links)}
        yield from safely(self.start, self.new.stmt, g, known, self.rule.path)
        for number in self.new.places:
            links = [Link(k.hole, k.leaf, k.new_of_old, k.old_of_new) for k in self.rule.links if k.hole == number]
            claim = f"every new iteration is an old one of {self.old.named(links[0].hole)}"
            if not self.old.loops(links[0].hole):
                claim = "the branch is always taken here"
            yield from self._reached(known, self.new, number, self.old, links, (claim, "no old iteration is run twice"))
        for leaf in self.old.places:
            links = [link for link in self.rule.links if link.leaf == leaf]
            claim = f"every old iteration of {self.old.named(leaf)} is run"
            if not self.old.loops(leaf):
                claim = "the statement is still run"
            yield from self._reached(
                known, self.old, leaf, self.new, links, (claim, "each old iteration is run as itself")
            )
        one, two = ([self._active(link) for link in self.rule.links] for _ in range(2))
        for (m, a), (n, b) in product(enumerate(one), enumerate(two)):
            if m < n:
                yield from self._not_shared(a, b)
            if not self.rule.any_order:
                yield from self._in_order(a, b)

    def _reached(
        self, known: tuple[Term, ...], this: Skeleton, number: int, other: Skeleton, links: Sequence[Link],
        claims: tuple[str, str],
    ) -> Iterator[Question]:  # fmt: skip
        """Each iteration of a place in one skeleton has an active link, among those from there to the other one."""
        here = this.enter(self.start, number)
        sure, goals = {*here.context.path, *known}, list[list[Term]]()
        for link in links:
            image = other.enter(self.start, link.hole, here.at(link.new_of_old))
            parts = image.domain, (equal(image.at(link.old_of_new), here.values),)
            goals.append([f.and_(*(t for t in part if t not in sure)) for part in parts])
        if len(goals) != 1:
            goals = [[f.or_(*(f.and_(*parts) for parts in goals))]]
        for claim, goal in zip(claims, goals[0], strict=False):
            if goal is not f.TRUE:
                given = (*known, *here.domain)
                yield Question("bijection", claim, here.context, given, goal, self.rule.path,
                               "after" if this is self.new else "before")  # fmt: skip

    def _active(self, link: Link) -> _Active:
        """A link where it is active: at some y of its hole and x = g(y)."""
        new = self.new.enter(self.start, link.hole)
        old = self.old.enter(self.start, link.leaf, new.at(link.old_of_new))
        back = equal(new.values, old.at(link.new_of_old))
        return _Active(link, old, new, tuple(dict.fromkeys((*old.domain, *new.domain, back))))

    def _not_shared(self, a: _Active, b: _Active) -> Iterator[Question]:
        """Questions whether no two links are active at one instance."""
        shared = [(a.old.values, b.old.values)] if a.link.leaf == b.link.leaf else []
        shared += [(a.new.values, b.new.values)] if a.link.hole == b.link.hole else []
        for xs, ys in shared:
            same, given = equal(xs, ys), (*a.given, *b.given)
            if f.and_(same, *given) is not f.FALSE:
                claim = "no old iteration is run twice"
                yield Question("bijection", claim, self.start, given, f.not_(same), self.rule.path)

    def _in_order(self, a: _Active, b: _Active) -> Iterator[Question]:
        """Questions whether two instances keep their order, or there is no dependence between them."""
        one, two = self.old.places[a.link.leaf], self.old.places[b.link.leaf]
        old_first = happens_before(self.old.stmt, (one, a.old.values), (two, b.old.values))
        one, two = self.new.places[a.link.hole], self.new.places[b.link.hole]
        new_first = happens_before(self.new.stmt, (one, a.new.values), (two, b.new.values))
        given, turned = (*a.given, *b.given), (old_first, f.not_(new_first))
        both = (*given, *turned)
        if new_first is old_first or f.FALSE in both:
            return
        differ = a.link.leaf != b.link.leaf
        why = "the two statements may change places" if differ else "iterations change their order"
        otherwise = no_dependence(self.start, self.accesses(a), self.accesses(b), both, why, ())
        if differ and f.TRUE in turned:
            yield from otherwise  # one question for all would fail
        elif rest := tuple(otherwise):
            claim = "the iterations keep their order"
            goal = f.implies(old_first, new_first)
            yield Question("dependence", claim, self.start, given, goal, self.rule.path, "before", rest)

    def _accesses(self, active: _Active) -> list[Access]:
        """The accesses of an instance to memory that exists outside of it."""
        leaf = active.link.leaf
        run = instance(active.old.context, self.bodies[leaf], written=written_blocks(ir.seq(*self.bodies)))
        return [replace(a, place=self.rule.place(leaf, a.place)) for a in run.outer()]
