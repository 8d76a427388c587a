"""If, Loop and Scan: the nodes of their graphs take their place, where it is known which run, and how often.

An ``If`` takes one of its branches if its condition is a constant; a ``Loop`` is unrolled if its trip count and its
conditions are constants, a ``Scan`` as often as its inputs are long.  What else there is of them is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import shape_text

if TYPE_CHECKING:
    from verified_tir.graph.onnx.load import Reader

CONTROL: Final = ("If", "Loop", "Scan")
MOST_ITERATIONS: Final = 1000
"""A loop that runs more often is not unrolled."""


def expanded(reader: Reader, node: Any) -> None:
    """Take the nodes of which a node consists, with this node's results.

    :raises GraphError: if it is not known here which nodes run.
    """
    graphs = {a.name: a.g for a in node.attribute if a.HasField("g")}
    {"If": _branch, "Loop": _loop, "Scan": _scan}[node.op_type](reader, node, graphs)


def _branch(reader: Reader, node: Any, graphs: Mapping[str, Any]) -> None:
    found = reader.arrays.get(node.input[0])
    if found is None:
        raise GraphError("which branch runs is computed by the model; its condition must be a constant here")
    _check_one(found, np.bool_, "its condition")
    for name, graph in graphs.items():
        if len(graph.output) != len(node.output) or graph.input:
            raise GraphError(
                f"its {name} has {len(graph.output)} results and {len(graph.input)} inputs; it has "
                f"{len(node.output)} results and no inputs"
            )
    graph = graphs["then_branch" if found.item() else "else_branch"]
    results = inlined(reader, node, graph, {})
    for name, result in zip(node.output, results, strict=True):
        _same(reader, name, result)


def _loop(reader: Reader, node: Any, graphs: Mapping[str, Any]) -> None:
    body = graphs["body"]
    count, go_on = (reader.arrays.get(n) if n else None for n in (*node.input[:2], "")[:2])
    conditional = len(node.input) > 1 and node.input[1] != ""  # otherwise those that its body computes are ignored
    if (node.input[0] and count is None) or (conditional and go_on is None):
        raise GraphError("how often it runs is computed by the model; that must be a constant here")
    if not conditional and count is None:
        raise GraphError("it has neither a trip count nor a condition, and never ends")
    for what, array, dtype in (("trip count", count, np.int64), ("condition", go_on, np.bool_)):
        if array is not None:
            _check_one(array, dtype, f"its {what}")
    carried = list(node.input[2:])
    _none_missing(carried)
    if len(body.input) != 2 + len(carried) or len(body.output) != len(node.output) + 1:
        raise GraphError("its body does not have the inputs and results that it is given")
    scanned: list[list[str]] = [[] for _ in node.output[len(carried) :]]
    k, runs, condition = 0, go_on is None or bool(go_on.item()), _constant(reader, "condition", np.asarray(True))
    while runs and (count is None or k < int(count.item())):
        if k >= MOST_ITERATIONS:
            raise GraphError(f"it runs more than {MOST_ITERATIONS} times")
        place = _constant(reader, "iteration", np.asarray(k, np.int64))
        given = [i.name for i in body.input]
        last, *results = inlined(reader, node, body, dict(zip(given, (place, condition, *carried), strict=True)))
        if conditional:
            runs = _goes_on(reader, last)
        else:
            condition = last
        carried, k = results[: len(carried)], k + 1
        for every, one in zip(scanned, results[len(carried) :], strict=True):
            every.append(one)
    for name, value in zip(node.output, carried, strict=False):
        _same(reader, name, value)
    for name, every in zip(node.output[len(carried) :], scanned, strict=True):
        _stacked(reader, name, every, 0)


def _goes_on(reader: Reader, name: str) -> bool:
    """The condition that a loop's body computes."""
    known = reader.arrays.get(name)
    if known is None:
        raise GraphError("whether it goes on is computed by the model; that must be a constant here")
    _check_one(known, np.bool_, "whether it goes on")
    return bool(known.item())


def _scan(reader: Reader, node: Any, graphs: Mapping[str, Any]) -> None:
    body, attributes = graphs["body"], {a.name: a for a in node.attribute}
    if len(body.input) != len(node.input) or len(body.output) != len(node.output):
        raise GraphError("its body does not have the inputs and results that it is given (nor those of opset 8)")
    _none_missing(node.input)
    n = attributes["num_scan_inputs"].i
    if not 1 <= n <= len(node.input):
        raise GraphError(f"num_scan_inputs is 1 to {len(node.input)}, not {n}")
    states, inputs = list(node.input[: len(node.input) - n]), list(node.input[len(node.input) - n :])
    outputs = len(node.output) - len(states)

    def each(name: str, count: int) -> list[int]:
        found = list(attributes[name].ints) if name in attributes else [0] * count
        if len(found) != count:
            raise GraphError(f"{name} has {count} numbers, not {len(found)}")
        return found

    axes = [axis_of(a, len(reader.dims(v))) for a, v in zip(each("scan_input_axes", n), inputs, strict=True)]
    backwards, turned = each("scan_input_directions", n), each("scan_output_directions", outputs)
    put = each("scan_output_axes", outputs)
    lengths = {reader.shape(v)[a] for v, a in zip(inputs, axes, strict=True)}
    if len(lengths) != 1 or max(lengths) > MOST_ITERATIONS:
        raise GraphError(f"its inputs are {sorted(lengths)} long; one length, of at most {MOST_ITERATIONS}, is meant")
    length = lengths.pop()
    scanned: list[list[str]] = [[] for _ in range(outputs)]
    for t in range(length):
        parts = [_taken(reader, v, a, length - 1 - t if b else t)
                 for v, a, b in zip(inputs, axes, backwards, strict=True)]  # fmt: skip
        given = dict(zip([i.name for i in body.input], (*states, *parts), strict=True))
        results = inlined(reader, node, body, given)
        for before, after in zip(states, results, strict=False):
            if reader.dims(before) != reader.dims(after):
                shapes = " and then ".join(shape_text(reader.dims(n)) for n in (before, after))
                raise GraphError(f"a state of it has the shape {shapes}")
        states = results[: len(states)]
        for every, one in zip(scanned, results[len(states) :], strict=True):
            every.append(one)
    for name, value in zip(node.output, states, strict=False):
        _same(reader, name, value)
    for name, every, b, a in zip(node.output[len(states) :], scanned, turned, put, strict=True):
        _stacked(reader, name, every[::-1] if b else every, a)


def used_names(graph: Any) -> set[str]:
    """The names that nodes and results of a graph mention, those in the graphs of its nodes, too."""
    found = {n for node in graph.node for n in node.input} | {o.name for o in graph.output}
    for node in graph.node:
        for a in node.attribute:
            for inner in graphs_in(a):
                found |= used_names(inner)
    return found


def _check_one(found: Array, dtype: type[np.generic], what: str) -> None:
    """:raises GraphError: for several elements, or others."""
    if found.size != 1 or found.dtype != dtype:
        raise GraphError(f"{what} is one {np.dtype(dtype)}, not {found.dtype}{list(found.shape)}")


def _none_missing(names: Iterable[str]) -> None:
    for k, n in enumerate(names):
        if not n:
            raise GraphError(f"what it begins with is missing at place {k}")


# -- parts -------------------------------------------------------------------------------------------------------------


def inlined(reader: Reader, node: Any, graph: Any, given: Mapping[str, str]) -> list[str]:
    """Take the nodes of a node's inner graph, with names of their own, and give those of its results.

    :param given: the names outside of the graph's inputs; other names that it does not compute are those outside, too.
    """
    import onnx

    prefix = reader.fresh(graph.name or "inner")
    names = dict(given)
    later = {n for inner in graph.node for n in inner.output if n}
    own = _own_names(graph)
    if len(set(own)) != len(own):
        raise GraphError(
            f"in its graph {graph.name}, {next(n for n in own if own.count(n) > 1)} is more than one value"
        )
    for i in graph.input:
        _check_type(reader, graph, i, given[i.name])
    for t in graph.initializer:
        names[t.name] = f"{prefix}{t.name}"
        reader.arrays[names[t.name]] = reader.tensor(t)
    free = [free_names(inner) for inner in graph.node]
    mentioned = {n for some in free for n in some} | {o.name for o in graph.output}
    reader.used.update(f"{prefix}{n}" for n in mentioned & later)
    for inner, read in zip(graph.node, free, strict=True):
        early = next((n for n in read if n in later), None)
        if early is not None:
            raise GraphError(f"in its graph {graph.name}, {early} is used before it is computed")
        later.difference_update(inner.output)
        made = onnx.NodeProto()
        made.CopyFrom(inner)
        made.name = f"{node.name or node.op_type}/{inner.name or inner.op_type}"
        rename(made, lambda n: names.get(n, n))
        for k, n in enumerate(inner.output):
            if n:
                names[n] = f"{prefix}{n}"
                made.output[k] = names[n]
        reader.used.update(made.input)
        reader.used.update(names.get(o.name, o.name) for o in graph.output)
        reader.node(made)
    for o in graph.output:
        _check_type(reader, graph, o, names.get(o.name, o.name))
    return [names.get(o.name, o.name) for o in graph.output]


def _check_type(reader: Reader, graph: Any, declared: Any, name: str) -> None:
    """:raises GraphError: if what an inner graph says of its input or result is not what that is."""
    from onnx import TensorProto

    wanted, found = declared.type.tensor_type.elem_type, reader.type(name, None).tensor_type.elem_type
    if wanted not in (0, found):
        a, b = (
            TensorProto.DataType.Name(t).lower() if t in TensorProto.DataType.values() else t for t in (wanted, found)
        )
        raise GraphError(f"in its graph {graph.name}, {declared.name} is {a}, and what it stands for is {b}")


def graphs_in(attribute: Any) -> list[Any]:
    """The graphs that an attribute holds."""
    return ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)


def _own_names(graph: Any) -> list[str]:
    """The names that a graph gives a meaning to, each as often as it does."""
    return [i.name for i in (*graph.input, *graph.initializer)] + [n for x in graph.node for n in x.output if n]


def free_names(node: Any) -> list[str]:
    """The names that a node takes from outside: its operands, and what graphs in it mention and do not compute."""
    found = [n for n in node.input if n]
    for a in node.attribute:
        for graph in graphs_in(a):
            own = {*_own_names(graph)}
            mentioned = [n for inner in graph.node for n in free_names(inner)] + [o.name for o in graph.output]
            found += [n for n in mentioned if n not in own]
    return found


def rename(node: Any, name: Callable[[str], str]) -> None:
    """Give a node's operands other names, also where graphs inside of it mention them.

    A value of such a graph that is called like one of the other names gets another one itself: it would capture that.
    """
    for k, n in enumerate(node.input):
        node.input[k] = name(n) if n else n
    for a in node.attribute:
        for graph in graphs_in(a):
            _rename_in(graph, name)


def _rename_in(graph: Any, name: Callable[[str], str]) -> None:
    own = dict.fromkeys(_own_names(graph))
    mentioned = [n for inner in graph.node for n in free_names(inner)] + [o.name for o in graph.output]
    given = {name(n) for n in mentioned if n not in own}
    taken = {*own, *given}
    names: dict[str, str] = {}
    for n in own:
        names[n] = n
        while n in given and names[n] in taken:
            names[n] = f"{names[n]}_"
        taken.add(names[n])

    def within(n: str) -> str:
        return names[n] if n in names else name(n)

    for named in (*graph.input, *graph.initializer, *graph.output):
        named.name = within(named.name)
    for inner in graph.node:
        rename(inner, within)
        for k, n in enumerate(inner.output):
            inner.output[k] = names[n] if n else n


def _node(reader: Reader, op: str, operands: list[str], result: str, **attributes: Any) -> None:
    from onnx import helper

    reader.used.update(operands)
    reader.node(helper.make_node(op, operands, [result], **attributes))


def _same(reader: Reader, name: str, value: str) -> None:
    if name:
        _node(reader, "Identity", [value], name)


def _constant(reader: Reader, word: str, value: Array) -> str:
    name = reader.fresh(word)
    reader.arrays[name] = value
    return name


def _taken(reader: Reader, value: str, axis: int, place: int) -> str:
    """One element of a value along an axis."""
    found = reader.fresh("part")
    _node(reader, "Gather", [value, _constant(reader, "place", np.asarray(place, np.int64))], found, axis=axis)
    return found


def _stacked(reader: Reader, name: str, values: list[str], axis: int) -> None:
    """Values side by side along a new axis."""
    if not name:
        return
    if not values:
        raise GraphError(f"it does not run at all, and its result {name} has no shape")
    place = axis_of(axis, len(reader.dims(values[0])) + 1)
    wide = []
    for v in values:
        wide.append(reader.fresh("wide"))
        if reader.opset < 13:
            _node(reader, "Unsqueeze", [v], wide[-1], axes=[place])
        else:
            _node(reader, "Unsqueeze", [v, _constant(reader, "axes", np.asarray([place], np.int64))], wide[-1])
    _node(reader, "Concat", wide, name, axis=place)
