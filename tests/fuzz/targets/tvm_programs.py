"""Random programs in TVM's words: stages of blocks over two-dimensional buffers; and plans for TVM's primitives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from hypothesis import strategies as st

MAPS: Final = (
    "{s}[vi, vj]", "{s}[vi, vj] * 2 + 1", "{s}[vi, {m} - 1 - vj]", "{s}[vi, (vj + 1) % {m}]", "{s}[vi, (3 - vj) % {m}]",
    "{s}[vi, vj // 2]", "{s}[({n} - 1 - vi) // 2, vj]", "T.max({s}[vi, vj], 0)", "T.min({s}[vi, vj] - 1, {a}[vi, vj])",
    "{s}[vi, vj] + {a}[vi, vj]", "({s}[vi, vj] + {a}[vi, vj]) - {s}[vi, vj]",
    "T.Select({s}[vi, vj] < {a}[vi, vj], {s}[vi, vj], T.{t}(3))", "T.if_then_else(1 <= vj, {s}[vi, vj - 1], T.{t}(7))",
    "T.if_then_else(vi + vj < {m}, {s}[vi, vi + vj], {a}[vi, vj])", 'T.Cast("{t}", vi * 3 + vj)',
    "{s}[vi, vj] // 3", "{s}[vi, vj] % 3", "T.truncdiv({s}[vi, vj], 2)", "{s}[vi, vj] * {s}[vi, vj]",
)  # fmt: skip
INTEGER_ONLY: Final = ("// 3", "% 3", "truncdiv")
TERMS: Final = ("{s}[vi, vk]", "{s}[vi, vk] * {a}[vi, vk]", "{s}[vi, vk] + 1", "{a}[vi, vk] * 3")
PRIMITIVES: Final = (
    "split", "fuse", "reorder", "compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline",
    "cache_read", "cache_write", "reindex", "rfactor", "decompose_reduction", "vectorize", "parallel", "unroll",
    "transform_layout", "pad_einsum", "blockize", "merge", "loop_partition", "fuse_reduction_epilogue", "add_unit_loop",
    "set_scope", "storage_align", "transform_block_layout", "cache_inplace", "bind",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """A primitive, and numbers that choose its arguments when the program is known."""

    primitive: str
    numbers: tuple[int, ...]


def plans(names: tuple[str, ...] = PRIMITIVES) -> st.SearchStrategy[Plan]:
    """One step."""
    return st.builds(Plan, st.sampled_from(names), st.tuples(*[st.integers(0, 11)] * 4))


@st.composite
def texts(draw: st.DrawFn) -> str:
    """The text of a program: one to three stages, the last one into the parameter ``C``."""
    dtype = draw(st.sampled_from(("int32", "int32", "float32")))
    n, m = draw(st.sampled_from((2, 4, 3, 1, 5))), draw(st.sampled_from((4, 2, 3, 6, 8)))
    shape, count = f"({n}, {m})", draw(st.integers(1, 3))
    lines, source = [], "A"
    for k in range(count):
        target = "C" if k == count - 1 else f"B{k}"
        if target != "C":
            lines.append(f'    {target} = T.sblock_alloc_buffer({shape}, "{dtype}")')
    for k in range(count):
        target = "C" if k == count - 1 else f"B{k}"
        names = {"s": source, "a": "A", "n": n, "m": m, "t": dtype}
        kind = draw(st.sampled_from(("map", "map", "map", "sum", "guarded", "update", "recurrence")))
        lines += _stage(draw, kind, target, names, dtype)
        source = draw(st.sampled_from((target, target, "A"))) if target != "C" else target
    body = "\n".join(lines)
    return (
        f'@T.prim_func(s_tir=True)\ndef f(A: T.Buffer({shape}, "{dtype}"), C: T.Buffer({shape}, "{dtype}")):\n{body}\n'
    )


def _stage(draw: st.DrawFn, kind: str, target: str, names: dict[str, object], dtype: str) -> list[str]:
    n, m = names["n"], names["m"]
    usable = [e for e in MAPS if dtype == "int32" or not any(i in e for i in INTEGER_ONLY)]
    value = draw(st.sampled_from(usable)).format(**names)
    zero = f"T.{dtype}(0)"
    block = [f'        with T.sblock("{target}"):', '            vi, vj = T.axis.remap("SS", [i, j])']
    loops = [f"    for i, j in T.grid({n}, {m}):"]
    if kind in ("sum", "recurrence"):
        term = draw(st.sampled_from(TERMS)).format(**names)
        loops = [f"    for i, j, k in T.grid({n}, {m}, {m}):"]
        block[1] = '            vi, vj, vk = T.axis.remap("SSR", [i, j, k])'
        old = f"{target}[vi, vj]"
        init = ["            with T.init():", f"                {old} = {zero}"]
        update = (
            f"            {old} = {old} * 2 + {term}" if kind == "recurrence" else f"            {old} = {old} + {term}"
        )
        return [*loops, *block, *init, update]
    if kind == "guarded":
        block.append(f"            T.where(i + j < {m})")
    made = [*loops, *block, f"            {target}[vi, vj] = {value}"]
    if kind == "update":
        again = [block[0].replace(f'"{target}"', f'"{target}_again"'), *block[1:]]
        made += [*loops, *again, f"            {target}[vi, vj] = {target}[vi, vj] + 1"]
    return made
