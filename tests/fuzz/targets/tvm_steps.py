"""TVM's primitives with arguments chosen by numbers, for a schedule as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from tests.fuzz.targets.tvm_programs import Plan

Step = Callable[[Any], object]
_FACTORS: Final = ((None, 2), (2, None), (None, 3), (None, 4), (1, None), (2, 2), (3, 2))
_MAPS: Final[tuple[Callable[..., Any], ...]] = (
    lambda i, j: [j, i],
    lambda i, j: [i, j // 2, j % 2],
    lambda i, j: [i, j // 4, j % 4],
    lambda i, j: [i + 1, j],
    lambda i, j: [i, j // 2],
    lambda i, j: [i, (j + 1) % 4],
    lambda i, j: [i * 8 + j],
)


def apply(sch: Any, plan: Plan) -> None:
    """Take a step.

    :param sch: a ``ValidatedSchedule``.
    :raises Exception: whatever TVM raises where it refuses.
    """
    a, b, c, d = plan.numbers
    blocks = [name for name in _blocks(sch) if name != "root"]
    block = blocks[a % len(blocks)]
    loops = list(sch.get_loops(block)) if plan.primitive not in _OF_BLOCKS else []
    if plan.primitive not in _OF_BLOCKS and not loops:
        return
    _STEPS[plan.primitive](sch, block, blocks, loops, (b, c, d))


def _blocks(sch: Any) -> list[str]:
    """The names of the blocks, in the order of the program as TVM prints it."""
    (function,) = [f for _, f in sch.schedule.mod.functions.items()]
    return list(dict.fromkeys(re.findall(r'T\.sblock\("([^"]+)"', str(function.script()))))


def _reorder(s: Any, _: str, __: list[str], loops: list[Any], n: tuple[int, ...]) -> object:
    k = n[0] % len(loops)
    chosen = loops[k : k + 2] if n[1] % 3 else loops
    return s.reorder(*reversed(chosen))


def _fuse(s: Any, _: str, __: list[str], loops: list[Any], n: tuple[int, ...]) -> object:
    k = n[0] % len(loops)
    return s.fuse(*loops[k : k + 2])


def _other(blocks: list[str], n: int) -> str:
    return blocks[n % len(blocks)]


def _loop_of(s: Any, block: str, n: int) -> Any:
    loops = list(s.get_loops(block))
    if not loops:
        raise ValueError(f"there is no loop around {block}")
    return loops[n % len(loops)]


_STEPS: Final[dict[str, Callable[[Any, str, list[str], list[Any], tuple[int, ...]], object]]] = {
    "split": lambda s, b, bs, ls, n: s.split(ls[n[0] % len(ls)], list(_FACTORS[n[1] % len(_FACTORS)])),
    "fuse": _fuse,
    "reorder": _reorder,
    "compute_at": lambda s, b, bs, ls, n: s.compute_at(b, _loop_of(s, _other(bs, n[0]), n[1])),
    "reverse_compute_at": lambda s, b, bs, ls, n: s.reverse_compute_at(b, _loop_of(s, _other(bs, n[0]), n[1])),
    "compute_inline": lambda s, b, bs, ls, n: s.compute_inline(b),
    "reverse_compute_inline": lambda s, b, bs, ls, n: s.reverse_compute_inline(b),
    "cache_read": lambda s, b, bs, ls, n: s.cache_read(b, n[0] % 2, "global"),
    "cache_write": lambda s, b, bs, ls, n: s.cache_write(b, 0, "global"),
    "reindex": lambda s, b, bs, ls, n: s.reindex(b, ("read" if n[0] % 2 else "write", 0)),
    "rfactor": lambda s, b, bs, ls, n: s.rfactor(ls[n[0] % len(ls)], 0),
    "decompose_reduction": lambda s, b, bs, ls, n: s.decompose_reduction(b, ls[n[0] % len(ls)]),
    "vectorize": lambda s, b, bs, ls, n: s.vectorize(ls[-1 - n[0] % 2]),
    "parallel": lambda s, b, bs, ls, n: s.parallel(ls[n[0] % len(ls)]),
    "unroll": lambda s, b, bs, ls, n: s.unroll(ls[n[0] % len(ls)]),
    "transform_layout": lambda s, b, bs, ls, n: s.transform_layout(
        b, ("read" if n[0] % 3 == 0 else "write", 0), _MAPS[n[1] % len(_MAPS)], pad_value=(None, 0, 5)[n[2] % 3]
    ),
    "transform_block_layout": lambda s, b, bs, ls, n: s.transform_block_layout(b, _MAPS[n[1] % len(_MAPS)]),
    "pad_einsum": lambda s, b, bs, ls, n: s.pad_einsum(b, [(1, 2, 4)[k % 3] for k in n][: len(s.get_loops(b))]),
    "blockize": lambda s, b, bs, ls, n: s.blockize(ls[n[0] % len(ls)]),
    "merge": lambda s, b, bs, ls, n: s.merge(ls[0], _distinct(s, b, bs, n[0])),
    "loop_partition": lambda s, b, bs, ls, n: s.loop_partition(ls[n[0] % len(ls)], [1 + n[1] % 3, None]),
    "fuse_reduction_epilogue": lambda s, b, bs, ls, n: s.fuse_reduction_epilogue(b, _other(bs, n[0])),
    "add_unit_loop": lambda s, b, bs, ls, n: s.add_unit_loop(s.get_sblock(b)),
    "set_scope": lambda s, b, bs, ls, n: s.set_scope(b, 0, "local"),
    "storage_align": lambda s, b, bs, ls, n: s.storage_align(b, 0, 0, 8, 3),
    "cache_inplace": lambda s, b, bs, ls, n: s.cache_inplace(b, 0, "local"),
    "bind": lambda s, b, bs, ls, n: s.bind(ls[n[0] % len(ls)], "threadIdx.x"),
}  # fmt: skip
_OF_BLOCKS: Final = frozenset({
    "compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline", "cache_read", "cache_write",
    "reindex", "transform_layout", "transform_block_layout", "pad_einsum", "fuse_reduction_epilogue", "add_unit_loop",
    "set_scope", "storage_align", "cache_inplace",
})  # fmt: skip


def _distinct(s: Any, block: str, blocks: list[str], n: int) -> Any:
    """A loop of another block: of a loop merged with itself TVM dies."""
    others = [name for name in blocks if name != block] or [block]
    loop, other = s.get_loops(block)[0], s.get_loops(others[n % len(others)])[0]
    if s.schedule.get_sref(loop).same_as(s.schedule.get_sref(other)):
        raise ValueError("both loops are one")
    return other
