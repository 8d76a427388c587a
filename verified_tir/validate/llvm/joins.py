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
    import networkx as nx

    end = object()
    back = nx.DiGraph()
    back.add_node(end)
    for name, block in code.blocks.items():
        back.add_edges_from((after, name) for after in ((end,) if block.end[0] == "ret" else successors(block)))
    nearest = nx.immediate_dominators(back, end)
    return {name: None if nearest.get(name) is end else nearest.get(name) for name in code.blocks}
