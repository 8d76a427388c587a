"""What a theorem says, as plain values: for people, and as texts from which nothing is left out."""

from __future__ import annotations

from typing import Any

from verified_tir.derivation.assumptions import assumptions, reassociated
from verified_tir.derivation.classes import Refines, records
from verified_tir.derivation.codec import BadText, Reader, Writer
from verified_tir.derivation.theorems import scope_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Undef, Var
from verified_tir.ir.script import script, texts
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap


def statement(theorem: Refines) -> dict[str, Any]:
    """The relation, the mode of floats and the axioms in words."""
    return {
        "relation": _relation(theorem),
        "floats": {
            "mode": "reassociated" if theorem.reassociated else "bits", "reductions": reassociated(theorem),
        },
        "axioms": assumptions(theorem),
    }  # fmt: skip


def exact_statement(theorem: Refines) -> dict[str, str]:
    """The relation, the paddings and the reassociated blocks, each as a text.

    The scope is what the program after has, then the program that the theorem begins with; numbers go on from the one
    text to the next.
    """
    scope = scope_of(theorem.after, theorem.before)
    writer = Writer(scope, records())
    blocks = tuple(v for v in scope.variables if v in theorem.reassociated)
    return {
        "relation": writer.write(theorem.relation),
        "paddings": writer.write(theorem.paddings),
        "reassociated": writer.write(blocks),
    }


def _relation(theorem: Refines) -> list[dict[str, Any]]:
    """For each parameter its layouts in words, and as a text that :func:`read_maps` reads."""
    found = []
    for buffer in theorem.before.buffers:
        maps: list[ParameterMap] = []
        current = buffer
        for m in theorem.relation:
            if m.before is current:
                maps.append(m)
                current = m.after
        found.append({
            "parameter": buffer.name, "before": type_of(buffer), "after": type_of(current),
            "layouts": [_layout(m) for m in maps], "maps": Writer(records=records()).write(tuple(maps)),
        })  # fmt: skip
    return found


def read_maps(text: str) -> tuple[ParameterMap, ...]:
    """The layout changes of a parameter, one after another; buffers and variables are new ones.

    :raises BadText: if these are none, or not spelled in the canonical way.
    """
    found = Reader(records=records()).read(text)
    if type(found) is not tuple or not all(type(m) is ParameterMap for m in found):
        raise BadText("these are not layout changes")
    if Writer(records=records()).write(found) != text:
        raise BadText("they are not spelled in the canonical way")
    return found


def _layout(m: ParameterMap) -> dict[str, Any]:
    return {
        "map": _function(m.inputs, m.outputs),
        "inverse": _function(m.inverse_inputs, m.inverse),
        "padding": [_padding(p) for p in m.paddings],
        "after": type_of(m.after),
    }


def _padding(p: Padding) -> dict[str, Any]:
    *indices, where, value = texts(*p.indices, p.predicate, p.predicate if p.value is None else p.value)
    promise = "owed" if p.owed else "given"
    if p.value is None:
        value, promise = "touched by nobody", "inaccessible"
    elif isinstance(p.value, Undef):
        value, promise = "anything", "free"
    return {"indices": indices, "where": where, "value": value, "promise": promise}


def _function(inputs: tuple[Var, ...], outputs: tuple[Expr, ...]) -> str:
    both = texts(*inputs, *outputs)
    return f"lambda {', '.join(both[: len(inputs)])}: [{', '.join(both[len(inputs) :])}]"


def type_of(buffer: Buffer) -> dict[str, Any]:
    """Shape and element type of a buffer, as text."""
    return {"shape": [script(e) for e in buffer.shape], "dtype": str(buffer.dtype)}


__all__ = ["exact_statement", "read_maps", "statement", "type_of"]
