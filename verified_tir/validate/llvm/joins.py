"""Where the ways out of a block meet: its immediate postdominator."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verified_tir.validate.llvm.code import BlockCode, Code


def successors(block: BlockCode) -> tuple[str, ...]:
    """The blocks that may come next."""
    match block.end:
        case ("br", str() as label):
            return (label,)
        case ("if", _, str() as yes, str() as no):
            return (yes, no)
        case ("switch", _, _, dict() as cases, str() as default):
            return (*dict.fromkeys(cases.values()), default)
    return ()


def joins(code: Code) -> dict[str, str | None]:
    """For each block the first one that every way from it to the function's end passes; ``None``: the end itself.

    Ways into unreachable code do not count.
    """
    names = list(code.blocks)
    following = {n: successors(code.blocks[n]) for n in names}
    everything = set(names)
    after: dict[str, set[str]] = {n: {n} if code.blocks[n].end[0] == "ret" else everything for n in names}
    changed = True
    while changed:
        changed = False
        for n in reversed(names):
            if not following[n]:
                continue
            common = set.intersection(*[after[s] for s in following[n]]) | {n}
            if common != after[n]:
                after[n], changed = common, True
    return {n: _nearest(n, after) for n in names}


def _nearest(name: str, after: dict[str, set[str]]) -> str | None:
    """Among the blocks after a block the one that has most of them after itself."""
    candidates = after[name] - {name}
    return max(candidates, key=lambda c: len(after[c]), default=None)
