"""Models: the values with which a claim is refuted.  Nothing is proved by them.

Most refutations are of attempts whose values nobody looks at, and to find these takes longer than to refute: they are
found when somebody asks (:meth:`Model.later`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, final

from verified_tir.logic.formula import BOOL, INT, not_a_number, value_of
from verified_tir.logic.smtlib import Script

Values: TypeAlias = dict[str, int]
Sorts: TypeAlias = dict[str, str]


@final
class Model:
    """Values of the free variables under which the givens hold and the goal does not (floats as bits).

    :ivar values: by name; a variable without one may have any.
    :ivar sorts: of the variables that have a value.
    """

    __slots__ = ("_find", "_found")

    def __init__(self, values: Values, sorts: Sorts) -> None:
        self._found: tuple[Values, Sorts] | None = (values, sorts)
        self._find: Callable[[], tuple[Values, Sorts]] | None = None

    @classmethod
    def later(cls, find: Callable[[], tuple[Values, Sorts]]) -> Model:
        """A model whose values and sorts ``find`` finds, once, when they are needed."""
        model = cls({}, {})
        model._found, model._find = None, find
        return model

    @property
    def values(self) -> Values:
        return self._all[0]

    @property
    def sorts(self) -> Sorts:
        return self._all[1]

    @property
    def _all(self) -> tuple[Values, Sorts]:
        if self._found is None:
            assert self._find is not None
            self._found, self._find = self._find(), None
        return self._found

    def __reduce__(self) -> tuple[type[Model], tuple[Values, Sorts]]:
        return Model, self._all


def our_names(script: Script) -> dict[str, tuple[str, str]]:
    """What the variables and functions in a text are called by us, with their sorts, by their names there."""
    return {short: (str(name), sort) for (kind, name, sort, _), short in script.names.items() if kind in ("var", "app")}


def model_of(script: Script, find: Callable[[], Values | None]) -> Model:
    """The model of a query that was refuted; ``find`` gives its values by the names in its text, or ``None``."""

    def named() -> tuple[Values, Sorts]:
        ours = our_names(script)
        known = [(*ours[short], value) for short, value in (find() or {}).items() if short in ours]
        return {name: value for name, _, value in known}, {name: sort for name, sort, _ in known}

    return Model.later(named)


def values_of(model: Any, script: Script) -> dict[str, int]:
    """What Z3 gives the nullary names of a query; functions are left out."""
    import z3

    found: dict[str, int] = {}
    ours = our_names(script)
    for declaration in model.decls():
        short = declaration.name()
        if declaration.arity() or short not in ours:
            continue
        value, sort = model[declaration], ours[short][1]
        if sort == INT:
            found[short] = value.as_long()
        elif sort == BOOL:
            found[short] = int(z3.is_true(value))
        elif value.isNaN():
            found[short] = value_of(not_a_number(sort))  # Z3 gives a NaN no bits
        else:
            found[short] = z3.simplify(z3.fpToIEEEBV(value, value.ctx)).as_long()
    return found


Answer: TypeAlias = tuple[str, Any]
"""``unsat``; ``sat`` with values by the names in the query's text; ``unknown`` with the reason; ``failed`` with what Z3
said, where it came to no end (a text that it cannot read, no memory).  That is not kept on disk."""

_OF_THE_MACHINE: Final = frozenset({"timeout", "memout", "interrupted from keyboard", "interrupted"})
"""Reasons for which Z3 gives up that are not in the question, nor in the budget."""


def answer_of(kind: str, found: Any, script: Script) -> Answer:
    """What comes of Z3's answer (``z3_query``): that, and what the solver that gave it, if there is one, says of it."""
    if found is None or kind in ("unsat", "failed"):
        return kind, found if kind == "failed" else None
    import z3

    try:
        if kind == "sat":
            return "sat", values_of(found.model(), script)
        reason = found.reason_unknown()
    except z3.Z3Exception as problem:
        return "failed", str(problem)
    return "failed" if reason in _OF_THE_MACHINE else kind, reason


def run(setting: str, script: Script, budget: int) -> Answer:
    """The answer of a fresh context."""
    from verified_tir.logic.z3_query import check

    return answer_of(*check(script.text, setting, budget, {}), script)
