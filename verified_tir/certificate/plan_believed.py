"""What a plan rests on that no certificate proves, each with a name by which a person may allow it.

* An external function is called, and is said to do what a node before means (``External``), or what the description of
  an intrinsic says (the rule ``Implement``).
* The sums of a certificate are taken in another order, which somebody has allowed.
* A large constant is another one, packed, and neither the model nor the elements are there to see.

Everything else is proved.  A theorem about operands of which something is asserted (the rule ``Axiom``) proves nothing
within a graph, where nobody sees to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from verified_tir.derivation.notation import Open, tokens
from verified_tir.graph.ir import Node
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, StringImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Evaluate, Seq
from verified_tir.ir.visit import nodes_of

_BY_NAME: Final = frozenset(
    {"call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "call_intrin", "call_packed",
     "call_cpacked", "tvm_call_packed", "tvm_call_cpacked"}
)  # fmt: skip
"""Calls of what their first argument names; a string that another function gets names nothing."""


@final
@dataclass(frozen=True, slots=True)
class Believed:
    """Something that nobody has proved: in which plan, the name that allows it, and a sentence."""

    plan: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.plan}: believed, not proved: {self.name}: {self.what}"


def external_function(func: PrimFunc) -> str | None:
    """The name of the function outside that a program calls, if the call is all that the program does."""
    body = func.body.stmts[0] if isinstance(func.body, Seq) and len(func.body.stmts) == 1 else func.body
    return _called(body.value) if isinstance(body, Evaluate) else None


def _called(e: object) -> str | None:
    if not isinstance(e, Call) or is_pure(e.op):
        return None
    first = e.args[0] if e.args else None
    return first.value if e.op in _BY_NAME and isinstance(first, StringImm) else e.op


def is_function(name: str) -> bool:
    """Whether a name can be that of a function: it is shown as it is, and is not taken for another belief."""
    return name.isprintable() and name != "" and " " not in name


def called_as(func: PrimFunc) -> str:
    """The call that is all that a program does."""
    return next(script(n) for n in nodes_of(func.body, Call) if _called(n) is not None)


def asserts_something(content: Mapping[str, Any]) -> bool:
    """Whether the theorem of a certificate is about operands of which something is asserted."""
    return any(rule["value"].startswith("(Axiom ") for rule in _rules(content))


def implemented(content: Mapping[str, Any]) -> list[str]:
    """The external functions that a certificate takes for what an intrinsic describes.

    They are those that the implementations call, whether or not the last program does: a call that never runs can be
    removed again, and what else the implementation does is still believed.
    """
    texts = [rule["value"] for rule in _rules(content) if rule["value"].startswith("(Implement ")]
    return sorted({name for text in texts for name in _called_in(text)})


def _called_in(text: str) -> Iterator[str]:
    """The external functions that are called in the text of a rule."""
    found = [token for _, token in tokens(text)]
    for k, token in enumerate(found):
        if token == Open("Call"):
            _, op, _, first, name = found[k + 1 : k + 6]  # its type, its name, and a tuple with the arguments
            if isinstance(op, str) and not is_pure(op):
                yield name if op in _BY_NAME and first == Open("StringImm") and isinstance(name, str) else op


def _rules(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (rule for step in content["trace"] for rule in step["rules"])


def computes(node: Node, operands: list[str], results: list[str]) -> str:
    """The sentence that says what an external function is to do."""
    return f"it is called to compute {node}: {', '.join(operands)} -> {', '.join(results)}"
