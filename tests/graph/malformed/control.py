"""Graphs in nodes, and functions of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.graph.malformed.case import Case, changed, put_name


def control() -> Iterator[Case]:
    """Graphs in nodes."""

    def graph(m: Any, *way: str | int) -> Any:
        """The graph at the end of a way of numbers of nodes and names of attributes."""
        found = m.graph
        for step in way:
            found = found.node[step] if isinstance(step, int) else next(a.g for a in found.attribute if a.name == step)
        return found

    ways: dict[str, tuple[str | int, ...]] = {
        "then": (0, "then_branch"),
        "else": (0, "else_branch"),
        "body": (1, "body"),
        "deep": (1, "body", 1, "body"),
        "step": (2, "body"),
    }
    for name, way in ways.items():

        def change(what: str, f: Callable[[Any], Any], way: tuple[str | int, ...] = way, name: str = name) -> Case:
            unseen = name == "else"
            return changed(f"control: {name}, {what}", "control", lambda m: f(graph(m, *way)), unseen=unseen)

        yield change("without nodes", lambda g: g.ClearField("node"))
        yield change("without results", lambda g: g.ClearField("output"))
        yield change("with a result more", lambda g: g.output.append(g.output[0]))
        yield change("with an input more", lambda g: g.input.append(helper.make_tensor_value_info("more", 1, [2, 3])))
        yield change("without inputs", lambda g: g.ClearField("input"))
        yield change("with a name from nowhere", lambda g: put_name(g.node[0].input, 0, "nowhere"))
        yield change("with its own result", lambda g: put_name(g.node[0].input, 0, g.node[0].output[0]))
        yield change("with the outer result", lambda g: put_name(g.node[0].input, 0, "y"))
        yield change(
            "with a result that is computed later", lambda g: put_name(g.node[0].input, 0, g.node[-1].output[0])
        )
        yield change(
            "computing an outer name",
            lambda g: g.node.insert(0, helper.make_node("Identity", ["two"], ["x"], name="shadow")),
        )
        yield change("computing a name twice", lambda g: g.node.append(g.node[0]))
        yield change(
            "with an input that is a weight",
            lambda g: g.initializer.append(numpy_helper.from_array(np.float32(1), g.input[0].name if g.input else "x")),
        )
        yield change("with an input twice", lambda g: g.input.extend(g.input[:1]))
        yield change("with a result from nowhere", lambda g: setattr(g.output[0], "name", "nowhere"))
        yield change("of another type", lambda g: g.node.extend(_cast(g, 6)))
        yield change("of another shape", lambda g: g.node.extend(_flattened(g)))
        yield change(
            "with bad weights",
            lambda g: g.initializer.append(TensorProto(name="bad", data_type=1, dims=[3], raw_data=b"1")),
        )
    yield changed("control: If without a condition", "control", lambda m: m.graph.node[0].input.pop())
    yield changed("control: If by an input", "control", lambda m: put_name(m.graph.node[0].input, 0, "x"), "if")
    yield changed("control: Loop for ever", "control", lambda m: put_name(m.graph.node[1].input, 0, ""), "loop")
    for count in (-1, 0, 1001, 10**12, 2**63 - 1):
        yield changed(
            f"control: Loop {count} times",
            "control",
            lambda m, c=count: m.graph.initializer[2].CopyFrom(numpy_helper.from_array(np.int64(c), "three")),
        )
    yield changed(
        "control: Loop a part of a time",
        "control",
        lambda m: m.graph.initializer[2].CopyFrom(numpy_helper.from_array(np.float32(2.5), "three")),
        "loop",
    )
    yield changed(
        "control: Loop two counts",
        "control",
        lambda m: m.graph.initializer[2].CopyFrom(numpy_helper.from_array(np.array([2, 3]), "three")),
        "loop",
    )
    yield changed(
        "control: a condition of two",
        "control",
        lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([True, False]), "yes")),
    )
    yield changed(
        "control: a condition of none",
        "control",
        lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros(0, bool), "yes")),
    )
    yield changed(
        "control: a condition that is a number",
        "control",
        lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.int64(1), "yes")),
    )
    for depth in (10, 30):
        yield changed(f"control: If in If, {depth} deep", "control", lambda m, d=depth: _deep(m, d))
    yield changed("control: loops in loops, 1000 times 1000 times", "control", _million)


def _cast(g: Any, element: int) -> list[Any]:
    name = g.output[0].name
    g.output[0].name = "other"
    return [helper.make_node("Cast", [name], ["other"], name="cast_result", to=element)]


def _flattened(g: Any) -> list[Any]:
    name = g.output[0].name
    g.output[0].name = "other"
    return [helper.make_node("Unsqueeze", [name, "two"], ["other"], name="wide_result")]


def _deep(m: Any, depth: int) -> None:
    node = m.graph.node[0]
    for _ in range(depth):
        outer = helper.make_node("If", ["yes"], ["chosen"], name="if")
        then = helper.make_graph([node], "then", [], [helper.make_tensor_value_info("chosen", 1, [2, 3])])
        other = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["chosen"])],
            "else",
            [],
            [helper.make_tensor_value_info("chosen", 1, [2, 3])],
        )
        outer.attribute.extend(
            [helper.make_attribute("then_branch", then), helper.make_attribute("else_branch", other)]
        )
        node = outer
    m.graph.node[0].CopyFrom(node)


def _million(m: Any) -> None:
    for k in (1, 2):
        m.graph.initializer[k].CopyFrom(numpy_helper.from_array(np.int64(1000), m.graph.initializer[k].name))


def local() -> Iterator[Case]:
    """Functions that call themselves, have other numbers of operands, or are not there."""
    f = "functions"
    yield changed("function: calls itself", f, lambda m: _call(m.functions[1].node[0], "Twice"), "")
    yield changed("function: each calls the other", f, lambda m: _call(m.functions[0].node[0], "Twice"))
    yield changed("function: is not there", f, lambda m: m.functions.pop(0))
    yield changed("function: no functions", f, lambda m: m.ClearField("functions"), "call_twice")
    yield changed("function: twice", f, lambda m: m.functions.append(m.functions[0]))
    yield changed(
        "function: twice, differently",
        f,
        lambda m: (
            m.functions.append(m.functions[0]),
            m.functions[2].node.pop(),
            m.functions[2].node.append(helper.make_node("Neg", ["a"], ["b"])),
        ),
    )
    yield changed("function: without a name", f, lambda m: m.functions[0].ClearField("name"))
    yield changed("function: without a domain", f, lambda m: m.functions[0].ClearField("domain"))
    yield changed("function: without operands", f, lambda m: m.functions[0].ClearField("input"))
    yield changed("function: without results", f, lambda m: m.functions[0].ClearField("output"))
    yield changed("function: without nodes", f, lambda m: m.functions[0].ClearField("node"))
    yield changed("function: an operand twice", f, lambda m: m.functions[0].input.extend(["a"]))
    yield changed("function: an operand too many", f, lambda m: m.graph.node[0].input.extend(["x"]), "call_twice")
    yield changed("function: a result too many", f, lambda m: m.graph.node[0].output.extend(["z"]), "call_twice")
    yield changed("function: an operand too few", f, lambda m: m.graph.node[0].ClearField("input"), "call_twice")
    yield changed("function: a name of the graph", f, lambda m: put_name(m.functions[0].node[0].input, 0, "x"))
    yield changed("function: a result from nowhere", f, lambda m: put_name(m.functions[0].output, 0, "nowhere"))
    yield changed("function: an attribute is missing", f, lambda m: m.functions[1].node[0].ClearField("attribute"))
    yield changed(
        "function: an attribute that it has not",
        f,
        lambda m: m.functions[1].node[0].attribute.append(helper.make_attribute("other", 1.0)),
    )
    yield changed(
        "function: an attribute of another type",
        f,
        lambda m: m.functions[1].node[0].attribute[0].CopyFrom(helper.make_attribute("slope", "steep")),
    )
    yield changed(
        "function: an attribute from nowhere",
        f,
        lambda m: setattr(m.functions[0].node[0].attribute[0], "ref_attr_name", "other"),
    )
    yield changed("function: as an operator of ONNX", f, _shadowing)
    for depth in (50, 2000):
        yield changed(f"function: {depth} that call each other", f, lambda m, d=depth: _chain(m, d))
    yield changed("function: 40 that call the next one twice", f, lambda m: _chain(m, 40, twice=True))


def _call(node: Any, name: str) -> None:
    node.CopyFrom(helper.make_node(name, list(node.input), list(node.output), name=node.name, domain="ours"))


def _shadowing(m: Any) -> None:
    m.functions[0].domain, m.functions[0].name = "", "Relu"
    m.functions[1].node[0].CopyFrom(helper.make_node("Relu", ["p"], ["q"], name="call_leaky"))


def _chain(m: Any, depth: int, twice: bool = False) -> None:
    ours = list(m.functions[1].opset_import)
    for k in range(depth):
        name = f"F{k + 1}" if k + 1 < depth else "Leaky"
        more = {"slope": 0.5} if name == "Leaky" else {}
        nodes = [helper.make_node(name, ["a"], ["b" if twice else "c"], domain="ours", **more)]
        if twice:
            nodes.append(helper.make_node(name, ["b"], ["c"], domain="ours", **more))
        m.functions.append(helper.make_function("ours", f"F{k}", ["a"], ["c"], nodes, ours))
    m.graph.node[0].op_type = "F0"
