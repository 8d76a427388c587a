"""The kernel's requests for guesses, which are untrusted, replaceable, and never believed.

A fact about an element needs the iteration that stored to it; a store that is to be overwritten needs the instance that
does so; a question needs facts about what it mentions.  Finding them is search, which has no place here.  Whoever
searches gives terms, and no more than that they are terms of the sorts that are asked for is taken from him: what is
said with them is either an instance of what holds for all values, or is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verified_tir.ir.outside import ask
from verified_tir.logic.formula import Term


def solve_address(
    address: tuple[Term, ...], target: tuple[Term, ...], unknowns: list[Term], given: tuple[Term, ...] = ()
) -> tuple[dict[Term, Term], set[Term]] | None:
    """Terms for ``unknowns`` with which ``address`` might be ``target``, and the unknowns on which it does not depend;
    ``None`` if nothing is found.

    :param given: what is known of the unknowns.
    """
    found = ask("address", address, target, unknowns, given)
    if found is None:
        return None
    values = values_of(found[0], unknowns)
    return None if len(values) < len(unknowns) else (values, {u for u in unknowns if u in found[1]})


def values_of(values: Mapping[Term, object], unknowns: Iterable[Term]) -> dict[Term, Term]:
    """The terms among some values for unknowns, of the same sorts."""
    found = {u: values[u] for u in unknowns if u in values}
    return {u: t for u, t in found.items() if type(t) is Term and t.sort == u.sort}
