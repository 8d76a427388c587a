"""No clause and no argument of a text is read and dropped: it has its meaning, or it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from verified_tir import Schedule
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Cast, IntImm, Var
from verified_tir.ir.script import ScriptError, parse, parse_func, script
from verified_tir.ir.stmt import Block, DeclBuffer, For
from verified_tir.ir.visit import walk

HEAD = """@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), n: T.int32, m: T.int64):
"""
BLOCK = """    for i, j in T.grid(4, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            {}
            B[vi, vj] = A[vi, vj]
"""


def program(*lines: str) -> str:
    return HEAD + "\n".join(f"    {line}" for line in lines) + "\n"


def in_block(*lines: str) -> str:
    return HEAD + BLOCK.format("\n            ".join(lines))


def refused(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    return caught.value


def read(text: str) -> Block:
    """The block of a text, which is printed and read as the same program."""
    func = parse_func(text)
    assert structural_equal(func, parse_func(script(func)))
    (block,) = [s for s in walk(func.body) if isinstance(s, Block)]
    return block


@pytest.mark.parametrize(
    ("first", "second", "message", "instead"),
    [
        ("T.where(vi < 3)", "T.where(vj < 2)", "has a T.where already", "T.where(T.And(vi < 3, vj < 2))"),
        ("T.where(True)", "T.where(vj < 2)", "has a T.where already", "T.where(vj < 2)"),
        ("T.reads(A[vi, vj])", "T.reads(B[vi, vj])", "has a T.reads already", "T.reads(A[vi, vj], B[vi, vj])"),
        ("T.reads()", "T.reads()", "has a T.reads already", "T.reads(A[0:8, 0:8])"),
        ("T.writes(B[vi, vj])", "T.writes(A[vi, vj])", "has a T.writes already", "T.writes([B[vi, vj], A[vi, vj]])"),
        ('T.sblock_attr({"a": 1})', 'T.sblock_attr({"a": 2})', "'a' is given already", 'T.sblock_attr({"a": 1})'),
        ('T.sblock_attr({"a": 1})', 'T.sblock_attr({"a": True})', "'a' is given already", 'T.sblock_attr({"b": 1})'),
    ],
)
def test_a_clause_is_given_once(first: str, second: str, message: str, instead: str) -> None:
    e = refused(in_block(first, second))
    assert message in e.message
    assert e.line == 7
    read(in_block(instead))


def test_attributes_of_a_block_may_come_in_parts() -> None:
    found = read(in_block('T.sblock_attr({"a": 1})', 'T.sblock_attr({"b": 2, "a": 1})'))
    assert found.annotations == (("a", 1), ("b", 2))


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ("T.match_buffer(A[0:4, 2:6], (8, 4))", "cannot be shown to be the extent of the region"),
        ("T.match_buffer(A[0:4, 2:6], (4, 3))", "cannot be shown to be the extent of the region"),
        ("T.match_buffer(A[0:4, 2:6], (4,))", "dimension 0 of the region is left out, and its extent may not be 1"),
        ("T.match_buffer(A[0:n, 2:6], (4,))", "dimension 0 of the region is left out, and its extent may not be 1"),
        ("T.match_buffer(A[0:n, 2:6], (4, 4))", "cannot be shown to be the extent of the region"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), strides=(4, 1))", "cannot be shown to be the stride of the region"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), strides=(8, n))", "cannot be shown to be the stride of the region"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), strides=(8,))", "2 strides are needed"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), strides=('s + 1', 't'))", "is not a name"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), elem_offset=0)", "cannot be shown to be the offset of the region"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), scope='shared')", "the region lies in the scope global"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), data=B.data)", "the region lies in the data of A"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), offset_factor=4)", "is not a multiple of 4"),
        ("T.match_buffer(A[0:4, 2:12], (4, 10))", "the region leaves A in dimension 1"),
        ("T.match_buffer(A[-1:3, 2:6], (4, 4))", "the region leaves A in dimension 0"),
        ("T.match_buffer(A[vi, vj], (1,), axis_separators=[1])", "axis_separators"),
        ("T.match_buffer(A[0:4, 2:6], (4, 4), 'float32', None, None, None, 'global', -1, 0, 1)", "given by name"),
    ],
)
def test_a_matched_region_is_what_its_declaration_says(match: str, message: str) -> None:
    e = refused(in_block(f"C = {match}"))
    assert message in e.message
    assert e.line == 6
    assert message in refused(program(f"C = {match.replace('vi', 'n').replace('vj', 'n')}")).message


@pytest.mark.parametrize(
    "match",
    [
        "T.match_buffer(A[0:4, 2:6], (4, 4))",
        "T.match_buffer(A[0:4, 2:6])",
        "T.match_buffer(A[0:4, 2:6], (4, 4), 'float32', None, (8, 1), 2, 'global', 64, 2)",
        "T.match_buffer(A[0:4, 2:6], (4, 4), data=A.data, strides=(8, 1), elem_offset=2, scope='global')",
        "T.match_buffer(A[n:n + 4, 2:6], (4, 4), elem_offset=n * 8 + 2)",
        "T.match_buffer(A[0:n, 2:6], (n, 4), strides=('s', 't'))",
        "T.match_buffer(A[0, 2:6], (4,), strides=['n'])",
        "T.match_buffer(A[n:n + 1, 2:6], 4)",
        "T.match_buffer(A[0:4, 2:3], (4, 1), align=64)",
    ],
)
def test_a_matched_region_may_say_what_is_so(match: str) -> None:
    block = read(in_block(f"C = {match}"))
    assert isinstance(block.body, DeclBuffer)
    assert [s.value for s in block.body.buffer.strides if isinstance(s, IntImm)] in ([8, 1], [])


SYMBOLS = [
    ("strides=[s, t]", "C[0, 0] = A[0, s - t]", "C[0, 0] = A[0, 7]"),
    ("elem_offset=s", "C[0, 0] = A[0, s + 1]", "C[0, 0] = A[0, 3]"),
    ("strides=(s, 1)", "T.evaluate(C.strides[0])", "T.evaluate(8)"),
]


@pytest.mark.parametrize(("said", "use", "meant"), SYMBOLS)
def test_a_symbol_stands_for_what_the_region_has(said: str, use: str, meant: str) -> None:
    matched = f"C = T.match_buffer(A[0:4, 2:6], (4, 4), {said})"
    plain = "C = T.match_buffer(A[0:4, 2:6], (4, 4))"
    declared = ["s = T.int32()", "t = T.int32()"]
    assert structural_equal(parse(program(*declared, matched, use)), parse(program(plain, meant)))
    assert structural_equal(parse(in_block(*declared, matched, use)), parse(in_block(plain, meant)))


def test_a_symbol_may_be_named_above_its_region() -> None:
    """As TVM prints it."""
    head = ["T.reads(A[0, s])", "C = T.match_buffer(A[0:4, 0:4], (4, 4), strides=(s, 1))"]
    block = read(in_block("s = T.int32()", *head))
    assert block.reads is not None
    assert block.reads[0].mins[1] == IntImm(block.reads[0].mins[1].dtype, 8)
    # once it has a value, it is not a symbol any more
    again = "D = T.match_buffer(A[0:4, 0:4], (4, 4), strides=({}, 1))"
    read(in_block("s = T.int32()", *head, again.format("s")))
    assert "the stride" in refused(in_block("s = T.int32()", *head, again.format("s + 1"))).message


def test_a_matched_extent_may_be_a_symbol() -> None:
    block = read(in_block("s = T.int32()", "C = T.match_buffer(A[0:n, 2:6], (s, 4))"))
    assert isinstance(block.body, DeclBuffer)
    assert [e.name for e in block.body.buffer.shape if isinstance(e, Var)] == ["n"]
    assert "has type int64, the extent of the region int32" in refused(
        in_block("s = T.int64()", "C = T.match_buffer(A[0:n, 2:6], (s, 4))")
    ).message  # fmt: skip


def cases() -> list[tuple[str, str, str]]:
    """What is refused, why, and the neighbour that is accepted."""
    text = (Path(__file__).parent / "clauses.txt").read_text(encoding="utf-8")
    found = []
    for paragraph in text.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        if lines:
            middle = next(k for k, line in enumerate(lines) if line.startswith(":: "))
            found.append(("\n".join(lines[:middle]), lines[middle][3:], "\n".join(lines[middle + 1 :])))
    return found


@pytest.mark.parametrize(("bad", "message", "good"), cases())
def test_no_argument_is_dropped(bad: str, message: str, good: str) -> None:
    assert message in refused(program(*bad.splitlines())).message
    func = parse_func(program(*good.splitlines()))
    assert structural_equal(func, parse_func(script(func)))


@pytest.mark.parametrize(
    ("bad", "message", "good"),
    [
        ("@T.prim_func\n@other\ndef f(): pass", "the one decorator", "@T.prim_func\ndef f(): pass"),
        ("@other\n@T.prim_func\ndef f(): pass", "the one decorator", "@T.prim_func(private=True)\ndef f(): pass"),
        ("@T.prim_func(persistent=True)\ndef f(): pass", "persistent", "@T.prim_func(persistent=False)\ndef f(): pass"),
        ("@T.prim_func(foo=True)\ndef f(): pass", "unknown argument foo", "@T.prim_func(s_tir=True)\ndef f(): pass"),
        ("@T.prim_func(private=3)\ndef f(): pass", "True or False", "@T.prim_func()\ndef f(): pass"),
        ("@I.ir_module\n@other\nclass M: pass", "the one decorator", "@I.ir_module\nclass M: pass"),
        ("@I.ir_module\nclass M(Base): pass", "no bases", "@I.ir_module\nclass M: pass"),
        ("N = 4\nN = 5", "has another value already", "N = 4\nN = 4"),
        ("N = 1\nN = True", "has another value already", "N = 1\nM = True"),
        (
            "@T.prim_func\ndef f(A: T.Buffer((4,)), B: T.Buffer((4,), data=A.data)): pass", "data of its own",
            "@T.prim_func\ndef f(b: T.handle):\n    p = T.handle('float32')\n    B = T.match_buffer(b, (4,), data=p)",
        ),
        (
            "@T.prim_func\ndef f(A: T.Buffer((4,)), b: T.handle):\n    B = T.match_buffer(b, (4,), data=A.data)",
            "data of its own",
            "@T.prim_func\ndef f(A: T.Buffer((4,)), b: T.handle):\n    B = T.match_buffer(b, (4,))",
        ),
        (
            "@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    p = T.handle('float32')\n"
            "    A = T.match_buffer(a, (4,), data=p)\n    B = T.match_buffer(b, (4,), data=p)", "data of its own",
            "@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    p = T.handle('float32')\n"
            "    A = T.match_buffer(a, (4,), data=p)\n    B = T.match_buffer(b, (4,))",
        ),
    ],
)  # fmt: skip
def test_nothing_around_a_function_is_dropped(bad: str, message: str, good: str) -> None:
    assert message in refused(bad).message
    parse(good)


@pytest.mark.parametrize("header", ["T.serial(8, dtype='int64')", "T.grid(8, dtype='int64')"])
def test_the_type_of_a_loop_variable(header: str) -> None:
    for bound, kind in (("8", IntImm), ("n", Cast)):
        func = parse_func(program(f"for i in {header.replace('8', bound)}:", "    pass"))
        (loop,) = [s for s in walk(func) if isinstance(s, For)]
        assert str(loop.var.dtype) == "int64"
        assert isinstance(loop.extent, kind)


def test_matched_regions_mean_their_buffer() -> None:
    """A program with a matched region and the one that names the buffer itself pass or fail together."""
    text = """@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    C = T.match_buffer(A[2:6, 4:8], (4, 4), strides=("s", 1), elem_offset=20, offset_factor=4)
    for i, j in T.grid(4, 4):
        C[i, j] = C[i, j] + T.float32(1)
"""
    Schedule(parse_func(text))
    with pytest.raises(Exception, match="bounds"):
        Schedule(parse_func(text.replace("T.grid(4, 4)", "T.grid(4, 5)")))
