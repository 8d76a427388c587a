"""Whether the steps of a plan lead from the one graph to the other.

Both graphs are read, and followed node by node.  What is known of each value of the graph after is which value before
it is, and in which layout; a value may be several.  A step that has a certificate needs its operands in the layouts
that the certificate's relation says, and gives results in such layouts; its program is the one that the certificate
ends with, and the program that the certificate begins with is what the node before means, by the definition of its
operator.
At the end the results after must be those before, as their indices say.

Neither the planner takes part nor any verdict; certificates are believed here, since ``check`` derives them again and
asks their questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, final

import numpy as np

from verified_tir.certificate.integrity import Finding
from verified_tir.certificate.plan_layouts import ends_with, layout_named_by, parsed_layout
from verified_tir.certificate.plans import CheckedPlan
from verified_tir.derivation.codec import read_program
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Node, Value
from verified_tir.graph.layouts import layout_text, normal, pack, serves, shape_in
from verified_tir.graph.node_program import program_key, program_of
from verified_tir.graph.text import graph_text, is_written, parse_graph
from verified_tir.ir.calls import is_pure
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Call, StringImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Evaluate, Seq
from verified_tir.schedule.errors import ScheduleError

ROOM: Final = 4096
"""How many times larger padding makes a tensor at most: more than any layout does, and little enough to look at."""


def array_hash(array: Array) -> str:
    """SHA-256 of an array: its type, its shape, its bytes in C order."""
    digest = hashlib.sha256(f"{array.dtype}{list(array.shape)}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@final
@dataclass(frozen=True, slots=True)
class Believed:
    """That an external function does what a node before means; nobody has proved it."""

    plan: str
    function: str
    what: str

    def __str__(self) -> str:
        return f"{self.plan}: believed, not proved: {self.function} is called to {self.what}"


def external_function(func: PrimFunc) -> str | None:
    """The name of the function outside that a program calls, if the call is all that the program does."""
    body = func.body.stmts[0] if isinstance(func.body, Seq) and len(func.body.stmts) == 1 else func.body
    if not isinstance(body, Evaluate) or not isinstance(body.value, Call) or is_pure(body.value.op):
        return None
    call = body.value
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, StringImm) else call.op


def _in_layout(v: Value, layout: str) -> str:
    return f"{v.name}: {v.type}" + (f" in {layout}" if layout else "")


def follow(
    plan: CheckedPlan,
    certificates: Mapping[str, dict[str, Any] | None],
    model: Graph | None = None,
    believed: list[Believed] | None = None,
) -> list[Finding]:
    """What is wrong with the steps of a plan.

    :param believed: gets what no certificate proves: that external functions compute nodes.

    :param certificates: the contents of certificates, by name.
    :param model: the model itself; with it the constants are compared, too, and packed again.
    """
    return followed(plan, lambda content: _Following(plan.name, content, certificates, model, believed).problems())


def followed(plan: CheckedPlan, walk: Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]) -> list[Finding]:
    """What a walk finds in a plan, which somebody else wrote; a plan that cannot be read has its findings already."""
    if plan.content is None:
        return []
    try:
        return [Finding(plan.name, *p) for p in walk(plan.content)]
    except Exception as problem:  # whatever somebody wrote there: it is a finding, and ends no check
        return [Finding(plan.name, "", f"its steps cannot be followed: {type(problem).__name__}: {problem}")]


def read_graph(plan: Mapping[str, Any], which: str) -> Graph:
    """The graph before or after; elements of constants that are not in the text are unknown, and take no room.

    They are no numbers (in types that have these), since numbers, if they are few, stand in the text.  So the text of
    the graph can be compared with the one that was read: there is one spelling, and nothing is passed over.

    :raises GraphError: if the text is none, or spelled in another way than ``graph_text`` does.
    """
    constants = plan["constants"][which]
    arrays: dict[str, Array] = {name: _unknown(c["dtype"], c["shape"]) for name, c in constants.items()}
    text = "\n".join(plan[which]["text"])
    graph = parse_graph(text, arrays, which)
    if {v.name for v in graph.constants} != constants.keys():
        raise GraphError(f"the constants of the graph {which} are not those that are listed")
    for v in graph.constants:
        c = constants[v.name]
        if (c["dtype"], tuple(c["shape"])) != (v.dtype, v.shape):
            raise GraphError(f"the constant {v.name} of the graph {which} is {v.type}, not what is listed")
    again = graph_text(graph)
    if again != text:
        lines = enumerate(zip_longest(again.split("\n"), text.split("\n"), fillvalue=""), 1)
        number, (wanted, found) = next((k, pair) for k, pair in lines if pair[0] != pair[1])
        raise GraphError(f"{which}:{number}: this is not how vtir writes a graph: {found[:80]!r}, not {wanted[:80]!r}")
    return graph


def _unknown(dtype: str, shape: list[int]) -> Array:
    element = array_dtype(dtype)
    return np.broadcast_to(np.array(np.nan if element.kind == "f" else 0, element), tuple(shape))


@final
class _Following:
    """One walk through a graph; ``known`` are the values before that a value is, with their layouts as texts."""

    def __init__(
        self, name: str, plan: Mapping[str, Any], certificates: Mapping[str, dict[str, Any] | None],
        model: Graph | None, believed: list[Believed] | None,
    ) -> None:  # fmt: skip
        self.name = name
        self.believed = [] if believed is None else believed
        self.plan = plan
        self.certificates = certificates
        self.model = model
        self.before, self.after = read_graph(plan, "before"), read_graph(plan, "after")
        self.values = {v.name: v for v in self.before.values()}
        self.nodes = {tuple(v.name for v in n.outputs): n for n in self.before.nodes}
        self.known: dict[str, set[tuple[str, str]]] = {}
        self.programs: dict[tuple[str, str], PrimFunc] = {}

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from self._inputs()
        yield from self._constants()
        after = {tuple(v.name for v in n.outputs): n for n in self.after.nodes}
        made = [s for s in self.plan["steps"] if s["kind"] != "gone"]
        if [tuple(s["results"]) for s in made] != list(after):
            yield "steps", "they are not the nodes of the graph after, in their order"
            return
        for k, step in enumerate(self.plan["steps"]):
            place = f"steps[{k}] {', '.join(step['results'])}"
            for problem in self._step(step, after.get(tuple(step["results"]))):
                yield place, problem
        for v, w in zip(self.before.outputs, self.after.outputs, strict=False):
            if not self._is(w.name, v.name, ""):
                yield "after", f"its result {w.name} is not {v.name}"
        if len(self.before.outputs) != len(self.after.outputs):
            yield "after", "it has another number of results than the graph before"
        if self.model is not None:
            yield from self._model(self.model)

    def _inputs(self) -> Iterator[tuple[str, str]]:
        given = [(v.name, v.type) for v in self.before.inputs]
        if given != [(v.name, v.type) for v in self.after.inputs]:
            yield "after", "its inputs are not those of the graph before"
        self.known.update((name, {(name, "")}) for name, _ in given)

    def _constants(self) -> Iterator[tuple[str, str]]:
        old = self.plan["constants"]["before"]
        arrays = {v.name: a for v, a in self.before.constants.items()}
        for v, array in self.before.constants.items():
            problem = written_otherwise(self.plan, "before", v, array)
            if problem:
                yield f"constants.before.{v.name}", problem
        for w, array in self.after.constants.items():
            c = self.plan["constants"]["after"][w.name]
            place, of = f"constants.after.{w.name}", self.values.get(c["of"])
            if of is None or of.name not in old:
                yield place, f"there is no constant {c['of']} before"
                continue
            problem = self._fits(w, of, c["layout"])
            if not problem and c["layout"] == "" and c["sha256"] != old[of.name]["sha256"]:
                problem = f"it is not {of.name}: their hashes differ"
            if not problem and is_written(arrays[of.name]):
                packed = pack(parsed_layout(c["layout"]), arrays[of.name], of.dtype)
                problem = "" if array_hash(packed) == c["sha256"] else f"{of.name} is packed to something else"
            problem = written_otherwise(self.plan, "after", w, array) or problem
            if problem:
                yield place, problem
            self.known[w.name] = {(of.name, c["layout"])}

    def _model(self, model: Graph) -> Iterator[tuple[str, str]]:
        """Whether it is about this model; its constants are packed again."""
        other = list(another_model(self.plan, self.before, model))
        yield from other
        if any(place == "before" for place, _ in other):
            return
        arrays = {v.name: a for v, a in model.constants.items()}
        old, new = self.plan["constants"]["before"], self.plan["constants"]["after"]
        for name, c in new.items():
            packed = pack(parsed_layout(c["layout"]), arrays[c["of"]], old[c["of"]]["dtype"])
            if array_hash(packed) != c["sha256"]:
                yield f"constants.after.{name}", f"it is not {c['of']} of the model, packed"

    # -- steps -------------------------------------------------------------------------------------------------------

    def _is(self, w: str, v: str, layout: str) -> bool:
        """Whether a value after is known to be a value before, in a layout that serves for the one given."""
        return any(of == v and serves(has, layout) for of, has in self.known.get(w, ()))

    def _fits(self, w: Value, of: Value, layout: str) -> str:
        """What is wrong with w having the type of a value in a layout."""
        found = parsed_layout(layout)
        if layout_text(normal(found, of.shape)) != layout:
            return f"{layout} is not how a layout of {of.name} is written"
        if w.shape != shape_in(found, of.shape) or w.dtype != of.dtype:
            return f"{w!r} is not {of!r} in the layout {layout or 'that it has'}"
        if w.type.size > ROOM * (of.type.size + ROOM):
            return f"{w!r} has {w.type.size} elements, too many for the {of.type.size} of {of.name}"
        return ""

    def _step(self, step: Mapping[str, Any], node: Node | None) -> Iterator[str]:
        results = [self.values.get(x["of"]) for x in step["values"]]
        if any(v is None for v in results):
            yield "there is no such value before"
            return
        of = [v for v in results if v is not None]
        texts = [x["layout"] for x in step["values"]]
        if step["kind"] == "rewrite":
            yield from self._rewrite(step, node, of, texts)
        else:
            old = self.nodes.get(tuple(step["node"]))
            if old is None or [v.name for v in old.outputs] != [v.name for v in of]:
                yield f"{', '.join(step['node'])} is no node before with these results"
                return
            match step["kind"]:
                case "same" if node is not None:
                    yield from self._same(old, node, texts)
                case "moved" if node is not None:
                    yield from self._moved(step, old, node, texts)
                case "external" if node is not None:
                    yield from self._external(step, old, node, texts)
                case "gone":
                    yield from self._gone(step, old, texts)
                case kind:
                    yield f"there is no step {kind} here"
        for w, v, text in zip(step["results"], of, texts, strict=True):
            self.known.setdefault(w, set()).add((v.name, text))

    def _same(self, old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        if any(texts):
            yield "a node that stays as it was gives results in other layouts"
        if len(old.inputs) != len(node.inputs) or [v.type for v in old.outputs] != [v.type for v in node.outputs]:
            yield "it has other operands or results than the node before"
            return
        for v, w in zip(old.inputs, node.inputs, strict=True):
            if not self._is(w.name, v.name, ""):
                yield f"its operand {w.name} is not {v.name}"
        if not structural_equal(program_of(old), program_of(node)):
            yield "it has another program than the node before"

    def _moved(self, step: Mapping[str, Any], old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        if len(old.inputs) != len(node.inputs) or len(old.outputs) != len(node.outputs):
            yield "it has other operands or results than the node before"
            return
        content, problem = self._certificate(step)
        if content is None:
            yield problem
            return
        yield from self._programs(step, content, program_of(old), program_of(node))
        yield from self._operands(content, [*zip(old.inputs, node.inputs, strict=True)])
        for k, (v, w, text) in enumerate(zip(old.outputs, node.outputs, texts, strict=True)):
            yield from self._result(content, len(old.inputs) + k, v, w, text)

    def _operands(self, content: Mapping[str, Any], pairs: list[tuple[Value, Value]]) -> Iterator[str]:
        for k, (v, w) in enumerate(pairs):
            wanted = layout_named_by(content["relation"][k], v.shape)
            if not self._is(w.name, v.name, wanted):
                yield f"its operand {w.name} is not {v.name} in the layout {wanted or 'that it has'}"

    def _result(self, content: Mapping[str, Any], k: int, v: Value, w: Value, text: str) -> Iterator[str]:
        problem = self._fits(w, v, text)
        if problem:
            yield problem
            return
        given = layout_named_by(content["relation"][k], v.shape)
        if serves(given, text):
            return
        if serves(text, given) and ends_with(self._parsed(content, "after"), k, parsed_layout(text), v.shape):
            return
        yield f"its certificate gives {v.name} in the layout {given or 'that it has'}, not {text or 'as it was'}"

    def _rewrite(self, step: Mapping[str, Any], node: Node | None, of: list[Value], texts: list[str]) -> Iterator[str]:
        from verified_tir.graph.conversions import definition

        content, problem = self._certificate(step)
        if content is None:
            yield problem
            return
        if node is None or len(node.inputs) != 1 or len(node.outputs) != 1 or len(of) != 1:
            yield "a rewrite has one operand and one result"
            return
        (v,), (text,) = of, texts
        wrong = self._fits(node.output, v, text)
        if wrong:
            yield wrong
            return
        yield from self._programs(step, content, definition(v.type, parsed_layout(text)), program_of(node))
        yield from self._operands(content, [(v, node.inputs[0])])
        if content["relation"][1]["layouts"]:
            yield "its certificate moves the result"

    def _gone(self, step: Mapping[str, Any], old: Node, texts: list[str]) -> Iterator[str]:
        from verified_tir.graph.elide import prove_needless

        content, problem = self._certificate(step)
        if content is None:
            yield problem
            return
        if len(old.inputs) != 1 or len(texts) != 1:
            yield "only rewrites go, and they have one operand and one result"
            return
        x, (w,), (text,) = old.inputs[0], step["results"], texts
        given = [has for of, has in self.known.get(w, ()) if of == x.name and "" in (has, text)]
        if not given:
            yield f"{w} is not the operand {x.name}"
            return
        try:
            again = prove_needless(old, parsed_layout(given[0]), parsed_layout(text)).schedule
        except ScheduleError as refused:
            yield f"the kernel refuses that {old} is not needed: {refused.summary()}"
            return
        yield from self._programs(step, content, again.steps[0].before, again.func)

    def _external(self, step: Mapping[str, Any], old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        """A node that external functions compute: its program calls them, or is that of the node before."""
        if step["certificate"] is not None:
            yield "what an external function computes has no certificate"
        if not any(texts) and structural_equal(program_of(old), program_of(node)):
            yield from self._same(old, node, texts)
            return
        function = external_function(program_of(node))
        if function is None:
            yield "it is said to be external, and its program is not the call of an external function"
            return
        if len(old.inputs) != len(node.inputs) or len(old.outputs) != len(node.outputs):
            yield "it has other operands or results than the node before"
            return
        operands: list[str] = []
        for v, w in zip(old.inputs, node.inputs, strict=True):
            layouts = sorted(layout for of, layout in self.known.get(w.name, ()) if of == v.name)
            if not layouts:
                yield f"its operand {w.name} is not {v.name} in any layout"
                return
            operands.append(_in_layout(v, layouts[0]))
        for v, w, text in zip(old.outputs, node.outputs, texts, strict=True):
            problem = self._fits(w, v, text)
            if problem:
                yield problem
                return
        results = [_in_layout(v, text) for v, text in zip(old.outputs, texts, strict=True)]
        what = f"compute {old}: {', '.join(operands)} -> {', '.join(results)}"
        self.believed.append(Believed(self.name, function, what))

    def _certificate(self, step: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        if step["certificate"] is None:
            return None, "it has no certificate"
        content = self.certificates.get(step["certificate"])
        return content, "" if content is not None else f"its certificate {step['certificate']} cannot be read"

    def _programs(
        self, step: Mapping[str, Any], content: Mapping[str, Any], before: PrimFunc, after: PrimFunc
    ) -> Iterator[str]:
        name = step["certificate"]
        if content["floats"]["mode"] != "bits" and f"{name}: sums in another order" not in self.plan["assumptions"]:
            yield f"the certificate {name} has sums in another order"
        if len(content["relation"]) != len(before.buffers):
            yield f"the certificate {name} is about another number of tensors"
            return
        if not structural_equal(self._parsed(content, "before"), before):
            yield f"the certificate {name} does not begin with what the node before means"
        ended = self._parsed(content, "after")
        if not structural_equal(ended, after) and not structural_equal(ended, expand_blocks(after)):
            yield f"the certificate {name} does not end with the program of the node"

    def _parsed(self, content: Mapping[str, Any], which: str) -> PrimFunc:
        key = content["root"], which
        if key not in self.programs:
            self.programs[key] = read_program("\n".join(content[which]["program"]))
        return self.programs[key]


def another_model(plan: Mapping[str, Any], before: Graph, model: Graph) -> Iterator[tuple[str, str]]:
    """What tells the graph before, or its constants, from a model's."""
    if not _same_graph(model, before):
        yield "before", "this is not the graph of the model"
        return
    for v, array in model.constants.items():
        if plan["constants"]["before"][v.name]["sha256"] != array_hash(array):
            yield f"constants.before.{v.name}", "the model has other elements"


def _same_graph(a: Graph, b: Graph) -> bool:
    """Whether two graphs have the same values, and nodes that mean the same, in the same order."""
    values = [[(v.name, v.type) for v in g.values()] for g in (a, b)]
    results = [[v.name for v in g.outputs] for g in (a, b)]
    if values[0] != values[1] or results[0] != results[1]:
        return False
    for n, m in zip(a.nodes, b.nodes, strict=True):
        if [v.name for v in n.inputs] != [v.name for v in m.inputs]:
            return False
        if program_key(n) != program_key(m) and not structural_equal(program_of(n), program_of(m)):
            return False
    return True


def written_otherwise(plan: Mapping[str, Any], which: str, v: Value, array: Array) -> str:
    """What is wrong with a constant of the graph before or after, if its elements stand in the text."""
    other = is_written(array) and plan["constants"][which][v.name]["sha256"] != array_hash(array)
    return "its hash is not that of its elements" if other else ""


__all__ = ["Believed", "another_model", "array_hash", "follow", "followed", "read_graph", "written_otherwise"]
