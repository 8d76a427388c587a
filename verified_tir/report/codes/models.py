"""VT07: models and graphs."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import Page


def _graph(body: str, command: str, shape: str = "1, 8, 4, 4") -> str:
    head = f'@R.function\ndef net(x: R.Tensor(({shape}), "float32")):'
    return f"$ cat net.graph\n{head}\n    y = {body}\n    return y\n$ vtir {command}"


_ONNX = """\
from onnx import TensorProto, helper

from verified_tir.graph.onnx import from_onnx

def tensor(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)

def model(node, *inputs):
    graph = helper.make_graph([node], "g", list(inputs), [tensor("y", [1, 8])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
"""
_BRANCH = """
def branch(value):
    return helper.make_graph([helper.make_node(value, ["x"], ["r"])], "b", [], [tensor("r", [1, 8])])

choose = helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Abs"))
from_onnx(model(choose, tensor("x", [1, 8]), tensor("c", [], TensorProto.BOOL)))"""

PAGES: Final = (
    Page(
        "VT0701",
        "A graph cannot be used so",
        "A value is used before it is computed, has two names, or something else is wrong with the graph as a whole.",
        "from verified_tir.graph import GraphBuilder\n\n"
        'x = GraphBuilder("a").input("x", (4,))\nGraphBuilder("b").finish(x)',
        "Look at the node or value that the message names.",
    ),
    Page(
        "VT0702",
        "A model cannot be read",
        "The file is not there, is neither an ONNX model nor the text of a graph, or is damaged.",
        "$ vtir plan missing.onnx --layout conv2d=NCHW4c",
        "Export the model again; the message names the place or the part that cannot be read.",
    ),
    Page(
        "VT0703",
        "The operator is not known, or is used otherwise than it is defined",
        "There is no such operator, or it has other inputs, attributes or types.",
        _graph("R.nn.rleu(x)", "run net.graph"),
        "Use the operator that the message suggests, or write it with others.",
    ),
    Page(
        "VT0704",
        "Operands do not fit the operator",
        "Shapes, types or attributes do not go together.",
        _graph("R.reshape(x, R.shape([3, 8]))", "run net.graph"),
        "Look at the shapes in the message.",
    ),
    Page(
        "VT0705",
        "A size is open that must be a number",
        "A dimension has a name, and what is asked for depends on its size.",
        _graph("R.reshape(x, R.shape([3, 8]))", "run net.graph", '"n", 8'),
        "Give the size, as in `--shape n=4`.",
    ),
    Page(
        "VT0706",
        "That is not a layout of this operator",
        "A layout is written as NCHW4c: a letter for each dimension, and tiles. Some operators take what reaches them.",
        _graph("R.nn.relu(x)", "plan net.graph --layout relu=NCHW4c"),
        "Name an operator that the message lists, and each dimension once; tiles are a number and a small letter.",
    ),
    Page(
        "VT0707",
        "The sizes that are given do not fit the model",
        "An input or dimension of that name is not there, or has another number of dimensions.",
        _ONNX + '\nfrom_onnx(model(helper.make_node("Relu", ["x"], ["y"]), tensor("x", [1, 8])), {"x": (1, 8, 1)})',
        "Use names and ranks that the message lists.",
    ),
    Page(
        "VT0708",
        "The course of the model depends on what it computes",
        "Which branch runs, or how often a loop runs, is known only when the model runs.",
        _ONNX + _BRANCH,
        "Make the condition a constant, for example by exporting the model for one case.",
    ),
    Page(
        "VT0709",
        "There is not enough memory for that",
        "A tensor, or all that live at one time, is larger than the memory of this machine.",
        _graph("R.nn.relu(x)", "run net.graph", "1000000, 1000000"),
        "Use smaller sizes.",
    ),
    Page(
        "VT0710",
        "An array does not fit the model",
        "An input is missing, is not one of the model, or its array has another type or shape.",
        _graph("R.nn.relu(x)", "run net.graph --input z=random"),
        "Give arrays for the inputs that the message lists.",
    ),
)
