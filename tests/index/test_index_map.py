"""Index maps: building, using and printing them; what constant shapes give; what is refused and with which witness."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tests.parts.work import calls
from verified_tir.index.evaluate import evaluate
from verified_tir.index.map import (
    AXIS_SEPARATOR,
    IndexMap,
    IndexMapError,
    NegativeIndex,
    NotInjective,
    NotInvertible,
    UnknownBounds,
)
from verified_tir.index.text import index_text, tuple_text
from verified_tir.ir.dtype import INT32, INT64, DType
from verified_tir.ir.expr import FALSE, Binary, Cast, IfThenElse, IntImm, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import const

# map, shape, padded shape, inverse, padding predicate
GOLDEN = [
    (lambda i: [i // 4, i % 4], [16], "[4, 4]", "lambda io, ii: [4 * io + ii]", "False"),
    (lambda i: [i // 4, i % 4], [14], "[4, 4]", "lambda io, ii: [4 * io + ii]", "io == 3 and ii >= 2"),
    (lambda i: [(i + 2) // 8, (i + 2) % 8], [14], "[2, 8]", "lambda io, ii: [8 * io + ii - 2]", "io == 0 and ii < 2"),
    (
        lambda i: [(i + 3) // 8, (i + 3) % 8], [10],
        "[2, 8]", "lambda io, ii: [8 * io + ii - 3]", "8 * io + ii < 3 or 8 * io + ii >= 13",
    ),
    (lambda i: [i // 4, i % 4], [3], "[1, 3]", "lambda io, ii: [ii]", "False"),
    (
        lambda n, h, w, c: [n, c // 16, h, w, c % 16], [1, 7, 7, 60],
        "[1, 4, 7, 7, 16]", "lambda n, co, h, w, ci: [0, h, w, 16 * co + ci]", "co == 3 and ci >= 12",
    ),
    (
        lambda i, j: [i // 16, j // 16, i % 16, j % 16], [1024, 1000],
        "[64, 63, 16, 16]", "lambda io, jo, ii, ji: [16 * io + ii, 16 * jo + ji]", "jo == 62 and ji >= 8",
    ),
    (
        lambda i: [i // 32, i // 4 % 8, i % 4], [100],
        "[4, 8, 4]", "lambda i0, i1, i2: [32 * i0 + 4 * i1 + i2]", "i0 == 3 and i1 >= 1",
    ),
    (
        lambda i, j, k: [(i * 7 + j) * 5 + k], [4, 7, 5],
        "[140]", "lambda axis0: [axis0 // 35, axis0 // 5 % 7, axis0 % 5]", "False",
    ),
    (
        lambda i, j: [(i * 7 + j) // 4, (i * 7 + j) % 4], [6, 7],
        "[11, 4]", "lambda axis0, axis1: [(4 * axis0 + axis1) // 7, (4 * axis0 + axis1) % 7]",
        "axis0 == 10 and axis1 >= 2",
    ),
    (lambda i: [7 - i], [8], "[8]", "lambda i: [7 - i]", "False"),
    (lambda i: [(i + 1) % 8], [8], "[8]", "lambda i: [(i + 7) % 8]", "False"),
    (lambda i: [2 * i], [7], "[13]", "lambda i: [i // 2]", "i % 2 != 0"),
    (lambda i: [3 * i % 7], [7], "[7]", "lambda i: [5 * i % 7]", "False"),
    (lambda i, j: [i, (i + j) % 4], [4, 4], "[4, 4]", "lambda i, axis1: [i, (axis1 - i) % 4]", "False"),
    (
        lambda i, j: [i, i ^ j], [4, 4], "[4, 4]",
        "lambda i, axis1: [i, 2 * ((axis1 // 2 - i // 2) % 2) + (axis1 % 2 - i % 2) % 2]", "False",
    ),
    (
        lambda i, j: [i ^ j, i], [4, 4], "[4, 4]",
        "lambda axis0, i: [i, 2 * ((axis0 // 2 - i // 2) % 2) + (axis0 % 2 - i % 2) % 2]", "False",
    ),
    (lambda i, j: [j, i], [3, 5], "[5, 3]", "lambda j, i: [i, j]", "False"),
    (lambda i, j: [i + j, j], [3, 4], "[6, 4]", "lambda axis0, j: [axis0 - j, j]", "axis0 < j or axis0 >= j + 3"),
    (lambda i, j: [i, 3], [10, 1], "[10, 4]", "lambda i, axis1: [i, 0]", "axis1 < 3"),
    (lambda i: [i // 128, i % 128], [100_000], "[782, 128]", "lambda io, ii: [128 * io + ii]",
     "128 * io + ii >= 100000"),
    (lambda i: [i], [0], "[0]", "lambda i: [0]", "False"),
    (lambda: [0, 2], [], "[1, 3]", "lambda axis0, axis1: []", "axis1 < 2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("func", "shape", "padded", "inverse", "predicate"), GOLDEN, ids=[f"{g[2]}{g[3]}" for g in GOLDEN]
)
def test_constant_shapes(func, shape, padded, inverse, predicate):
    f = IndexMap.from_func(func, len(shape))
    assert tuple_text(f.padded_shape(shape)) == padded
    assert str(f.inverse(shape)) == inverse
    assert index_text(f.padding_predicate(shape)[1]) == predicate


# ---------------------------------------------------------------------- building


def test_variables_are_named_after_the_parameters():
    assert str(IndexMap.from_func(lambda i, j: [i, j // 4, j % 4], 2)) == "lambda i, j: [i, j // 4, j % 4]"
    assert str(IndexMap.from_func(lambda *x: [*x[1:], x[0]], 3)) == "lambda i0, i1, i2: [i1, i2, i0]"
    assert str(IndexMap.from_func(lambda n, *rest: [*rest, n], 3)) == "lambda n, i1, i2: [i1, i2, n]"
    assert str(IndexMap.from_func(lambda i: i + 1, 1)) == "lambda i: [i + 1]"
    assert str(IndexMap.from_func(lambda i: (i, 0), 1)) == "lambda i: [i, 0]"
    assert str(IndexMap.identity(2)) == "lambda i0, i1: [i0, i1]"
    assert str(IndexMap.from_func(lambda: [], 0)) == "lambda: []"


def test_parameters_with_defaults_keep_values():
    maps = [IndexMap.from_func(lambda i, k=k, *, n=2: [i * n + k], 1) for k in range(2)]
    assert [str(m) for m in maps] == ["lambda i: [i * 2]", "lambda i: [i * 2 + 1]"]


def test_separators_are_positions_among_the_outputs():
    f = IndexMap.from_func(lambda i, j, k: [i, AXIS_SEPARATOR, j, k, AXIS_SEPARATOR], 3)
    assert f.separators == (1, 3)
    assert [e.name for e in f.outputs] == ["i", "j", "k"]
    assert str(f) == "lambda i, j, k: [i, AXIS_SEPARATOR, j, k, AXIS_SEPARATOR]"


def test_index_type():
    f = IndexMap.from_func(lambda i: [i // 4, 0], 1, "int64")
    assert {e.dtype for e in (*f.inputs, *f.outputs)} == {INT64}
    assert {e.dtype for e in f.padded_shape([10])} == {INT64}
    assert f.inverse([1]).outputs[0].dtype is INT64
    assert IndexMap.from_func(lambda i: [i // 4, i % 4], 1, "int64").inverse([9]).inputs[0].dtype is INT64


@pytest.mark.parametrize(
    ("func", "rank", "message"),
    [
        (lambda i, j: [i], 1, "takes 2 indices .i, j., but there are 1"),
        (lambda i: [i], 2, "takes 1 indices"),
        (lambda i, j, *rest: [i], 1, "takes at least 2 indices"),
        (lambda i, *, j: [i], 1, "j is keyword-only"),
        (lambda i: [i, 1.5], 1, "result 1 .* must be an index of type int32, not 1.5"),
        (lambda i: [True], 1, "not True"),
        (lambda i: [i < 3], 1, "an expression of type bool"),
        (lambda i: [Cast(INT64, i)], 1, "an expression of type int64"),
        (lambda i: None, 1, "not None"),
    ],
)
def test_what_is_no_index_map(func, rank, message):
    with pytest.raises(IndexMapError, match=message):
        IndexMap.from_func(func, rank)
    assert issubclass(IndexMapError, IRError)


def test_malformed_parts():
    i, j = Var.fresh("i"), Var.fresh("j", DType.parse("int64"))
    with pytest.raises(IndexMapError, match="must differ"):
        IndexMap((i, i), (i,))
    with pytest.raises(IndexMapError, match="throughout"):
        IndexMap((i,), (j,))
    with pytest.raises(IndexMapError, match="ascend"):
        IndexMap((i,), (i, i), (2, 1))
    with pytest.raises(IndexMapError, match="ascend"):
        IndexMap((i,), (i,), (2,))
    f = IndexMap((i,), (i,))
    with pytest.raises(IndexMapError, match="shape of 2 dimensions"):
        f.inverse([3, 4])
    with pytest.raises(IndexMapError, match="extent"):
        f.inverse([j])
    with pytest.raises(IndexMapError, match="is applied to 2"):
        f.apply([i, i])


# ---------------------------------------------------------------------- using


def test_apply_and_compose():
    split = IndexMap.from_func(lambda i: [i // 4, i % 4], 1)
    swap = IndexMap.from_func(lambda a, b: [b, AXIS_SEPARATOR, a], 2)
    x = Var.fresh("x")
    assert split.apply([x + 1]) == ((x + 1) // 4, (x + 1) % 4)
    both = swap.compose(split)
    assert str(both) == "lambda i: [i % 4, AXIS_SEPARATOR, i // 4]"
    with pytest.raises(IndexMapError, match="applied to 1"):
        swap.compose(swap.compose(split).compose(IndexMap.from_func(lambda i: [i], 1)).inverse([8]))


def test_the_inverse_composed_is_the_identity():
    n = Var.fresh("n")
    for func, shape in [
        (lambda i, j: [j // 4, i, j % 4], [5, 14]),
        (lambda i, j: [j // 4, i, j % 4], [5, n]),
        (lambda i, j: [(i + 2 * j) % 9, j], [9, 6]),
    ]:
        f = IndexMap.from_func(func, 2)
        assert f.inverse(shape).compose(f).is_identity(shape)
        assert not f.compose(IndexMap.from_func(lambda i, j: [i, j], 2)).is_identity(shape)


def test_identity_depends_on_the_shape():
    f = IndexMap.from_func(lambda i, j: [i % 4, Binary("min", j, const(9))], 2)
    assert f.is_identity([4, 10])
    assert not f.is_identity([5, 10])
    assert not f.is_identity([4, 11])
    n = Var.fresh("n")
    assert IndexMap.from_func(lambda i: [i % n], 1).is_identity([n])
    assert not IndexMap.from_func(lambda i: [i % n], 1).is_identity([n + 1])
    assert not IndexMap.from_func(lambda i: [i, 0], 1).is_identity([n])


# ---------------------------------------------------------------------- refusals


def test_a_collision_is_shown():
    f = IndexMap.from_func(lambda i, j: [i % 3, j], 2)
    with pytest.raises(NotInjective, match=r"both \[0, 0\] and \[3, 0\] to \[0, 0\]") as error:
        f.inverse([5, 7])
    assert (error.value.first, error.value.second, error.value.output) == ((0, 0), (3, 0), (0, 0))
    assert error.value.symbols == {}
    assert f.inverse([3, 7]).outputs[0] is not None  # the near miss


def test_a_collision_in_a_box_too_large_to_enumerate():
    f = IndexMap.from_func(lambda i: [i % 99_999, i // 100_000], 1)
    with pytest.raises(NotInjective) as error:
        f.inverse([100_000])
    assert {error.value.first, error.value.second} == {(0,), (99_999,)}
    assert str(f.inverse([99_999])) == "lambda io, ii: [io]"


def test_a_negative_output_is_shown():
    f = IndexMap.from_func(lambda i, j: [i, j - 2], 2)
    with pytest.raises(NegativeIndex, match=r"output 1 of the map is -2 at \[0, 0\]") as error:
        f.padded_shape([3, 5])
    assert (error.value.axis, error.value.point, error.value.value) == (1, (0, 0), -2)
    assert str(f.inverse([3, 5])) == "lambda i, j: [i, j + 2]"
    with pytest.raises(NegativeIndex):
        IndexMap.from_func(lambda i: [i // 2 - 40_000], 1).padded_shape([200_000])


def test_what_is_not_understood_is_refused():
    n = Var.fresh("n")
    cubic = IndexMap.from_func(lambda i, j: [i * i * i + j * n * j, i * j * j], 2)
    with pytest.raises((NotInvertible, NotInjective)):
        cubic.inverse([n, n])
    with pytest.raises(UnknownBounds, match="upper bound"):
        IndexMap.from_func(lambda i: [IfThenElse(i < n, i, 2 * i)], 1).padded_shape([n * n])


def test_division_by_an_index_is_evaluated_where_that_is_possible():
    f = IndexMap.from_func(lambda i, j: [i, (j + 60) // (i + 1)], 2)
    assert tuple_text(f.padded_shape([3, 2])) == "[3, 62]"
    with pytest.raises(NotInjective):
        f.inverse([3, 2])


def test_the_unsimplified_predicate_is_the_same_function():
    f = IndexMap.from_func(lambda i: [i // 4, i % 4], 1)
    (io, ii), plain = f.padding_predicate([14], simplified=False)
    assert index_text(plain) == (
        "4 * io + ii < 0 or 4 * io + ii >= 14 or (4 * io + ii) // 4 != io or (4 * io + ii) % 4 != ii"
    )
    variables, short = f.padding_predicate([14])
    assert variables == (io, ii)
    assert index_text(short) == "io == 3 and ii >= 2"


def test_padding_of_a_map_that_is_not_injective():
    f = IndexMap.from_func(lambda i, j: [2 * (i // 2), j // 5], 2)
    _, predicate = f.padding_predicate([9, 12])
    assert index_text(predicate) == "i % 2 == 1"
    assert IndexMap.from_func(lambda i: [i % 8], 1).padding_predicate([20])[1] is FALSE


# ---------------------------------------------------------------------- arrays


def test_pack_and_unpack():
    f = IndexMap.from_func(lambda i, j: [j // 4, i, j % 4], 2)
    array = np.arange(30, dtype=np.float32).reshape(5, 6) + 1
    packed = f.pack(array)
    assert packed.shape == (2, 5, 4) and packed.dtype == np.float32
    for i, j in np.ndindex(5, 6):
        assert packed[j // 4, i, j % 4] == array[i, j]
    assert (packed[1, :, 2:] == 0).all()
    assert (f.unpack(packed, (5, 6)) == array).all()
    assert (f.pack(array, -1.0)[1, :, 2:] == -1).all()
    by_place = f.pack(array, lambda jo, i, ji: 100 * jo + 10 * i + ji)
    assert by_place[1, 3, 2] == 132 and by_place[0, 0, 0] == 1


def test_pack_keeps_bits():
    f = IndexMap.from_func(lambda i: [i // 4, i % 4], 1)
    array = np.array([0.0, -0.0, np.nan, np.inf, 1.0], dtype=np.float16)
    packed = f.pack(array, -0.0)
    assert packed.dtype == np.float16 and np.signbit(packed[0, 1]) and np.signbit(packed[1, 1:]).all()
    assert f.unpack(packed, (5,)).tobytes() == array.tobytes()


def test_pack_odd_shapes():
    assert IndexMap.from_func(lambda: [2], 0).pack(np.array(7)).tolist() == [0, 0, 7]
    assert IndexMap.from_func(lambda i: [i // 2, i % 2], 1).pack(np.zeros(0)).size == 0
    flat = IndexMap.from_func(lambda i, j: [], 2)
    assert flat.pack(np.array([[5]])).tolist() == 5
    with pytest.raises(NotInjective):
        flat.pack(np.zeros((2, 1)))


def test_pack_refuses_collisions_and_wrong_layouts():
    f = IndexMap.from_func(lambda i: [i // 2], 1)
    with pytest.raises(NotInjective):
        f.pack(np.arange(4))
    with pytest.raises(IndexMapError, match="has shape"):
        IndexMap.from_func(lambda i: [i // 2, i % 2], 1).unpack(np.zeros((3, 2)), (4,))


def test_pack_moves_whole_axes():
    f = IndexMap.from_func(lambda n, h, w, c: [n, c // 16, h, w, c % 16], 4)
    array = np.arange(4 * 56 * 56 * 256, dtype=np.int32).reshape(4, 56, 56, 256)
    packed = f.pack(array)
    assert (f.unpack(packed, array.shape) == array).all()
    assert (packed == array.reshape(4, 56, 56, 16, 16).transpose(0, 3, 1, 2, 4)).all()


# ---------------------------------------------------------------------- speed


def test_maps_that_only_enumeration_inverts():
    """Binary numbers in Gray's order: neither digits nor isl have words for it."""
    gray = IndexMap.from_func(lambda i: [i ^ i // 2], 1)
    back = gray.inverse([16])
    places = [k ^ k // 2 for k in range(16)]
    assert evaluate(back.outputs, {back.inputs[0]: np.array(places)})[0].tolist() == list(range(16))
    with pytest.raises(NotInjective):
        IndexMap.from_func(lambda i: [i ^ i % 4], 1).inverse([16])


def test_a_split_is_little_work():
    """Shape, inverse and predicate together, of fresh maps: 2 ms for each of them."""

    def ask(k: int) -> None:
        f = IndexMap.from_func(lambda i, j: [i, j // 4, j % 4], 2)
        f.padded_shape([8, 30 + k])
        f.inverse([8, 30 + k])
        f.padding_predicate([8, 30 + k])

    ask(0)  # loads what is loaded once
    assert all(calls(partial(ask, k)) < 20_000 for k in range(1, 9))


def test_text_has_the_parentheses_it_needs():
    i, j = Var.fresh("i"), Var.fresh("j")
    cases = [
        (i - (j - 1), "i - (j - 1)"),
        (i // 4 * 4, "i // 4 * 4"),
        (4 * (i // 4), "4 * (i // 4)"),
        ((i + j) % 4, "(i + j) % 4"),
        (Binary("and", i < 4, Binary("or", j < 2, i > j)), "i < 4 and (j < 2 or i > j)"),
        (Binary("max", i, j + 1), "max(i, j + 1)"),
        (IntImm(INT32, -3), "-3"),
        (i * -1, "i * -1"),
    ]
    for expr, text in cases:
        assert index_text(expr) == text
        for a, b in ((7, 3), (2, 5)):
            assert eval(text, {"i": a, "j": b}) == eval(index_text(expr), {"i": a, "j": b})
