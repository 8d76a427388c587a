"""Programs that are the same but for what means nothing, and differences that look as if they meant nothing."""

import pytest

from verified_tir import parse_func
from verified_tir.validate.batch import judge_record
from verified_tir.validate.doubts import with_wide_views
from verified_tir.validate.meaning import closed, same_meaning
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.recorded import Record

SUM = """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 6):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(8):
        B[i] = C[i]
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('(8,), "float32")\n    for', '(8,), "float32", scope="local")\n    for'),
        ("T.reads(A[vi, vk])", "T.reads(A[0:8, vk])"),
        ('T.sblock("sum")', 'T.sblock("other")'),
        ("in range(8)", "in T.parallel(8)"),
        ("in range(8)", 'in T.serial(8, annotations={"note": 1})'),
        ("    for i in range(8):\n        B[i] = C[i]", "    for q in range(8):\n        B[q] = C[q]"),
        ("    for i in range(8)", "    T.evaluate(0)\n    for i in range(8)"),
    ],
)
def test_what_means_nothing(old, new):
    assert old in SUM
    assert same_meaning(parse_func(SUM), parse_func(SUM.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"SR"', '"SS"'),  # then every instance initialises
        ("T.float32(0)", "T.float32(-0.0)"),
        ("in range(8)", "in range(7)"),
        ("B[i] = C[i]", "B[i] = C[7 - i]"),
        ("T.writes(C[vi])\n", "T.writes(C[vi])\n            T.where(k < 5)\n"),
        ("A[vi, vk]\n    for", "A[vi, vi]\n    for"),
    ],
)
def test_what_means_something(old, new):
    assert old in SUM
    assert not same_meaning(parse_func(SUM), parse_func(SUM.replace(old, new)))


FREE = """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1,), "bool")):
    i = T.int32()
    j = T.int32()
    A[0] = {}
"""


def test_free_variables_are_parameters_by_name():
    one, other = closed(parse_func(FREE.format("i < j")), parse_func(FREE.format("j < i")))
    assert [p.name for p in one.params] == [p.name for p in other.params] == ["A", "i", "j"]
    assert not same_meaning(one, other)
    judged = judge("f", parse_func(FREE.format("i < j")), parse_func(FREE.format("j < i")), {}, Budget())
    assert judged.word == "different"
    judged = judge("f", parse_func(FREE.format("i < j")), parse_func(FREE.format("not (j <= i)")), {}, Budget())
    assert judged.word == "equal at sizes" and "-7" in judged.text
    only_one = parse_func(FREE.format("T.bool(True)"))
    assert [p.name for p in closed(only_one, parse_func(FREE.format("i < 3")))[0].params] == ["A", "i"]


VIEWS = """\
@T.prim_func(s_tir=True)
def f(B: T.Buffer((4,), "int32")):
    A = T.alloc_buffer((8,), "int32")
    C = T.decl_buffer((4,), "int32", data=A.data)
    for i in range(4):
        A[i] = 7
    for i in range(4):
        C[{0} + i] = i
    for i in range(4):
        B[i] = C[{0} + i]
"""
ALONE = """\
@T.prim_func(s_tir=True)
def f(B: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((4,), "int32")
    for i in range(4):
        C[i] = i
    for i in range(4):
        B[i] = C[i]
"""


def judged(before: str, after: str, kind: str = "tirx.StorageRewrite", args: str = ""):
    return judge_record(Record(f"p {kind}", kind, args, "plain", "small", before, after), {}, Budget())


def test_views_moved_in_their_block_are_not_called_different():
    found = judged(ALONE, VIEWS.format(4))
    assert found.word == "unsupported" and "beyond its declared shape" in found.reason
    assert judged(ALONE, VIEWS.format(0)).word == "equal"
    assert judged(ALONE, VIEWS.format(5)).word == "different"  # outside the block
    wrong = VIEWS.format(4).replace("B[i] = C[4 + i]", "B[i] = C[3 + i]")
    assert judged(ALONE, wrong).word == "different"  # with the whole block's shape too
    same = parse_func(ALONE)
    assert with_wide_views(same) is same


def test_a_nan_that_is_lost_by_its_bits_is_not_called_different():
    plain = '@T.prim_func\ndef f(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):\n    B[0] = {}\n'
    bits = 'T.reinterpret("float32", T.reinterpret("int32", A[0]) | {})'
    lost = judged(plain.format("A[0]"), plain.format(bits.format(0)), "legalize")
    assert lost.word == "unsupported" and "NaN" in lost.reason
    assert judged(plain.format("A[0]"), plain.format(bits.format(1)), "legalize").word == "different"
    undef = plain.format("T.Select(A[0] == A[0], A[0], T.undef('float32'))")
    assert judged(plain.format("A[0]"), undef, "legalize").word == "different"


REWRITE = """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    {buffer}
    for i, j in T.grid(4, 4):
        with T.sblock("layout_rewrite"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(A_[vj, vi // 2, vi % 2])
            T.sblock_attr({{"meta_schedule.layout_rewrite_preproc": True}})
            A_[vj, vi // 2, vi % 2] = A[vi, vj]
    for i, j in T.grid(4, 4):
        C[i, j] = A_[j, i // 2, i % 2] * T.float32(2)
"""
TAKEN = """\
@T.prim_func(s_tir=True)
def f(A_: T.Buffer((4, 2, 2), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        C[i, j] = A_[{}] * T.float32(2)
"""


def test_a_weight_taken_in_the_layout_to_which_it_was_copied():
    before = REWRITE.format(buffer='A_ = T.sblock_alloc_buffer((4, 2, 2), "float32")')
    assert judged(before, TAKEN.format("j, i // 2, i % 2")).word == "equal"
    assert judged(before, TAKEN.format("j, i % 2, i // 2")).word == "different"


def test_a_layout_that_nobody_gave_is_not_called_different():
    plain = TAKEN.format("j, i // 2, i % 2").replace("A_: T.Buffer((4, 2, 2)", "A_: T.Buffer((4, 4)")
    before = plain.replace("A_[j, i // 2, i % 2]", "A_[i, j]")
    found = judged(before, TAKEN.format("j, i // 2, i % 2"))
    assert found.word == "unknown" and "no index map is given" in found.reason
    assert judged(before, TAKEN.format("i, j // 2, j % 2")).word == "equal"  # row by row
    flat = before.replace('(4, 4), "float32"), C', '(16,), "float32"), C').replace("A_[i, j]", "A_[{}]")
    assert judged(before, flat.format("i * 4 + j")).word == "equal"
    assert judged(before, flat.format("j * 4 + i")).word == "different"  # merged axes can be read in one way only
