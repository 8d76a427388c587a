"""Whether the steps of a plan lead from the one graph to the other.

Both graphs are read, and followed node by node.  What is known of each value of the graph after is which value before
it is, and in which layout; a value may be several.  A step that has a certificate needs its operands in the layouts
that the certificate's relation says, and gives results in such layouts; its program is the one that the certificate
ends with, and the program that the certificate begins with is what the node before means, by the definition of its
operator.
At the end the results after must be those before, as their indices say.

Neither the planner takes part nor any verdict; certificates are believed here, since ``check`` derives them again and
asks their questions.  What else is believed is told by name (``verified_tir.certificate.plan_believed``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, final

from verified_tir.certificate.integrity import PLAN_DOES_NOT_FOLLOW, Finding
from verified_tir.certificate.plan_believed import (
    Believed,
    asserts_something,
    called_as,
    computes,
    external_function,
    implemented,
    is_function,
)
from verified_tir.certificate.plan_certificates import Said, read_certificate
from verified_tir.certificate.plan_graphs import another_model, array_hash, elements, read_graph, written_otherwise
from verified_tir.certificate.plan_layouts import ends_with, read_layout, serves, shown, write_layout
from verified_tir.certificate.plans import PLAIN, CheckedPlan
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Node, Value
from verified_tir.graph.layouts import normal, pack, shape_in, value_of
from verified_tir.graph.program import program_of
from verified_tir.graph.text import is_written
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.schedule.errors import ScheduleError

ROOM: Final = 4096
"""How many times larger padding makes a tensor at most: more than any layout does, and little enough to look at."""


def follow(
    plan: CheckedPlan,
    certificates: Mapping[str, dict[str, Any] | None],
    model: Graph | None = None,
    believed: list[Believed] | None = None,
) -> list[Finding]:
    """What is wrong with the steps of a plan.

    :param certificates: the contents of certificates, by name.
    :param model: the model itself; with it the constants are compared, too, and packed again.
    :param believed: gets what nobody has proved.
    """
    beliefs: list[Believed] = [] if believed is None else believed
    return followed(plan, lambda content: _Following(plan, content, certificates, model, beliefs).problems())


def followed(plan: CheckedPlan, walk: Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]) -> list[Finding]:
    """What a walk finds in a plan, which somebody else wrote; a plan that cannot be read has its findings already."""
    if plan.content is None:
        return []
    found: list[Finding] = []
    try:
        found.extend(Finding(plan.name, *p, PLAN_DOES_NOT_FOLLOW) for p in walk(plan.content))
    except (RecursionError, MemoryError):
        found.append(
            Finding(
                plan.name,
                "",
                "its steps cannot be followed: something is nested too deeply, or too large",
                PLAN_DOES_NOT_FOLLOW,
            )
        )
    except Exception as problem:  # whatever somebody wrote there: it is a finding, and ends no check
        refused = isinstance(problem, (ValueError, GraphError, ScheduleError))
        what = str(problem) if refused else f"{type(problem).__name__}: {problem}"
        found.append(Finding(plan.name, "", f"its steps cannot be followed: {what}", PLAN_DOES_NOT_FOLLOW))
    return found


def _in_layout(v: Value, layout: str) -> str:
    return f"{v.name}: {v.type}" + ("" if layout == PLAIN else f" in {shown(layout)}")


@final
class _Following:
    """One walk through a graph; ``known`` are the values before that a value is, with their layouts as texts."""

    def __init__(
        self, checked: CheckedPlan, plan: Mapping[str, Any], certificates: Mapping[str, dict[str, Any] | None],
        model: Graph | None, believed: list[Believed],
    ) -> None:  # fmt: skip
        self.checked = checked
        self.believed = believed
        self.plan = plan
        self.certificates = certificates
        self.model = model
        self.before, self.after = read_graph(plan, "before"), read_graph(plan, "after")
        self.values = {v.name: v for v in self.before.values()}
        self.nodes = {tuple(v.name for v in n.outputs): n for n in self.before.nodes}
        self.known: dict[str, set[tuple[str, str]]] = {}
        self.said: dict[str, Said] = {}

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
            if not self._is(w.name, v.name, PLAIN):
                yield "after", f"its result {w.name} is not {v.name}"
        if len(self.before.outputs) != len(self.after.outputs):
            yield "after", "it has another number of results than the graph before"

    def _believe(self, name: str, what: str) -> None:
        self.believed.append(Believed(self.checked.name, name, what))

    def _inputs(self) -> Iterator[tuple[str, str]]:
        given = [(v.name, v.type) for v in self.before.inputs]
        if given != [(v.name, v.type) for v in self.after.inputs]:
            yield "after", "its inputs are not those of the graph before"
        if self.before.zero_with != self.after.zero_with:
            yield "after", "it runs at other sizes than the graph before"
        self.known.update((name, {(name, PLAIN)}) for name, _ in given)

    def _constants(self) -> Iterator[tuple[str, str]]:
        """Constants after are those before, packed; their elements are those of the text, of the model, or beside."""
        old = self.plan["constants"]["before"]
        arrays = {v.name: a for v, a in self.before.constants.items() if is_written(a)}
        for v, array in self.before.constants.items():
            problem = written_otherwise(self.plan, "before", v, array)
            if problem:
                yield f"constants.before.{v.name}", problem
        if self.model is not None:
            other = list(another_model(self.plan, self.before, self.model))
            yield from other
            if not any(place == "before" for place, _ in other):
                arrays |= {v.name: a for v, a in self.model.constants.items() if array_hash(a) == old[v.name]["sha256"]}
        for w, array in self.after.constants.items():
            c = self.plan["constants"]["after"][w.name]
            of = self.values.get(c["of"])
            if of is None or of.name not in old:
                problem = f"there is no constant {c['of']} before"
            else:
                problem = written_otherwise(self.plan, "after", w, array) or self._packed(w, c, of, arrays)
                self.known[w.name] = {(of.name, c["layout"])}
            if problem:
                yield f"constants.after.{w.name}", problem

    def _packed(self, w: Value, c: Mapping[str, Any], of: Value, arrays: Mapping[str, Array]) -> str:
        """What is wrong with a constant that is said to be another one in a layout."""
        problem = self._fits(w, of, c["layout"])
        if problem:
            return problem
        digest = self.plan["constants"]["before"][of.name]["sha256"]
        if c["layout"] == PLAIN:
            return "" if c["sha256"] == digest else f"it is not {of.name}: their hashes differ"
        array = arrays.get(of.name)
        try:
            array = elements(self.checked.folder, of, digest) if array is None else array
        except GraphError as problem:
            return str(problem)
        if array is None:
            what = f"it is {of.name} in the layout {shown(c['layout'])}, whose elements are not there to be compared"
            self._believe(f"constant {w.name}", what)
            return ""
        same = array_hash(pack(read_layout(c["layout"]), array, of.dtype)) == c["sha256"]
        return "" if same else f"it is not {of.name}, packed"

    # -- steps -------------------------------------------------------------------------------------------------------

    def _is(self, w: str, v: str, layout: str) -> bool:
        """Whether a value after is known to be a value before, in a layout that serves for the one given."""
        return any(of == v and serves(has, layout) for of, has in self.known.get(w, ()))

    def _layout(self, w: str, v: str) -> str:
        """The layout, or one of them, in which a value after is a value before."""
        return min((has for of, has in self.known.get(w, ()) if of == v), default=PLAIN)

    def _fits(self, w: Value, of: Value, layout: str) -> str:
        """What is wrong with w having the type of a value in a layout."""
        found = read_layout(layout)
        if write_layout(normal(found, of.dims)) != layout:
            return f"{shown(layout)} is not how a layout of {of.name} is written"
        if w.dims != shape_in(found, of.dims) or w.dtype != of.dtype:
            return f"{w!r} is not {of!r} in the layout {shown(layout)}"
        if not w.type.is_open and w.type.size > ROOM * (of.type.size + ROOM):
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
                yield f"{', '.join(step['node'])} is not a node before with these results"
                return
            problems = list(self._of_node(step, old, node, texts))
            yield from problems
            if node is not None and not problems:
                yield from self._function(step, old, node, texts)
        for w, v, text in zip(step["results"], of, texts, strict=True):
            self.known.setdefault(w, set()).add((v.name, text))

    def _of_node(self, step: Mapping[str, Any], old: Node, node: Node | None, texts: list[str]) -> Iterator[str]:
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

    def _function(self, step: Mapping[str, Any], old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        """What an external function is to compute; of one that the model calls itself nothing is believed."""
        name = step["function"]
        program = program_of(node)
        if name is None or (step["kind"] == "same" and external_function(program) == name):
            return
        if not is_function(name):
            yield f"{name!r} is not a name of a function"
            return
        pairs = zip(old.inputs, node.inputs, strict=False)
        operands = [_in_layout(v, self._layout(w.name, v.name)) for v, w in pairs]
        results = [_in_layout(v, text) for v, text in zip(old.outputs, texts, strict=True)]
        how = f", as {called_as(program)}" if step["kind"] == "external" else ""
        self._believe(name, computes(old, operands, results) + how)

    def _same(self, old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        if any(text != PLAIN for text in texts):
            yield "a node that stays as it was gives results in other layouts"
        if len(old.inputs) != len(node.inputs) or [v.type for v in old.outputs] != [v.type for v in node.outputs]:
            yield "it has other operands or results than the node before"
            return
        for v, w in zip(old.inputs, node.inputs, strict=True):
            if not self._is(w.name, v.name, PLAIN):
                yield f"its operand {w.name} is not {v.name}"
        if not structural_equal(program_of(old), program_of(node)):
            yield "it has another program than the node before"

    def _moved(self, step: Mapping[str, Any], old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        if len(old.inputs) != len(node.inputs) or len(old.outputs) != len(node.outputs):
            yield "it has other operands or results than the node before"
            return
        said, problem = self._certificate(step, len(old.inputs) + len(old.outputs))
        if said is None:
            yield problem
            return
        yield from self._programs(step, said, program_of(old), program_of(node))
        yield from self._operands(said, [*zip(old.inputs, node.inputs, strict=True)])
        for k, (v, w, text) in enumerate(zip(old.outputs, node.outputs, texts, strict=True)):
            problem = self._fits(w, v, text) or self._given(said, len(old.inputs) + k, v, text)
            if problem:
                yield problem

    def _operands(self, said: Said, pairs: list[tuple[Value, Value]]) -> Iterator[str]:
        for k, (v, w) in enumerate(pairs):
            layout, _ = said.layout(k, v.dims)
            wanted = write_layout(layout)
            if not self._is(w.name, v.name, wanted):
                yield f"its operand {w.name} is not {v.name} in the layout {shown(wanted)}"

    def _given(self, said: Said, k: int, v: Value, text: str) -> str:
        """What is wrong with a result in a layout; nobody fills its padding before the node computes it."""
        layout, at_exit = said.layout(k, v.dims)
        given = write_layout(layout)
        if value_of(layout) is not None and not at_exit:
            return f"its certificate takes for granted what the padding of {v.name} holds"
        if serves(given, text):
            return ""
        if serves(text, given) and ends_with(said.after, k, read_layout(text), v.dims):
            return ""
        return f"its certificate gives {v.name} in the layout {shown(given)}, not {shown(text)}"

    def _rewrite(self, step: Mapping[str, Any], node: Node | None, of: list[Value], texts: list[str]) -> Iterator[str]:
        from verified_tir.graph.conversions import definition

        said, problem = self._certificate(step, 2)
        if said is None:
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
        yield from self._programs(step, said, definition(v.type, read_layout(text)), program_of(node))
        yield from self._operands(said, [(v, node.inputs[0])])
        if said.layouts[1]:
            yield "its certificate moves the result"

    def _gone(self, step: Mapping[str, Any], old: Node, texts: list[str]) -> Iterator[str]:
        from verified_tir.graph.elide import prove_needless

        said, problem = self._certificate(step, 2)
        if said is None:
            yield problem
            return
        if len(old.inputs) != 1 or len(texts) != 1 or len(step["results"]) != 1:
            yield "only rewrites go, and they have one operand and one result"
            return
        x, (w,), (text,) = old.inputs[0], step["results"], texts
        given = sorted(has for of, has in self.known.get(w, ()) if of == x.name and PLAIN in (has, text))
        if not given:
            yield f"{w} is not the operand {x.name}"
            return
        try:
            again = prove_needless(old, read_layout(given[0]), read_layout(text)).schedule
        except ScheduleError as refused:
            yield f"the kernel refuses that {old} is not needed: {refused.summary()}"
            return
        yield from self._programs(step, said, again.steps[0].before, again.func)

    def _external(self, step: Mapping[str, Any], old: Node, node: Node, texts: list[str]) -> Iterator[str]:
        """A node that an external function computes: its program calls it, and does nothing else."""
        function = external_function(program_of(node))
        if function is None or function != step["function"]:
            yield f"it is said to be external, but its program is not a call of an external function {step['function']}"
            return
        if len(old.inputs) != len(node.inputs) or len(old.outputs) != len(node.outputs):
            yield "it has other operands or results than the node before"
            return
        for v, w in zip(old.inputs, node.inputs, strict=True):
            if not any(of == v.name for of, _ in self.known.get(w.name, ())):
                yield f"its operand {w.name} is not {v.name} in any layout"
        for v, w, text in zip(old.outputs, node.outputs, texts, strict=True):
            problem = self._fits(w, v, text)
            if problem:
                yield problem

    def _certificate(self, step: Mapping[str, Any], tensors: int) -> tuple[Said | None, str]:
        """What the certificate of a step says, which is to be about so many tensors; or what is wrong with it."""
        name = step["certificate"]
        if name is None:
            return None, "it has no certificate"
        content = self.certificates.get(name)
        if content is None:
            return None, f"its certificate {name} cannot be read"
        if asserts_something(content):
            return None, f"its certificate {name} asserts something of the operands, and nobody sees to it"
        if name not in self.said:
            self.said[name] = read_certificate(content)
        said = self.said[name]
        return (said, "") if len(said.layouts) == tensors else (None, f"the certificate {name} is about other tensors")

    def _programs(self, step: Mapping[str, Any], said: Said, before: PrimFunc, after: PrimFunc) -> Iterator[str]:
        name = step["certificate"]
        if not structural_equal(said.before, before):
            yield f"the certificate {name} does not begin with what the node before means"
        if not structural_equal(said.after, after) and not structural_equal(said.after, expand_blocks(after)):
            yield f"the certificate {name} does not end with the program of the node"
        content = self.certificates[name]
        assert content is not None
        if content["floats"]["mode"] != "bits":
            sums = ", ".join(content["floats"]["reductions"])
            self._believe(f"certificate {name}", f"sums into {sums} are taken in another order")
        for function in implemented(content):
            if not is_function(function):
                yield f"{function!r} is not a name of a function"
            self._believe(function, f"it does what an intrinsic describes, in {name}")
