"""The operators: what is done to each place of a function to which it can be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.mutation.mutant import Edit, Mutant, mutants_of
from tests.mutation.operators.arithmetic import arithmetic
from tests.mutation.operators.conditions import branches, conditions
from tests.mutation.operators.domain import domain
from tests.mutation.operators.formulas import formulas
from tests.mutation.operators.obligations import obligations
from tests.mutation.operators.scope import Scope
from tests.mutation.operators.values import values
from tests.mutation.sources import Source

GROUPS: dict[str, Callable[[Scope], Iterator[Edit]]] = {
    "obligations": obligations,
    "formulas": formulas,
    "conditions": conditions,
    "values": values,
    "domain": domain,
    "branches": branches,
    "arithmetic": arithmetic,
}
"""Groups of operators, in the order in which a change that two of them make is counted for the first."""


def mutants(source: Source, groups: tuple[str, ...] = tuple(GROUPS)) -> list[Mutant]:
    """All mutants of a file, in the order of its functions.

    Ids do not depend on ``groups``: an operator belongs to one group, and its places are counted by operator.
    """
    found: list[Mutant] = []
    for function in source.functions:
        scope = Scope.of(source, function)
        if scope is None:
            continue
        edits = [e for name in GROUPS for e in GROUPS[name](scope)]
        kept = mutants_of(source, function, edits)
        found += [m for m in kept if group_of(m.operator) in groups]
    return found


OPERATORS: dict[str, tuple[str, str]] = {
    "drop-question": ("obligations", "an obligation is not asked"),
    "drop-goal": ("formulas", "a condition of a formula becomes true"),
    "drop-conjunct": ("formulas", "a conjunction loses an operand"),
    "drop-disjunct": ("formulas", "a disjunction loses an operand"),
    "drop-premise": ("formulas", "an implication becomes its conclusion"),
    "swap-bound": ("formulas", "`lt` for `le`, or the other way round"),
    "drop-negation": ("formulas", "`not_(x)` becomes `x`"),
    "off-by-one": ("formulas", "`add(x, 1)` or `sub(x, 1)` becomes `x`"),
    "pick-arm": ("formulas", "a choice always takes the same arm"),
    "flip-truth": ("formulas", "`TRUE` for `FALSE`, or the other way round"),
    "drop-condition": ("conditions", "a side condition never refuses"),
    "never-branch": ("branches", "a branch is never taken"),
    "always-branch": ("branches", "a branch is always taken"),
    "drop-case": ("branches", "a case is never taken"),
    "drop-guard": ("conditions", "a case has no guard"),
    "drop-operand": ("conditions", "`and` or `or` loses an operand"),
    "drop-not": ("branches", "`not x` becomes `x`"),
    "forget-one": ("values", "`x + 1` or `x - 1` becomes `x`"),
    "swap-comparison": ("values", "`<` for `<=`, or the other way round"),
    "swap-quantifier": ("values", "`all` for `any`, or the other way round"),
    "drop-union": ("values", "a union, intersection or difference of sets loses an operand"),
    "drop-element": ("values", "a tuple, list or set loses an element"),
    "drop-keyword": ("values", "an argument is left to its default"),
    "drop-filter": ("values", "a comprehension takes everything"),
    "only-first": ("branches", "a loop looks at the first element only"),
    "flip-constant": ("branches", "`True` for `False`, or the other way round"),
    "swap-operator": ("arithmetic", "`+` for `-`, `and_` for `or_`, and the like"),
    "swap-equality": ("arithmetic", "`!=` for `==`, `not in` for `in`, and the like"),
    "swap-arguments": ("arithmetic", "two arguments change places"),
    "next-number": ("arithmetic", "a number is one larger"),
    "drop-statement": ("domain", "a statement is left out"),
    "shared-binder": ("domain", "bound variables are not renamed apart"),
    "skip-substitution": ("domain", "a variable is not replaced"),
    "nothing-written": ("domain", "what a statement may read or write is forgotten"),
}
"""The group of each operator, and what it does in words."""


def group_of(operator: str) -> str:
    return OPERATORS[operator][0]


__all__ = ["GROUPS", "OPERATORS", "group_of", "mutants"]
