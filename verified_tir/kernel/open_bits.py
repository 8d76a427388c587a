"""Bits that a licence leaves open.

A licence to reassociate belongs to the program that a theorem begins with: a set of blocks.  Whatever stores an element
of a licensed block as ``B[x] = B[x] ⊕ e`` adds a term to what B[x] holds (a let carries the terms of what it is bound
to, also where B[x] holds something else by then); any other store begins anew.  A term that is neutral for its ⊕ where
it is added is none: such a store is as if it were not there, and so is one of what B[x] holds.  The theorem then says:
*for some tree over the terms of each such element, one and the same wherever the element is read, the new program does
what the old one does with the values of these trees*.

So every proof has to hold of all trees.  Two things see to that:

* What is stored to a licensed block is itself, if nothing was computed from memory that the program writes: the element
  then begins with this one term.  Otherwise it is a new unknown, and only that is known which is true of every tree: a
  sum of floats is -0.0 only if all of its terms are (``x + y`` is -0.0 only if x and y are: IEEE 754, rounding to
  nearest).  Of a minimum, which is a choice by a comparison of the element, that is not so: of 0.0 and -0.0 it is the
  second.
* No premise may mention the value of a licensed element (:func:`usable`), unless it is one of those, or a fact that was
  shown of the contents of a licensed block and does no more than compare them (:func:`only_compares`).  A branch that
  was taken, an assumption, the contents of another block: whatever they say of such a value holds of one tree, and what
  is proved must hold of each.  Dropping premises is always sound.
  A claim that is one of the premises word for word is true of every tree, and is not asked (``reorder``).  Where an
  edit changes no term (``rewrite``), it is right if it is right for each choice of trees by itself: then the trees of a
  run are given, what they are is unknown, and all that is true in that run is a premise.

Rules keep the terms of an element as they are, since what they prove equal is equal whatever the element holds; those
that add or take away stores say how (:func:`adds_nothing`), and instances are not run again (``recompute``).  That the
elements are *defined*, and that loops and addresses are safe, depends on no bits, or is proved for all of them.

When no step needs a licence any more it may be given up: the program then has bits of its own, those of one of the
trees, and is proved with like any other.  A later licence proves all steps again from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from verified_tir import ir
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, fresh


def stored(
    value: Encoded, blocks: Mapping[object, ir.Var], written: Container[ir.Var]
) -> tuple[Encoded, tuple[Term, ...]]:
    """What an element of a licensed block holds after a store of ``value``, and what is known of that.

    :param blocks: the block of each unknown that stands for an element's value, by the unknown's name.
    :param written: the blocks that the program writes.
    """
    if usable(value.value, blocks, written):  # it begins anew
        return value, ()
    held = Encoded(fresh("held", value.value.sort), value.defined, value.data)
    if held.value.sort not in f.FLOAT_SORTS:
        return held, ()
    negative = f.eq(held.value, f.negative_zero(held.value.sort))
    return held, (f.implies(negative, _may_be_negative_zero(value.value, lambda c: usable(c, blocks, written))),)


def _may_be_negative_zero(t: Term, is_known: Callable[[Term], bool]) -> Term:
    """When the terms that make up a value may all be -0.0.  The arm of a choice counts, if it is the same in each tree:
    if its condition ``is_known``."""
    match t.op:
        case "fp.add":
            return f.and_(*[_may_be_negative_zero(a, is_known) for a in t.args])
        case "ite" if is_known(t.args[0]):
            return f.ite(t.args[0], *[_may_be_negative_zero(a, is_known) for a in t.args[1:]])
        case "app" | "var" | "const":
            return f.eq(t, f.negative_zero(t.sort))
    return f.TRUE


def usable(term: Term, blocks: Mapping[object, ir.Var], licensed: Container[ir.Var]) -> bool:
    """Whether a term mentions the value of no element of ``licensed`` blocks: a premise then holds of every tree."""
    return not _some_element(f.subterms(term), blocks, licensed)


def only_compares(fact: Term, blocks: Mapping[object, ir.Var], licensed: Container[ir.Var]) -> bool:
    """Whether a fact computes nothing with the value of a licensed element: it says to what it is equal, or not."""
    return not _some_element((a for t in f.subterms(fact) if t.op != "=" for a in t.args), blocks, licensed)


def _some_element(terms: Iterable[Term], blocks: Mapping[object, ir.Var], licensed: Container[ir.Var]) -> bool:
    return any(blocks.get(t.payload) in licensed for t in terms)


def adds_nothing(value: Term, old: Term) -> Term:
    """When storing ``value`` to an element that holds ``old`` leaves every tree over its terms as it is.

    A sum gains the term -0.0; or 0.0, unless all of its terms may be -0.0; a product gains the term 1.0.
    """
    if value is old:
        return f.TRUE
    if value.op == "ite":
        c, a, b = value.args
        return f.ite(c, adds_nothing(a, old), adds_nothing(b, old))
    rest = [a for a in value.args if a is not old]
    if value.op not in ("fp.add", "fp.mul") or len(rest) != 1 or old in f.subterms(rest[0]):
        return f.FALSE
    (term,) = rest
    if value.op == "fp.mul":
        exponent, significand = f.FLOAT_SORTS[term.sort]
        return f.eq(term, f.floating(term.sort, ((1 << (exponent - 1)) - 1) << (significand - 1)))
    negative = f.negative_zero(term.sort)
    return f.or_(f.eq(term, negative), f.and_(f.eq(term, f.floating(term.sort, 0)), f.ne(old, negative)))
