"""`Pad` by mirrored elements gave the first or the last one where it goes there and back several times; `AveragePool`
counted fewer than no elements of windows that lie within the padding, so that their average was -0.0 and not NaN, or a
number where two such counts were multiplied; and the running sum of -0.0 was 0.0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.onnx import from_onnx


def computed(op: str, x: Any, constant: list[int] | None = None, **attributes: Any) -> Any:
    """The result, compiled; the interpreter gives the same."""
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    known = [] if constant is None else [numpy_helper.from_array(np.array(constant, np.int64), "c")]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *(k.name for k in known)], ["y"], **attributes)], "g",
        [helper.make_tensor_value_info("x", element, x.shape)], [helper.make_tensor_value_info("y", element, None)],
        known,
    )  # fmt: skip
    read = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]))
    (found,) = build(read).run([x])
    np.testing.assert_array_equal(found, evaluate(read, [x])[0])
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("around", [(1, 1), (2, 0), (5, 5), (0, 13), (12, 1)])
def test_mirrored_elements_go_there_and_back(n: int, around: tuple[int, int]) -> None:
    x = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(computed("Pad", x, [*around], mode="reflect"), np.pad(x, around, "reflect"))


def test_mirrored_elements_beside_some_that_go() -> None:
    """Of the operand, as if the cut were made afterwards."""
    x = np.arange(3, dtype=np.float32)
    for before, after in ((-1, 2), (-2, 7), (8, -2)):
        whole = np.pad(x, (max(before, 0), max(after, 0)), "reflect")
        want = whole[max(-before, 0) : len(whole) - max(-after, 0)]
        np.testing.assert_array_equal(computed("Pad", x, [before, after], mode="reflect"), want)
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(
        computed("Pad", rows, [1, 4, 0, 0], mode="reflect"), np.pad(rows, ((1, 0), (4, 0)), "reflect")
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_average_of_a_window_within_the_padding_is_that_of_nothing(rank: int) -> None:
    x = np.ones((1, 1, *[4] * rank), np.float32)
    found = computed("AveragePool", x, kernel_shape=[2] * rank, pads=[3] * 2 * rank)
    inside = np.ones(())
    for _ in range(rank):
        inside = np.multiply.outer(inside, [0, 0, 1, 1, 1, 1, 1, 0, 0])
    np.testing.assert_array_equal(found[0, 0], np.where(inside > 0, 1, np.nan))
    with_padding = computed("AveragePool", x, kernel_shape=[2] * rank, pads=[3] * 2 * rank, count_include_pad=1)
    assert with_padding.reshape(-1)[0] == 0 and np.isfinite(with_padding).all()


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_a_running_sum_of_negative_zeros_is_one(dtype: Any, reverse: int) -> None:
    order = slice(None, None, -1 if reverse else 1)
    x = np.array([-0.0, -0.0, 2, -2, -0.0], dtype)[order]
    sums = computed("CumSum", x, [0], reverse=reverse)[order]
    before = computed("CumSum", x, [0], reverse=reverse, exclusive=1)[order]
    assert sums.tolist() == [0, 0, 2, 0, 0] and before.tolist() == [0, 0, 0, 2, 0]
    if dtype is not np.int32:
        assert np.signbit(sums).tolist() == [True, True, False, False, False]
        assert np.signbit(before).tolist() == [False, True, True, False, False]  # the sum of none is 0.0
