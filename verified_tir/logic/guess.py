"""Where the kernel asks for a guess: untrusted, replaceable, and never believed.

A fact about an element needs the iteration that stored to it; a store that is to be overwritten needs the instance that
does so.  Finding it is search, which has no place here.  Whoever searches gives terms for some variables, and no more
than that they are terms of these variables' sorts is taken from him: what is said with them is either an instance of
what holds for all values, or is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verified_tir.logic.formula import Term

_guessers: list[Callable[..., Any]] = []


def consult(guesser: Callable[..., Any]) -> None:
    """Ask this one from now on (the package does so when it is imported)."""
    _guessers[:] = [guesser]


def solve_address(
    address: tuple[Term, ...], target: tuple[Term, ...], unknowns: list[Term], given: tuple[Term, ...] = ()
) -> tuple[dict[Term, Term], set[Term]] | None:
    """Terms for ``unknowns`` with which ``address`` might be ``target``, and the unknowns on which it does not depend;
    ``None`` if nothing is found.

    :param given: what is known of the unknowns.
    """
    found = _guessers[0](address, target, unknowns, given) if _guessers else None
    if found is None:
        return None
    values = {u: found[0][u] for u in unknowns if u in found[0]}
    if len(values) < len(unknowns) or any(type(t) is not type(u) or t.sort != u.sort for u, t in values.items()):
        return None
    return values, {u for u in unknowns if u in found[1]}
