"""Blocks: axes, claims, init, allocations and matched regions."""

from __future__ import annotations

import pytest

from verified_tir.ir.expr import TRUE, Binary, IntImm, Var
from verified_tir.ir.script import ScriptError, parse_func, script
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, For, Region, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk

HEAD = 'def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):'


def func_text(*lines: str) -> str:
    return "\n".join(["@T.prim_func", HEAD, *(f"    {line}" for line in lines)])


def block_of(*head: str, word: str = "sblock") -> Block:
    """The block inside ``for i, j in T.grid(16, 16)`` with this head."""
    lines = ["for i, j in T.grid(16, 16):", f'    with T.{word}("b"):', *(f"        {line}" for line in head)]
    found = [n for n in walk(parse_func(func_text(*lines)).body) if isinstance(n, Block)]
    assert len(found) == 1
    return found[0]


def loop_vars(root: Stmt) -> list[Var]:
    return [n.var for n in walk(root) if isinstance(n, For)]


@pytest.mark.parametrize(
    ("text", "kind", "low", "extent"),
    [
        ("v = T.axis.spatial(16, i)", "spatial", 0, 16),
        ("v = T.axis.S(16, i)", "spatial", 0, 16),
        ("v = T.axis.reduce(16, i + 1)", "reduce", 0, 16),
        ("v = T.axis.R(16, i)", "reduce", 0, 16),
        ("v = T.axis.opaque(16, i)", "opaque", 0, 16),
        ("v = T.axis.spatial((9, 12), i)", "spatial", 9, 3),
        ('v = T.axis.remap("R", [i])', "reduce", 0, 16),
    ],
)
def test_axes(text: str, kind: str, low: int, extent: int) -> None:
    (axis,) = block_of(text).iter_vars
    assert axis.kind == kind
    assert axis.min is const(low)
    assert axis.extent is const(extent)


def test_remap_takes_the_domains_of_the_loops() -> None:
    text = func_text(
        "for i in range(2, 6):", "    for j in range(n):", '        with T.sblock("b"):',
        '            vi, vj = T.axis.remap("SR", [i, j])', "            B[vi] = A[vi, vj]",
    )  # fmt: skip
    func = parse_func(text)
    (block,) = [s for s in walk(func.body) if isinstance(s, Block)]
    first, second = block.iter_vars
    assert (first.min, first.extent) == (const(2), const(4))
    assert second.extent is func.params[2]
    assert [iv.value for iv in block.iter_vars] == loop_vars(func.body)
    assert 'vi, vj = T.axis.remap("SR", [i, j])' in script(func)


def test_an_axis_may_have_the_name_of_its_loop() -> None:
    (axis,) = block_of("i = T.axis.spatial(16, i)", "B[i] = 0.0").iter_vars
    assert isinstance(axis.value, Var)
    assert axis.var is not axis.value


def test_the_head() -> None:
    block = block_of(
        "vi = T.axis.spatial(16, i)", "T.where(i < 3)", "T.reads(A[vi, 0:14], A[0:16, j])", "T.writes(B[vi])",
        'T.sblock_attr({"k": 1, "l": "x"})', "with T.init():", "    B[vi] = 0.0", "B[vi] = 1.0",
    )  # fmt: skip
    assert isinstance(block.predicate, Binary)
    assert block.reads is not None
    assert [len(r.mins) for r in block.reads] == [2, 2]
    assert block.reads[0].extents == (const(1), const(14))
    assert block.reads[1].extents == (const(16), const(1))
    assert block.writes is not None
    assert isinstance(block.init, Store)
    assert block.annotations == (("k", 1), ("l", "x"))


def test_what_is_not_claimed_is_none_and_what_is_claimed_empty_is_empty() -> None:
    block = block_of("B[0] = 1.0")
    assert (block.reads, block.writes, block.init, block.predicate) == (None, None, None, TRUE)
    assert block.is_label
    assert block_of("T.reads()", "T.writes([])", "B[0] = 1.0").reads == ()


@pytest.mark.parametrize(
    ("region", "mins", "extents"),
    [
        ("B[n]", ["n"], [1]),
        ("B", [0], [16]),
        ("B[:]", [0], [16]),
        ("B[4:]", [4], [12]),
        ("B[:3]", [0], [3]),
        ("B[n:n + 4]", ["n"], [4]),
        ("B[n * 4 + 1:n * 4 + 3]", [None], [2]),
        ("B[T.Ramp(4, 1, 8)]", [4], [8]),
    ],
)
def test_regions(region: str, mins: list[object], extents: list[int]) -> None:
    found = block_of(f"T.reads({region})").reads
    assert found is not None
    (made,) = found
    assert isinstance(made, Region)
    for e, want in zip(made.mins, mins, strict=True):
        if isinstance(want, int):
            assert e is const(want)
        elif isinstance(want, str):
            assert isinstance(e, Var)
            assert e.name == want
    assert list(made.extents) == [const(x) for x in extents]


def test_allocations_of_a_block_and_in_a_block() -> None:
    new = block_of("C = T.sblock_alloc_buffer((4,))", "C[0] = 1.0")
    assert len(new.alloc_buffers) == 1
    inner = block_of("C = T.alloc_buffer((4,))", "C[0] = 1.0")
    assert inner.alloc_buffers == ()
    assert isinstance(inner.body, Allocate)
    # in the older dialect an allocation at the head of T.block belongs to the block
    old = block_of("C = T.alloc_buffer([4])", "C[0] = 1.0", word="block")
    assert len(old.alloc_buffers) == 1


@pytest.mark.parametrize(
    ("match", "offset", "strides"),
    [
        ("T.match_buffer(A[i, 0:16], (16,))", "i * 16", ()),
        ("T.match_buffer(A[i * 4:i * 4 + 4, 4:8], (4, 4), strides=('s0', 's1'))", "i * 4 * 16 + 4", (16, 1)),
        ("T.match_buffer(A[i, j], (), offset_factor=1)", "i * 16 + j", ()),
        ("T.match_buffer(A[0:16, j], (16, 1))", "j", (16, 1)),
    ],
)
def test_a_matched_region_is_a_view_with_the_strides_of_its_buffer(
    match: str, offset: str, strides: tuple[int, ...]
) -> None:
    block = block_of(f"R = {match}", "T.evaluate(R.elem_offset)")
    assert isinstance(block.body, DeclBuffer)
    view = block.body.buffer
    assert [s.value for s in view.strides if isinstance(s, IntImm)] == list(strides)
    assert script(view.elem_offset) == offset


def test_a_matched_region_serves_the_init_too() -> None:
    block = block_of(
        "R = T.match_buffer(B[i:i + 4], (4,))", "with T.init():", "    R[0] = 0.0", "R[1] = 1.0"
    )  # fmt: skip
    assert isinstance(block.init, DeclBuffer)
    assert isinstance(block.body, DeclBuffer)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["v = T.axis.spatial(16)"], "the argument binding is missing"),
        (["v = T.axis.scan(16, i)"], "an axis is spatial, reduce or opaque"),
        (['v = T.axis.remap("SS", [i])'], "as many kinds as bindings"),
        (['v = T.axis.remap("S", [n])'], "variables of the loops"),
        (['v = T.axis.remap("S", [i + 1])'], "variables of the loops"),
        (["v = T.axis.spatial(T.int64(16), i)"], "the domain has type int64, the binding int32"),
        (["v = T.axis.spatial(16, A[0, 0])"], "the binding float32"),
        (["T.reads(n)"], "a region of a buffer is needed"),
        (["T.reads(A[0])"], "A has 2 dimensions; the region names 1"),
        (["T.reads(B[0:16:2])"], "no step"),
        (["T.where(i)"], "a condition must be bool"),
        (["with T.init():", "    pass", "with T.init():", "    pass"], "has an init already"),
        (["B[0] = 1.0", "T.reads()"], "belongs at the head"),
        (["B[0] = 1.0", "v = T.axis.spatial(16, i)"], "belongs at the head"),
        (["R = T.match_buffer(A[0, 0:4], (4,), 'int8')"], "a region of float32 is matched with a buffer of int8"),
        (["R = T.match_buffer(B[0:4], (2, 2))"], "the region has 1 dimensions, the buffer 2"),
    ],
)
def test_mistakes(lines: list[str], message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        block_of(*lines)
    assert message in caught.value.message
