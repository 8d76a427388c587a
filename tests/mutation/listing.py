"""All mutants: what the operators make of the trusted base."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from tests.mutation.mutant import Mutant, short_name
from tests.mutation.operators import GROUPS, OPERATORS, mutants
from tests.mutation.sources import Source, mutated_files


class NoSuchMutant(ValueError):
    """Nothing has that name."""


def select(
    root: Path, what: Sequence[str] = (), operators: Iterable[str] = (), only: str = "", *, stricter: bool = False
) -> list[Mutant]:
    """Mutants of some files, by some operators, in the order of files and places.

    :param what: rules (``reorder``), files (``verified_tir/kernel/region.py``, ``rules.reorder``), or folders;
        everything if empty.
    :param operators: operators, or groups of them; all if empty.
    :param stricter: those too that can only make the kernel refuse more.
    :param only: one mutant's id, or what ids must contain.
    :raises NoSuchMutant: for a name that means nothing.
    """
    wanted = _operators(tuple(operators))
    files = mutated_files(root)
    chosen = [f for f in files if not what or any(_means(name, f) for name in what)]
    for name in what:
        if not any(_means(name, f) for f in files):
            known = ", ".join(short_name(f) for f in files)
            raise NoSuchMutant(f"no rule or mutated file is called {name}; there are: {known}")
    if ":" in only:
        chosen = [f for f in chosen if short_name(f) == only.partition(":")[0]] or chosen
    found = [m for f in chosen for m in _automatic(f, (root / f).read_bytes())
             if m.operator in wanted and (stricter or m.effect != "stricter")]  # fmt: skip
    if only:
        found = [m for m in found if m.id == only] or [m for m in found if only in m.id]
        if not found:
            raise NoSuchMutant(f"no mutant is called {only}, or has that in its id; --list shows all")
    return found


@lru_cache(maxsize=256)
def _automatic(file: str, data: bytes) -> tuple[Mutant, ...]:
    return tuple(mutants(Source(file, data)))


def _means(name: str, file: str) -> bool:
    """Whether a name on the command line means a file."""
    plain = name.removeprefix("./").rstrip("/")
    return plain in (file, Path(file).stem, Path(file).name, short_name(file)) or file.startswith(plain + "/")


def _operators(names: tuple[str, ...]) -> set[str]:
    wanted: set[str] = set()
    for name in names:
        if name in GROUPS:
            wanted |= {operator for operator, (group, _) in OPERATORS.items() if group == name}
        elif name in OPERATORS:
            wanted.add(name)
        else:
            raise NoSuchMutant(f"no operator is called {name}; there are: {', '.join([*GROUPS, *OPERATORS])}")
    return wanted or {*OPERATORS}
