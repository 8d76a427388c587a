"""Neighbouring rewrites become one or none, and each time that is proved; what may not be folded stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap
from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.execute import evaluate
from verified_tir.graph.fold import Folded, fold_rewrites

X = (1, 6, 2, 2)
TILES = IndexMap.from_func(lambda n, c, h, w: [n, c // 4, h, w, c % 4], 4)
BACK = IndexMap.from_func(lambda n, o, h, w, i: [n, o * 4 + i, h, w], 5)
HALVES = IndexMap.from_func(lambda n, c, h, w: [n, c // 2, h, w, c % 2], 4)
HALVES_BACK = IndexMap.from_func(lambda n, o, h, w, i: [n, o * 2 + i, h, w], 5)
NHWC = IndexMap.from_func(lambda n, c, h, w: [n, h, w, c], 4)
MORE = ((0, 0), (0, 2), (0, 0), (0, 0))
LESS = {"start_indices": (0, 0, 0, 0), "slice_sizes": X}


def graph_of(*steps: tuple[str, dict[str, Any]], shape: tuple[int, ...] = X, constant: bool = False) -> Graph:
    g = GraphBuilder()
    array = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    x = g.constant(array, "x") if constant else g.input("x", shape)
    for op, attrs in steps:
        x = g.op(op, x, **attrs)
    return g.finish(g.op("nn.relu", x))


def transform(index_map: IndexMap, value: float | None = None) -> tuple[str, dict[str, Any]]:
    return "layout_transform", {"index_map": index_map, "pad_value": value}


def pad(value: float | None = None) -> tuple[str, dict[str, Any]]:
    return "pad", {"pad_width": MORE, "pad_value": value}


CROP: tuple[str, dict[str, Any]] = ("crop", LESS)
CROP_OF_8: tuple[str, dict[str, Any]] = ("crop", {"start_indices": (0, 0, 0, 0), "slice_sizes": X})
EIGHT = (1, 8, 2, 2)


def ops(made: Folded) -> list[str]:
    return [n.op for n in made.graph.nodes]


FOLDED = {
    "there and back": (graph_of(transform(HALVES), transform(HALVES_BACK)), []),
    "through padding": (graph_of(transform(TILES), transform(BACK), CROP), []),
    "through padding with a value": (graph_of(transform(TILES, 0.0), transform(BACK), CROP), []),
    "crop after pad": (graph_of(pad(7.0), CROP), []),
    "crop after pad with anything": (graph_of(pad(), CROP), []),
    "pad after crop, with anything": (graph_of(CROP_OF_8, pad(), shape=EIGHT), []),
    "pad after crop of what was padded so": (graph_of(pad(0.0), CROP, pad(0.0)), ["pad"]),
    "two maps": (graph_of(transform(NHWC), transform(IndexMap.from_func(lambda n, h, w, c: [n, c, w, h], 4))),
                 ["layout_transform"]),
    "two orders": (graph_of(("permute_dims", {"axes": (0, 2, 3, 1)}), ("permute_dims", {"axes": (0, 3, 1, 2)})), []),
    "an order and a map": (graph_of(("permute_dims", {"axes": (0, 2, 3, 1)}), transform(
        IndexMap.from_func(lambda n, h, w, c: [n, c // 4, h, w, c % 4], 4), 0.0)), ["layout_transform"]),
    "two pads": (graph_of(pad(1.0), pad(1.0)), ["pad"]),
    "two crops": (graph_of(CROP, ("crop", {"start_indices": (0, 1, 0, 0), "slice_sizes": (1, 4, 2, 2)}), shape=EIGHT),
                  ["crop"]),
    "an order that is none": (graph_of(("permute_dims", {"axes": (0, 1, 2, 3)})), []),
}  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", FOLDED)
def test_neighbours_become_one_or_none(name: str) -> None:
    graph, left = FOLDED[name]
    made = fold_rewrites(graph)
    assert ops(made) == [*left, "nn.relu"]
    assert made.folds and all(f.proof.theorem.after is f.proof.schedule.func for f in made.folds)
    x = np.random.default_rng(0).standard_normal(graph.inputs[0].shape).astype(np.float32)
    whole = "anything" not in name
    for got, want in zip(evaluate(made.graph, [x]), evaluate(graph, [x]), strict=True):
        np.testing.assert_array_equal(got if whole else got[:, :6], want if whole else want[:, :6])


STAY = {
    "pad after crop of anything": (graph_of(CROP_OF_8, pad(0.0), shape=EIGHT), ["crop", "pad"]),
    "pad after crop of another value": (graph_of(pad(1.0), CROP, pad(0.0)), ["pad"]),
    "two pads with different values": (graph_of(pad(1.0), pad(2.0)), ["pad", "pad"]),
    "minus zero": (graph_of(pad(0.0), pad(-0.0)), ["pad", "pad"]),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", STAY)
def test_what_would_change_the_result_stays(name: str) -> None:
    graph, left = STAY[name]
    made = fold_rewrites(graph)
    assert ops(made) == [*left, "nn.relu"]
    if len(left) == 2:
        assert len(made.notes) == 1 and "refused, since this is false" in made.notes[0]
    x = np.random.default_rng(0).standard_normal(graph.inputs[0].shape).astype(np.float32)
    np.testing.assert_array_equal(evaluate(made.graph, [x]), evaluate(graph, [x]))


def hinted(value: float) -> Graph:
    return graph_of(("crop", LESS | {"cropped_value": value}), pad(0.0), shape=EIGHT)


@pytest.mark.nightly
def test_a_hint_is_no_proof_and_may_be_believed() -> None:
    assert ops(fold_rewrites(hinted(0.0))) == ["crop", "pad", "nn.relu"]
    believed = fold_rewrites(hinted(0.0), believe_hints=True)
    assert ops(believed) == ["nn.relu"]
    assert believed.assumptions == ["x holds 0.0 where lv crops it (cropped_value)"]
    assert ops(fold_rewrites(hinted(-0.0), believe_hints=True)) == ["crop", "pad", "nn.relu"]


def test_rewrites_of_constants_are_constants() -> None:
    graph = graph_of(transform(TILES, 5.0), transform(BACK), ("permute_dims", {}), constant=True)
    made = fold_rewrites(graph)
    assert ops(made) == ["nn.relu"] and len(made.constants) == 3
    np.testing.assert_array_equal(evaluate(made.graph, []), evaluate(graph, []))
    (array,) = made.graph.constants.values()
    assert (array == 5.0).sum() == 9  # eight of padding, and one element


def test_a_rewrite_that_others_read_too_stays_for_them() -> None:
    g = GraphBuilder()
    x = g.input("x", X)
    y = g.op("layout_transform", x, index_map=HALVES)
    z = g.op("layout_transform", y, index_map=HALVES_BACK)
    made = fold_rewrites(g.finish(g.op("nn.relu", y), g.op("nn.relu", z), z))
    assert ops(made) == ["layout_transform", "nn.relu", "nn.relu"]
    assert made.graph.outputs[-1] is x
