"""How certificates make up the plan of a model: which program stands where in the graph, and what its values are.

    schema          version of the format
    tool            name and version of the program
    plan            the model's name, and the layouts that were asked for
    before, after   the graphs as text, line by line, with hashes
    constants       of both graphs: type, shape and hash of each array; of a packed one the constant and the layout
    steps           for each node of the graph after, and each node before that went: its results, which values before
                    they are, in which layouts, the certificate of its program, by name and root hash, and the external
                    function that is to compute it, if there is one
    hashes, root    of all these parts, and of the hashes

A layout is an s-expression (``verified_tir.certificate.plan_layouts``).  The elements of large constants that are
packed lie beside, in ``constants/`` (``verified_tir.certificate.store``).

Here is what can be checked of it without reading graphs: its form, its hashes, and that its certificates are there.
Whether the steps lead from the one graph to the other is what ``verified_tir.certificate.plan_steps`` asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from verified_tir.certificate.canonical import text_hash
from verified_tir.certificate.hashes import broken_seals, sealed
from verified_tir.certificate.integrity import Finding, read_document
from verified_tir.certificate.shape import ANY, DIGEST, OPTIONAL_NAME, misshapen
from verified_tir.certificate.store import MANIFEST

SCHEMA: Final = 4
"""Version of the format.  Another one is not read."""

PARTS: Final = ("schema", "tool", "plan", "before", "after", "constants", "steps")
"""The parts of a plan that have a hash."""

KINDS: Final = ("same", "moved", "rewrite", "gone", "external")
"""What a step is: a node as it was; one whose program was moved; a rewrite that is new; one that went; a node whose
program became the call of an external function."""

COMPUTED: Final = ("same", "moved", "external")
"""Steps of nodes, which an external function may compute."""

PLAIN: Final = "none"
"""The layout that is none (``verified_tir.certificate.plan_layouts``)."""

PROVED: Final = ("moved", "rewrite", "gone", "replaced")
"""Steps that have a certificate."""

REPLACEMENTS: Final = ("replaced", "unused")
"""Steps of documents that replace nodes (``verified_tir.certificate.replacements``): their values are as they were."""

_VALUE: Final[dict[str, Any]] = {"of": str, "layout": str}
_STEP: Final[dict[str, Any]] = {
    "results": [str], "kind": str, "node": [str], "values": [_VALUE],
    "certificate": OPTIONAL_NAME, "root": OPTIONAL_NAME, "function": OPTIONAL_NAME,
}  # fmt: skip
_GRAPH: Final[dict[str, Any]] = {"hash": DIGEST, "text": [str]}
PLAN: Final[dict[str, Any]] = {
    "schema": int,
    "tool": {"name": str, "version": str},
    "plan": {"model": str, "layouts": [str]},
    "before": _GRAPH,
    "after": _GRAPH,
    "constants": {"before": ANY, "after": ANY},
    "steps": [_STEP],
    "hashes": ANY,
    "root": DIGEST,
}
CONSTANT: Final[dict[str, Any]] = {"dtype": str, "shape": [int], "sha256": DIGEST, "of": str, "layout": str}


@final
@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan: its content (``None`` if it cannot be read), what is wrong with it, and the folder that it lies in."""

    name: str
    content: dict[str, Any] | None
    findings: tuple[Finding, ...]
    folder: Path | None = None

    @property
    def certificates(self) -> list[str]:
        """The names of its certificates, each once."""
        steps = () if self.content is None else self.content["steps"]
        return list(dict.fromkeys(s["certificate"] for s in steps if s["certificate"] is not None))


def sealed_plan(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a plan with the hashes over them."""
    return sealed(parts, PARTS)


def load_plan(folder: Path, name: str, root: str, certificates: Mapping[str, str]) -> CheckedPlan:
    """A plan and what is wrong with it.

    :param root: its root hash, as the manifest has it; ``certificates`` those of the certificates.
    """
    found, unread = read_document(folder, name, SCHEMA)
    if unread is not None:
        return CheckedPlan(name, None, (unread,))
    misshaped = [Finding(name, place, problem) for place, problem in _form(found)]
    if misshaped:
        return CheckedPlan(name, None, tuple(misshaped))
    problems = [Finding(name, place, problem) for place, problem in _problems(found, certificates)]
    if found["root"] != root:
        problems.append(Finding(name, "root", f"{MANIFEST} has another root hash for this plan"))
    return CheckedPlan(name, found, tuple(problems), folder)


def _form(plan: Any) -> Iterator[tuple[str, str]]:
    wrong = list(misshapen(plan, PLAN))
    yield from wrong
    if wrong:
        return
    for which in ("before", "after"):
        if not isinstance(plan["constants"][which], dict):
            yield f"constants.{which}", "these are not constants by name"
            continue
        for name, constant in plan["constants"][which].items():
            wrong = list(misshapen(constant, CONSTANT, f"constants.{which}.{name}"))
            yield from wrong
            if which == "before" and not wrong and (constant["of"], constant["layout"]) != (name, PLAIN):
                yield f"constants.before.{name}", "a constant before is itself, as its indices say"
    for k, step in enumerate(plan["steps"]):
        if step["kind"] not in (*KINDS, *REPLACEMENTS):
            yield f"steps[{k}].kind", f"it is none of {', '.join((*KINDS, *REPLACEMENTS))}"
        if step["kind"] not in REPLACEMENTS and len(step["values"]) != len(step["results"]):
            yield f"steps[{k}].values", "there is not one for each result"
        if step["function"] is not None and step["kind"] not in COMPUTED:
            yield f"steps[{k}].function", f"no function computes what is {step['kind']}"
        if step["certificate"] is not None and step["kind"] not in PROVED:
            yield f"steps[{k}].certificate", f"no certificate is about what is {step['kind']}"
        if step["kind"] == "rewrite" and step["node"]:
            yield f"steps[{k}].node", "a rewrite that is new stands for no node before"
        if (step["certificate"] is None) is not (step["root"] is None):
            yield f"steps[{k}].certificate", "a certificate has a name and a hash"


def _problems(plan: Mapping[str, Any], certificates: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from broken_seals(plan, PARTS)
    for which in ("before", "after"):
        if text_hash("\n".join(plan[which]["text"])) != plan[which]["hash"]:
            yield f"{which}.hash", "this is not the hash of the graph: it was changed"
    for k, step in enumerate(plan["steps"]):
        name = step["certificate"]
        if name is not None and certificates.get(name) != step["root"]:
            what = "has another root hash" if name in certificates else "is not there"
            yield f"steps[{k}] {', '.join(step['results'])}", f"the certificate {name} {what}"
