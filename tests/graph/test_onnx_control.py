"""Graphs in nodes: whose names stand for what; functions of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.graph.malformed import bases
from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name: str, element: int = FLOAT, shape: tuple[int, ...] = (2,)) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def loop_body(name: str, state: str, result: str, nodes: list[Any], weights: tuple[Any, ...] = ()) -> Any:
    """The body of a Loop that carries one value; its number and condition are called i and go, in each loop alike."""
    inputs = [value("i", INT64, ()), value("go", BOOL, ()), value(state)]
    keep = helper.make_node("Identity", ["go"], ["on"])
    return helper.make_graph([*nodes, keep], name, inputs, [value("on", BOOL, ()), value(result)], list(weights))


def model(nodes: list[Any], **constants: Any) -> Any:
    weights = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "main", [value("x")], [value("y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


X = np.array([1.0, -2.0], np.float32)
TIMES = {"two": np.int64(2), "three": np.int64(3), "yes": np.array(True), "w": np.float32([10, 20])}


def test_a_loop_in_a_loop_with_the_names_of_the_outer_one() -> None:
    """i, go, on, s, t and w are other values in the inner loop, the outer loop's after it, and the model's after that.

    (onnx's own evaluator takes w of the model in the inner loop, too; onnxruntime does not.)
    """
    inner = loop_body("b", "s", "t", [
        helper.make_node("Cast", ["i"], ["k"], to=FLOAT), helper.make_node("Mul", ["s", "w"], ["u"]),
        helper.make_node("Add", ["u", "k"], ["t"]),
    ], (numpy_helper.from_array(np.float32([2, 3]), "w"),))  # fmt: skip
    outer = loop_body("b", "s", "v", [
        helper.make_node("Loop", ["two", "go", "s"], ["t"], body=inner),  # its operand s is the outer one
        helper.make_node("Cast", ["i"], ["k"], to=FLOAT), helper.make_node("Mul", ["k", "w"], ["u"]),
        helper.make_node("Add", ["t", "u"], ["v"]),
    ])  # fmt: skip
    made = model([
        helper.make_node("Loop", ["three", "yes", "x"], ["s"], body=outer), helper.make_node("Add", ["s", "w"], ["y"]),
    ], **TIMES)  # fmt: skip
    want = X
    for i in range(3):
        for j in range(2):
            want = want * np.float32([2, 3]) + np.float32(j)
        want = want + np.float32(i) * np.float32([10, 20])
    np.testing.assert_array_equal(build(from_onnx(made))(X), want + np.float32([10, 20]))
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], want + np.float32([10, 20]))


def test_an_inner_graph_takes_names_from_the_graphs_around_it() -> None:
    """The inner If takes u from the loop's body, w from the model."""
    then = helper.make_graph([helper.make_node("Mul", ["u", "w"], ["r"])], "b", [], [value("r")])
    other = helper.make_graph([helper.make_node("Neg", ["u"], ["r"])], "b", [], [value("r")])
    body = loop_body("b", "s", "t", [
        helper.make_node("Add", ["s", "x"], ["u"]),
        helper.make_node("If", ["go"], ["t"], then_branch=then, else_branch=other),
    ])  # fmt: skip
    made = model([helper.make_node("Loop", ["two", "yes", "x"], ["y"], body=body)], **TIMES)
    (want,) = ReferenceEvaluator(made).run(None, {"x": X})
    np.testing.assert_array_equal(build(from_onnx(made))(X), want)
    np.testing.assert_array_equal(want, ((X + X) * TIMES["w"] + X) * TIMES["w"])


def test_names_of_inner_graphs_are_nobody_elses() -> None:
    """Graphs whose names end in numbers: what is made of them must not meet (it did: a, 11th, and a1, first)."""
    nodes, last = [], "x"
    for k in range(12):
        name = "a1" if k == 0 else "a"
        op = helper.make_node("Identity", ["w"], ["t"]) if k == 0 else helper.make_node("Add", [last, "w"], ["t"])
        branch = helper.make_graph([op], name, [], [value("t")])
        nodes.append(helper.make_node("If", ["yes"], [f"r{k}"], then_branch=branch, else_branch=branch))
        last = f"r{k}"
    nodes += [helper.make_node("Add", [last, "x"], ["y"])]
    np.testing.assert_array_equal(build(from_onnx(model(nodes, **TIMES)))(X), TIMES["w"] * 12 + X)


def counted(condition: list[Any], operands: list[str]) -> Any:
    """A loop that adds 1 in each iteration whose condition, as its body gets it, is true."""
    nodes = [helper.make_node("Cast", ["go"], ["k"], to=FLOAT), helper.make_node("Add", ["s", "k"], ["t"]), *condition]
    body = loop_body("b", "s", "t", nodes)
    del body.node[-1]
    return model([helper.make_node("Loop", [*operands, "x"], ["y"], body=body, name="around")], **TIMES)


STOP = [helper.make_node("Not", ["go"], ["on"])]
COMPUTED = [helper.make_node("ReduceMax", ["s"], ["m"], keepdims=0),
            helper.make_node("Cast", ["m"], ["on"], to=BOOL)]  # fmt: skip


def test_a_loop_without_a_condition_runs_as_often_as_it_says() -> None:
    """It went by the condition that its body computes, as onnxruntime does; the specification ignores that."""
    np.testing.assert_array_equal(build(from_onnx(counted(STOP, ["three", ""])))(X), X + 2)  # true, false, true
    np.testing.assert_array_equal(build(from_onnx(counted(STOP, ["three", "yes"])))(X), X + 1)
    np.testing.assert_array_equal(build(from_onnx(counted(STOP, ["", "yes"])))(X), X + 1)


def test_a_condition_that_is_ignored_may_be_computed() -> None:
    f = build(from_onnx(counted(COMPUTED, ["three", ""])))
    np.testing.assert_array_equal(f(X), X + 3)
    np.testing.assert_array_equal(f(np.zeros(2, np.float32)), [2, 2])  # the second iteration gets false
    with pytest.raises(GraphError, match=r"node around \(Loop\): whether it goes on is computed by the model"):
        from_onnx(counted(COMPUTED, ["three", "yes"]))


def test_a_loop_that_never_ends() -> None:
    with pytest.raises(GraphError, match=r"node around \(Loop\): it has neither a trip count nor a condition"):
        from_onnx(counted(STOP, ["", ""]))


def bad(change: str) -> Any:
    """A loop that is no loop."""
    nodes = [helper.make_node("Add", ["s", "w"], ["t"], name="plus")]
    weights: tuple[Any, ...] = ()
    result = "t"
    if change == "later":
        nodes = [helper.make_node("Add", ["s", "u"], ["t"], name="plus"), helper.make_node("Neg", ["s"], ["u"])]
    elif change == "twice":
        nodes.append(helper.make_node("Neg", ["s"], ["t"]))
    elif change == "weight":
        weights = (numpy_helper.from_array(np.float32([1, 1]), "s"),)
    elif change == "later inside":
        inner = helper.make_graph(
            [helper.make_node("Neg", ["u"], ["r"]), helper.make_node("Abs", ["r"], ["u"])], "in", [], [value("u")]
        )
        nodes = [helper.make_node("Neg", ["s"], ["u"]),
                 helper.make_node("If", ["go"], ["t"], name="inner", then_branch=inner, else_branch=inner)]  # fmt: skip
    elif change == "nowhere":
        result = "q"
    body = loop_body("b", "s", result, nodes, weights)
    operands = ["two", "yes", "" if change == "missing" else "x"]
    return model([helper.make_node("Loop", operands, ["y"], name="around", body=body)], **TIMES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("later", r"node around \(Loop\): in its graph b, u is used before it is computed"),
        ("twice", r"node around \(Loop\): in its graph b, t is more than one value"),
        ("weight", r"node around \(Loop\): in its graph b, s is more than one value"),
        ("later inside", r"node around/inner \(If\): in its graph in, u is used before it is computed"),
        ("nowhere", "q is computed nowhere"),
        ("missing", r"node around \(Loop\): what it begins with is missing at place 0"),
    ],
)
def test_graphs_whose_names_do_not_fit(change: str, message: str) -> None:
    assert build(from_onnx(bad("nothing")))(X).tolist() == [21.0, 38.0]
    with pytest.raises(GraphError, match=message):
        from_onnx(bad(change))


def test_names_that_stand_for_two_values() -> None:
    """What the package's checker refuses in files is refused in memory, too."""
    twice = model(
        [helper.make_node("Neg", ["x"], ["y"], name="first"), helper.make_node("Abs", ["x"], ["y"], name="second")]
    )
    with pytest.raises(GraphError, match=r"node second \(Abs\): its result y is there already"):
        from_onnx(twice)


# -- functions ---------------------------------------------------------------------------------------------------------


def test_functions_of_a_model() -> None:
    f = build(from_onnx(bases.functions()))
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.testing.assert_array_equal(f(x), 2 * np.where(x < 0, np.float32(0.25) * x, x))


def test_a_function_with_a_graph_in_it_that_takes_its_operands_and_attributes() -> None:
    then = helper.make_graph([helper.make_node("LeakyRelu", ["a"], ["r"])], "then", [], [value("r")])
    reference = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    then.node[0].attribute.append(reference)
    other = helper.make_graph([helper.make_node("Neg", ["a"], ["r"])], "else", [], [value("r")])
    ours = [helper.make_opsetid("", 21), helper.make_opsetid("ours", 1)]
    chosen = helper.make_node("If", ["c"], ["b"], then_branch=then, else_branch=other)
    f = helper.make_function("ours", "F", ["c", "a"], ["b", "a"], [chosen], ours, ["slope"])
    nodes = [helper.make_node("F", ["yes", "x"], ["t", "same"], domain="ours", slope=0.5, name="call"),
             helper.make_node("Add", ["t", "same"], ["y"])]  # fmt: skip
    made = model(nodes, yes=np.array(True))
    made.functions.append(f)
    made.opset_import.append(ours[1])
    np.testing.assert_array_equal(build(from_onnx(made))(X), np.where(X < 0, X / 2, X) + X)


def changed(change: Any) -> Any:
    made = bases.functions()
    change(made)
    return made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.functions[1].node[0].CopyFrom(helper.make_node("Twice", ["p"], ["q"], domain="ours")),
         r"node call_twice/Twice \(Twice\): the function Twice calls itself"),
        (lambda m: m.graph.node[0].input.append("x"), r"node call_twice .*: it has 2 operands; the function has 1"),
        (lambda m: m.graph.node[0].output.append("z"), r"node call_twice .*: it has 2 results; the function has 1"),
        (lambda m: m.functions[1].node[0].ClearField("attribute"), "call_leaky .*: the attribute slope is missing"),
        (lambda m: m.functions[1].node[0].attribute.append(helper.make_attribute("more", 1)),
         "call_leaky .*: the function has no attribute more"),
        (lambda m: m.functions[0].output.__setitem__(0, "q"), "the result q of the function is computed nowhere"),
        (lambda m: m.functions[0].node[0].input.__setitem__(0, "x"), "leaky .*x is computed nowhere"),
        (lambda m: m.functions.append(m.functions[0]), "there are two functions Leaky in the domain ours"),
        (lambda m: (setattr(m.functions[0], "domain", ""), setattr(m.functions[0], "name", "Relu")),
         "the function Relu is named like an operator of ONNX"),
        (lambda m: setattr(m.functions[0].opset_import[0], "version", 999), "opset 999 is not known here"),
        (lambda m: m.functions.pop(0), r"call_leaky \(Leaky\): there is no operator Leaky in the domain ours"),
    ],
)  # fmt: skip
def test_calls_of_functions_that_do_not_fit(change: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(changed(change))


def test_a_function_means_what_its_own_opset_says() -> None:
    """Softmax of all dimensions from an axis on, before opset 13; the model around it is of opset 21."""
    soft = helper.make_node("Softmax", ["a"], ["b"], axis=1)
    results = []
    for opset in (11, 13):
        function = helper.make_function("ours", "Soft", ["a"], ["b"], [soft], [helper.make_opsetid("", opset)])
        call = helper.make_node("Soft", ["x"], ["s"], domain="ours")
        after = helper.make_node("Softmax", ["x"], ["t"], axis=1)  # of the model's opset again
        graph = helper.make_graph(
            [call, after], "g", [helper.make_tensor_value_info("x", 1, (1, 2, 2))],
            [helper.make_empty_tensor_value_info("s"), helper.make_empty_tensor_value_info("t")],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ours", 1)]
        made = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)
        results.append(build(from_onnx(made))(np.float32([[[1, 2], [3, 4]]])))
    (old, rest), (new, again) = results
    np.testing.assert_allclose(old.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(rest, new)
    np.testing.assert_array_equal(again, new)
