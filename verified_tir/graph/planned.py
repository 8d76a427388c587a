"""The graph of a plan: moved programs, packed constants, and the rewrites that are left, with the proof of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from verified_tir.graph.callbacks import given_on_word
from verified_tir.graph.choose import Choice
from verified_tir.graph.conversions import Conversion, conversions
from verified_tir.graph.errors import GraphError
from verified_tir.graph.external import External
from verified_tir.graph.ir import Array, Node, TensorType, Value, check_call
from verified_tir.graph.layouts import (
    PLAIN,
    Layout,
    index_map_of,
    layout_text,
    number,
    pack,
    serves,
    shape_in,
    value_of,
)
from verified_tir.graph.names import Names
from verified_tir.graph.options import Option, Options
from verified_tir.graph.program import program_key
from verified_tir.graph.relayout import Relaid
from verified_tir.ir.func import PrimFunc

if TYPE_CHECKING:
    from verified_tir.graph.plan import Plan


def write_planned(
    made: Plan, options: Options, choice: Choice, relaid: Mapping[object, Relaid], external: Mapping[Node, External]
) -> None:
    """Write the graph with the options that were chosen into a plan, and what is known of its nodes and values.

    :raises GraphError: if a rewrite has no program, or is not proved.
    """
    _Writer(made, options, choice, relaid, external).write()


def is_given_on_word(options: Options, n: Node, option: Option) -> PrimFunc | None:
    """The program that a registered rule gives for an opaque node in the layouts of an option.

    :raises GraphError: as :func:`verified_tir.graph.callbacks.given_on_word`, or if it takes other tensors.
    """
    inputs, outputs = ([options.layouts[t] for t in of] for of in (option.inputs, option.outputs))
    found = given_on_word(n, inputs, outputs)
    if found is not None:
        values = [
            Value(v.name, TensorType(shape_in(m, v.dims), v.dtype))
            for v, m in zip((*n.inputs, *n.outputs), (*inputs, *outputs), strict=True)
        ]
        check_call(Node("call_tir", tuple(values[: len(inputs)]), tuple(values[len(inputs) :]), {}, found, str(n)))
    return found


class _Writer:
    """Writes node by node; ``has`` are the values that there are, by what they stand for and their layout."""

    def __init__(
        self, made: Plan, options: Options, choice: Choice, relaid: Mapping[object, Relaid],
        external: Mapping[Node, External],
    ) -> None:  # fmt: skip
        self.graph = graph = made.before
        self.options = options
        self.choice = choice
        self.proved = relaid
        self.external = external
        self.made = made
        self.nodes: list[Node] = []
        self.constants: dict[Value, Array] = dict(graph.constants)
        self.has: dict[Value, dict[str, Value]] = {v: {PLAIN: v} for v in graph.inputs}
        self.given: dict[Value, str] = {}
        """The layout in which a value was made."""
        self.names = Names(v.name for v in graph.values())
        self.steps: dict[tuple[TensorType, str, str], list[Conversion]] = {}
        self.wanted: dict[Value, list[str]] = {}
        for v, text in choice.rewrites:
            self.wanted.setdefault(v, []).append(text)

    def write(self) -> None:
        for n in self.graph.nodes:
            self.node(n, self.choice.options[n])
        outputs = tuple(self.in_layout(v, PLAIN, "the result") for v in self.graph.outputs)
        made = self.made
        made.roles = [(w, v, t) for v, of in self.has.items() for t, w in of.items()]
        made.stands_for = {w: (v, t) for w, v, t in made.roles}
        used = {v for n in self.nodes for v in n.inputs} | {*outputs}
        constants = {v: a for v, a in self.constants.items() if v in used}
        made.graph = replace(self.graph, constants=constants, nodes=tuple(self.nodes), outputs=outputs)

    def node(self, n: Node, option: Option) -> None:
        inputs = tuple(self.in_layout(v, t, str(n)) for v, t in zip(n.inputs, option.inputs, strict=True))
        proof = self.proved.get((program_key(n), option)) if any((*option.inputs, *option.outputs)) else None
        if proof is not None and self.options.is_elided(n, option):
            self._is_there(n.output, option.outputs[0], inputs[0])
            self.made.elided[n] = proof
            return
        named = self.external.get(n)
        func = named.function(self.options, n, option) if named is not None else None
        word = is_given_on_word(self.options, n, option) if func is None and proof is None else None
        func = func or word
        if proof is None and func is None:
            new = Node(n.op, inputs, n.outputs, n.attrs, n.func, n.source)
            for v in n.outputs:
                self._is_there(v, PLAIN, v)
        else:
            outputs = tuple(self._moved(v, t) for v, t in zip(n.outputs, option.outputs, strict=True))
            called = func if func is not None or proof is None else proof.func
            new = Node("call_tir", inputs, outputs, {}, called, n.source or str(n))
            for v, t, w in zip(n.outputs, option.outputs, outputs, strict=True):
                self._is_there(v, t, w)
            if proof is not None and func is None:
                self.made.relaid[new] = proof
        self.made.implements[new] = n
        self.nodes.append(new)
        if word is not None:
            self._external(new, n, External(word.name, ()), True)
        elif named is not None:
            self._external(new, n, named, func is not None)

    def _is_there(self, v: Value, text: str, value: Value) -> None:
        self.has.setdefault(v, {})[text] = value
        self.given[v] = text

    def _external(self, new: Node, n: Node, named: External, opaque: bool) -> None:
        self.made.external[new] = named
        option = self.choice.options[n]
        layouts = ", ".join(t or "plain" for t in (*option.inputs, *option.outputs))
        if opaque and new.func is not None and not named.accepts:
            self.made.assumptions.append(
                f"{n}: on moved tensors, {new.func.name} computes what {n.func.name if n.func else n.op} does "
                f"({layouts}); a registered rule says so, and nobody proves it"
            )
            return
        what = f"the program {new.func.name}, which is not proved to do so" if opaque and new.func else "its program"
        self.made.assumptions.append(f"{n}: the external function {named.name} does what {what} says ({layouts})")

    def _moved(self, v: Value, text: str) -> Value:
        layout = self.options.layouts[text]
        if layout is None:
            return v
        return Value(self.names.fresh(f"{v.name}_moved"), TensorType(shape_in(layout, v.dims), v.dtype))

    # -- values in other layouts -------------------------------------------------------------------------------------

    def in_layout(self, v: Value, text: str, reader: str) -> Value:
        """A value in a layout: one that is there, a packed constant, or what a rewrite makes."""
        there = self.has.setdefault(v, {})
        found = next((w for t, w in there.items() if serves(t, text)), None)
        if found is not None:
            return found
        if v in self.graph.constants:
            there[text] = self.packed(v, text)
            return there[text]
        better = next((t for t in self.wanted.get(v, ()) if serves(t, text)), text)
        return self.rewritten(v, better, reader)

    def packed(self, v: Value, text: str) -> Value:
        """The constant in a layout; each element is compared with where it came from."""
        layout, array = self.options.layouts[text], self.graph.constants[v]
        if layout is None:
            return v
        found = pack(layout, array, v.dtype)
        check_packed(v, layout, array, found)
        new = Value(self.names.fresh(f"{v.name}_packed"), TensorType(found.shape, v.dtype))
        self.constants[new] = found
        self.made.packed[new] = (v, text)
        return new

    def rewritten(self, v: Value, text: str, reader: str) -> Value:
        given = self.given.get(v, PLAIN)
        key = (v.type, given, text)
        if key not in self.steps:
            try:
                self.steps[key] = conversions(v.type, self.options.layouts[given], self.options.layouts[text])
            except GraphError as problem:
                raise GraphError(f"{v.name} cannot be rewritten for {reader}: {problem}") from problem.__cause__
        source = self.has[v][given]
        for step in self.steps[key]:
            reached = layout_text(step.layout)
            self.options.layouts.setdefault(reached, step.layout)
            if reached in self.has[v]:
                source = self.has[v][reached]
                continue
            new = Value(self.names.fresh(f"{v.name}_layout"), step.type)
            node = Node(step.op, (source,), (new,), step.attrs)
            self.nodes.append(node)
            self.made.proofs[node] = step.proof
            self.made.rewrites.append((node, f"{v.name} for {reader}"))
            self.has[v][reached] = source = new
        return source


def check_packed(v: Value, layout: Layout, array: Array, packed: Array) -> None:
    """Compare all elements of a packed constant with those it was packed from, bit by bit.

    :raises GraphError: if one differs.
    """
    index_map = index_map_of(layout)
    assert index_map is not None
    try:
        back = index_map.unpack(packed[tuple(slice(0, n) for n in shape_in(index_map, array.shape))], array.shape)
    except ValueError as problem:
        raise GraphError(f"the constant {v.name} was not packed: {problem}") from problem
    if back.tobytes() != np.ascontiguousarray(array).tobytes():
        raise GraphError(f"the constant {v.name} does not come back from its layout {index_map}")
    if (value := value_of(layout)) is None:
        return
    elements = pack(index_map_of(layout), np.ones(array.shape, np.uint8), "uint8")
    if elements.shape == packed.shape:
        rest = packed[elements == 0]
        if rest.tobytes() != np.full(rest.shape, number(value, v.dtype), packed.dtype).tobytes():
            raise GraphError(f"the padding of the constant {v.name} does not hold {value}")
