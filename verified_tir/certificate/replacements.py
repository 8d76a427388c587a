"""Documents that say how a graph comes from another one by replacing nodes: what a plan fuses, and what hoisting lifts.

They have the form of a plan (``verified_tir.certificate.plans``), and steps of two kinds, taken one after the other:

    replaced    the nodes ``node`` (named by their first results, in the order in which they run) do what one of
                ``results`` does, or several: its certificate begins with the program of the ones, and ends with that of
                the others.  The last of ``node`` goes; the others stay as long as somebody reads them
    unused      the node goes, since nobody reads what it computes

So values keep their names and layouts, and the certificates move no parameter.  A folder has ``hoisted``, ``plan`` and
``fused``, each of which begins with the graph that the one before ends with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

from verified_tir.certificate.integrity import PLAN_DOES_NOT_FOLLOW, Finding
from verified_tir.certificate.plan_believed import Believed, asserts_something, implemented, is_function
from verified_tir.certificate.plan_certificates import Said, read_certificate
from verified_tir.certificate.plan_graphs import another_model, read_graph, written_otherwise
from verified_tir.certificate.plan_steps import follow, followed
from verified_tir.certificate.plans import REPLACEMENTS, CheckedPlan
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.program import composed, program_of, program_of_graph, same_program
from verified_tir.ir.equal import structural_equal

CHAIN: Final = ("hoisted", "plan", "fused")
"""The documents of a model, in the order in which each begins where the one before ends."""

Contents = Mapping[str, dict[str, Any] | None]


def follow_all(
    plans: Sequence[CheckedPlan], certificates: Contents, model: Graph | None = None,
    believed: list[Believed] | None = None,
) -> list[Finding]:  # fmt: skip
    """What is wrong with the steps of plans, each of them and where one begins that another one ends.

    :param believed: gets what the plans rest on without proof.

    :param certificates: the contents of certificates, by name.
    :param model: the model itself, with which the first of each folder is compared.
    """
    found: list[Finding] = []
    last: dict[str, CheckedPlan] = {}
    for plan in sorted(plans, key=lambda p: CHAIN.index(_kind(p)) if _kind(p) in CHAIN else len(CHAIN)):
        folder = plan.name.rpartition("/")[0]
        before = last.get(folder) if _kind(plan) in CHAIN else None
        replacing = plan.content is not None and any(s["kind"] in REPLACEMENTS for s in plan.content["steps"])
        of = None if before else model
        found += (follow_replacements if replacing else follow)(plan, certificates, of, believed)
        if before is not None and before.content is not None and plan.content is not None:
            found += [Finding(plan.name, place, text, PLAN_DOES_NOT_FOLLOW) for place, text in _link(before, plan)]
        last[folder] = plan
    return found


def _kind(plan: CheckedPlan) -> str:
    return plan.name.rpartition("/")[2]


def _link(first: CheckedPlan, second: CheckedPlan) -> Iterator[tuple[str, str]]:
    """Whether the second begins with the graph and the constants that the first ends with."""
    assert first.content is not None and second.content is not None
    if first.content["after"]["text"] != second.content["before"]["text"]:
        yield "before", f"this is not the graph with which {first.name} ends"
    hashes = [{name: c["sha256"] for name, c in of.items()}
              for of in (first.content["constants"]["after"], second.content["constants"]["before"])]  # fmt: skip
    if hashes[0] != hashes[1]:
        yield "constants.before", f"these are not the constants with which {first.name} ends"


def follow_replacements(
    plan: CheckedPlan, certificates: Contents, model: Graph | None = None, believed: list[Believed] | None = None
) -> list[Finding]:
    """What is wrong with replacements of nodes.

    :param model: the model itself; with it the graph and the constants before are compared, too.
    :param believed: gets what the certificates rest on without proof.
    """
    beliefs: list[Believed] = [] if believed is None else believed
    return followed(plan, lambda content: _Replacing(plan.name, content, certificates, beliefs).problems(model))


@final
class _Replacing:
    """One walk; ``nodes`` is the graph as it is, by the first result of each node."""

    def __init__(self, name: str, plan: Mapping[str, Any], certificates: Contents, believed: list[Believed]) -> None:
        self.name = name
        self.believed = believed
        self.plan = plan
        self.certificates = certificates
        self.before, self.after = read_graph(plan, "before"), read_graph(plan, "after")
        self.values = {v.name: v for v in self.before.values()}
        self.nodes = {n.outputs[0].name: n for n in self.before.nodes}
        self.new = {n.outputs[0].name: n for n in self.after.nodes}

    def problems(self, model: Graph | None) -> Iterator[tuple[str, str]]:
        yield from self._ends()
        for k, step in enumerate(self.plan["steps"]):
            place = f"steps[{k}] {', '.join(step['results'] or step['node'])}"
            problem = self._taken(step)
            if problem:
                yield place, problem
                return
        if self.nodes.keys() != self.new.keys():
            yield "after", "its nodes are not those that the steps lead to"
            return
        for name, node in self.nodes.items():
            other = self.new[name]
            if _names(node.inputs) != _names(other.inputs) or _types(node.outputs) != _types(other.outputs):
                yield "after", f"{name} has other operands or results than the steps lead to"
            elif node is not other and not structural_equal(program_of(node), program_of(other)):
                yield "after", f"{name} has another program than the steps lead to"
        if model is not None:
            yield from another_model(self.plan, self.before, model)

    def _ends(self) -> Iterator[tuple[str, str]]:
        """Inputs, results and constants are the same before and after."""
        if _types(self.before.inputs) != _types(self.after.inputs):
            yield "after", "its inputs are not those of the graph before"
        if self.before.zero_with != self.after.zero_with:
            yield "after", "it runs at other sizes than the graph before"
        if _names(self.before.outputs) != _names(self.after.outputs):
            yield "after", "its results are not those of the graph before"
        if self.plan["constants"]["before"] != self.plan["constants"]["after"]:
            yield "constants.after", "they are not those of the graph before"
        for which, graph in (("before", self.before), ("after", self.after)):
            for w, array in graph.constants.items():
                problem = written_otherwise(self.plan, which, w, array)
                if problem:
                    yield f"constants.{which}.{w.name}", problem

    # -- steps -------------------------------------------------------------------------------------------------------

    def _taken(self, step: Mapping[str, Any]) -> str:
        match step["kind"]:
            case "unused":
                return self._unused(step)
            case "replaced":
                return self._replaced(step)
        return f"there is no step {step['kind']} here"

    def _unused(self, step: Mapping[str, Any]) -> str:
        node = self.nodes.get(step["node"][0]) if len(step["node"]) == 1 else None
        if node is None:
            return f"there is no node {', '.join(step['node'])}"
        read = {v.name for n in self.nodes.values() for v in n.inputs} | set(_names(self.before.outputs))
        used = next((v.name for v in node.outputs if v.name in read), None)
        if used is not None:
            return f"{used} is read"
        del self.nodes[node.outputs[0].name]
        return ""

    def _replaced(self, step: Mapping[str, Any]) -> str:
        missing = next((name for name in step["node"] if name not in self.nodes), None)
        if missing is not None or not step["node"]:
            return f"there is no node {missing or 'that is replaced'}"
        content = self.certificates.get(step["certificate"])
        if content is None:
            return f"its certificate {step['certificate']} cannot be read"
        if content["floats"]["mode"] != "bits":
            return f"the certificate {step['certificate']} has sums in another order"
        if asserts_something(content):
            return f"the certificate {step['certificate']} asserts something of the operands, and nobody sees to it"
        said = read_certificate(content)
        if any(said.layouts):
            return f"the certificate {step['certificate']} moves a parameter"
        for function in implemented(content):
            if not is_function(function):
                return f"{function!r} is not a name of a function"
            what = f"it does what an intrinsic describes, in {step['certificate']}"
            self.believed.append(Believed(self.name, function, what))
        old = [self.nodes[name] for name in step["node"]]
        return self._fused(step, said, old) if len(old) > 1 else self._lifted(step, said, old[0])

    def _fused(self, step: Mapping[str, Any], said: Said, old: list[Node]) -> str:
        """Several nodes become one, whose program is that with which the certificate ends."""
        last = old[-1]
        inner = {v for n in old[:-1] for v in n.outputs}
        inputs = tuple(dict.fromkeys(v for n in old for v in n.inputs if v not in inner))
        if step["results"] != [last.outputs[0].name]:
            return f"it does not give what {step['node'][-1]} gives"
        if not structural_equal(said.before, composed(old, inputs, last.outputs)):
            return f"the certificate {step['certificate']} does not begin with the programs of these nodes"
        self.nodes[last.outputs[0].name] = Node("call_tir", inputs, last.outputs, {}, said.after, last.source)
        return ""

    def _lifted(self, step: Mapping[str, Any], said: Said, old: Node) -> str:
        """One node becomes several of the graph after."""
        missing = next((name for name in step["results"] if name not in self.new), None)
        if missing is not None:
            return f"there is no node {missing} after"
        found = [self.new[name] for name in step["results"]]
        own = [v.name for n in found for v in n.outputs]
        wanted = _types(old.outputs)
        taken = [name for name in own if name in self.values and name not in _names(old.outputs)]
        if taken or len(set(own)) < len(own) or any(t not in [(v.name, v.type) for n in found for v in n.outputs]
                                                    for t in wanted):  # fmt: skip
            return f"they do not give what {step['node'][0]} gives, and else what is new"
        if len(set(old.inputs)) < len(old.inputs):
            return f"{step['node'][0]} has one operand twice: which of them the new nodes read, nobody can say"
        read = [v.name for n in found for v in n.inputs]
        other = next((name for name in read if name not in (*_names(old.inputs), *own)), None)
        if other is not None:
            return f"they read {other}, which {step['node'][0]} does not"
        inside = _on_its_own(old, found)
        if not structural_equal(said.before, program_of(old)):
            return f"the certificate {step['certificate']} does not begin with the program of {step['node'][0]}"
        if not same_program(said.after, program_of_graph(inside)):
            return (
                f"the certificate {step['certificate']} does not end with the programs of {', '.join(step['results'])}"
            )
        del self.nodes[old.outputs[0].name]
        self.nodes |= {n.outputs[0].name: n for n in found}
        self.values |= {v.name: v for n in found for v in n.outputs}
        return ""


def _on_its_own(old: Node, found: Sequence[Node]) -> Graph:
    """Nodes that stand for another one, as a graph from its operands to its results; they read nothing else."""
    values = {v.name: v for v in (*old.inputs, *(v for n in found for v in n.outputs))}
    nodes = tuple(
        Node(n.op, tuple(values[v.name] for v in n.inputs), n.outputs, n.attrs, n.func, n.source) for n in found
    )
    return Graph("main", old.inputs, {}, nodes, tuple(values[v.name] for v in old.outputs))


def _names(values: Sequence[Value]) -> list[str]:
    return [v.name for v in values]


def _types(values: Sequence[Value]) -> list[tuple[str, object]]:
    return [(v.name, v.type) for v in values]
