"""Recurrent ONNX operators, RNN, GRU and LSTM: their steps one after the other, as the specification's equations say.

Weights and biases of the gates stand one below the other; each direction has its own.  Sequences are all as long as the
input; activations are those without parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion, with_room
from verified_tir.graph.sizes import numbers

ACTIVATIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "nn.relu"}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OF_GATES = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}


class Recurrence:
    """A node's operands, directions apart, and its steps."""

    def __init__(self, c: Converter) -> None:
        self.c, self.kind = c, c.node.op_type
        a = c.attributes
        self.batch_first = a.get("layout", False)
        direction = a.get("direction", "forward")
        if direction not in ("forward", "reverse", "bidirectional"):
            raise c.fail(f"direction is forward, reverse or bidirectional, not {direction}")
        self.reversed = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        for name in ("activation_alpha", "activation_beta"):
            if a.get(name):
                raise c.fail(f"{name} is not known here")
        if a.get("clip", 0.0) or a.get("input_forget", 0):
            raise c.fail("clip and input_forget are not known here")
        own = OF_GATES[self.kind]
        given = a["activations"] if "activations" in a else own * len(self.reversed)
        self.activations = [(n.decode() if isinstance(n, bytes) else n).lower() for n in given]
        unknown = [n for n in self.activations if n not in ACTIVATIONS]
        if unknown or len(self.activations) != len(own) * len(self.reversed):
            raise c.fail(f"{len(own)} activations for each direction are among {', '.join(ACTIVATIONS)}; "
                         f"it has {', '.join(self.activations)}")  # fmt: skip
        x = c.value(0)
        self.x: Value = c.op("permute_dims", x, axes=(1, 0, 2)) if self.batch_first else x
        (self.length,) = numbers(self.x.dims[:1], f"the steps of {x.name}")
        self.batch = self.x.dims[1]
        self.hidden = c.value(2).shape[-1]
        if int(a.get("hidden_size", self.hidden)) != self.hidden:
            raise c.fail(f"hidden_size is that of its weights, {self.hidden}, not {a['hidden_size']}")
        lengths = c.array(4, "lengths of sequences")
        if lengths is not None and any(n != self.length for n in lengths.reshape(-1)):
            raise c.fail(f"sequences are all of length {self.length} here")
        if not self.length or self.batch == 0:
            raise c.fail("there is nothing to go over")
        self.before_reset = a.get("linear_before_reset", False)
        for k, name in enumerate("XWRB"):
            if k and c.has(k) and c.value(k).shape[0] != len(self.reversed):
                raise c.fail(f"{name} is of {c.value(k).shape[0]} directions, and direction is {direction}")

    # -- parts of operands ---------------------------------------------------------------------------------------------

    def of(self, v: Value, d: int) -> Value:
        """What an operand has for a direction."""
        return self.part(v, 0, d, 1, squeeze=True)

    def part(self, v: Value, axis: int, first: int, count: int, squeeze: bool = False) -> Value:
        made = self.c.op("strided_slice", v, axes=(axis,), begin=(first,), end=(first + count,))
        if squeeze:
            made = self.c.op("squeeze", made, axis=(axis,))
        return made

    def gates(self, v: Value, count: int) -> list[Value]:
        """Rows, or elements, of gates that stand below each other."""
        if v.shape[0] != count * self.hidden:
            raise self.c.fail(f"there are {v.shape[0]} rows for {count} gates of {self.hidden}")
        return [self.part(v, 0, k * self.hidden, self.hidden) for k in range(count)]

    def start(self, k: int, d: int) -> Value:
        """The first state of a direction: the k-th operand, or zeros."""
        shape = (self.batch, self.hidden)
        if not self.c.has(k):
            zeros: Value = self.c.builder.constant(np.zeros((1, self.hidden), self.x.dtype), "zeros")
            return zeros if self.batch == 1 else self.c.op("broadcast_to", zeros, shape=shape)
        v = self.c.value(k)
        if self.batch_first:
            v = self.c.op("permute_dims", v, axes=(1, 0, 2))
        return self.of(v, d)

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def add(self, *values: Value | None) -> Value:
        first, *rest = [v for v in values if v is not None]
        for v in rest:
            first = self.c.op("add", first, v)
        return first

    def times(self, a: Value, b: Value) -> Value:
        return self.c.op("multiply", a, b)

    def product(self, a: Value, w: Value) -> Value:
        """a · wᵀ"""
        return self.c.op("nn.dense", a, w)

    def activation(self, d: int, k: int, v: Value) -> Value:
        name = self.activations[d * len(OF_GATES[self.kind]) + k]
        return self.c.op(ACTIVATIONS[name], v)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def run(self) -> list[Value]:
        """All states, and the last ones."""
        every, last, cells = [], [], []
        for d, backwards in enumerate(self.reversed):
            states, cell = self.direction(d, backwards)
            last.append(states[-1])
            every.append(states[::-1] if backwards else states)
            cells.append(cell)
        steps = [self.stacked([states[t] for states in every]) for t in range(self.length)]
        y, final = self.stacked(steps), self.stacked(last)
        results = [y, final] if self.kind != "LSTM" else [y, final, self.stacked([v for v in cells if v is not None])]
        if not self.batch_first:
            return results
        y, *rest = results
        return [self.c.op("permute_dims", y, axes=(2, 0, 1, 3)),
                *(self.c.op("permute_dims", v, axes=(1, 0, 2)) for v in rest)]  # fmt: skip

    def stacked(self, values: Sequence[Value]) -> Value:
        wide = [self.c.op("expand_dims", v, axis=(0,)) for v in values]
        return wide[0] if len(wide) == 1 else self.c.op("concat", *wide, axis=0)

    def direction(self, d: int, backwards: bool) -> tuple[list[Value], Value | None]:
        count = GATES[self.kind]
        w, r = (self.gates(self.of(self.c.value(k), d), count) for k in (1, 2))
        b: list[Value | None] = [None] * (2 * count)
        if self.c.has(3):
            b = list(self.gates(self.of(self.c.value(3), d), 2 * count))
        h, cell = self.start(5, d), self.start(6, d) if self.kind == "LSTM" else None
        peepholes = None
        if self.kind == "LSTM" and self.c.has(7):
            peepholes = self.gates(self.of(self.c.value(7), d), 3)
        states: list[Value] = []
        for t in reversed(range(self.length)) if backwards else range(self.length):
            x = self.part(self.x, 0, t, 1, squeeze=True)
            if self.kind == "RNN":
                h = self.activation(d, 0, self.linear(x, h, w[0], r[0], b[0], b[1]))
            elif self.kind == "GRU":
                h = self.gru(d, x, h, w, r, b)
            else:
                assert cell is not None
                h, cell = self.lstm(d, x, h, cell, w, r, b, peepholes)
            states.append(h)
        return states, cell

    def linear(self, x: Value, h: Value, w: Value, r: Value, wb: Value | None, rb: Value | None) -> Value:
        return self.add(self.product(x, w), self.product(h, r), wb, rb)

    def gru(self, d: int, x: Value, h: Value, w: list[Value], r: list[Value], b: list[Value | None]) -> Value:
        z = self.activation(d, 0, self.linear(x, h, w[0], r[0], b[0], b[3]))
        reset = self.activation(d, 0, self.linear(x, h, w[1], r[1], b[1], b[4]))
        if self.before_reset:
            seen = self.times(reset, self.add(self.product(h, r[2]), b[5]))
            new = self.add(self.product(x, w[2]), seen, b[2])
        else:
            new = self.linear(x, self.times(reset, h), w[2], r[2], b[2], b[5])
        new = self.activation(d, 1, new)
        one = self.c.constant(1, self.x.dtype, "one")
        return self.add(self.times(self.c.op("subtract", one, z), new), self.times(z, h))

    def lstm(
        self, d: int, x: Value, h: Value, cell: Value, w: list[Value], r: list[Value], b: list[Value | None],
        peepholes: list[Value] | None,
    ) -> tuple[Value, Value]:  # fmt: skip
        """Gates are in the order input, output, forget, cell; so are peepholes."""
        i, o, f, g = (self.linear(x, h, w[k], r[k], b[k], b[k + 4]) for k in range(4))
        if peepholes is not None:
            i, f = self.add(i, self.times(peepholes[0], cell)), self.add(f, self.times(peepholes[2], cell))
        i, f, g = self.activation(d, 0, i), self.activation(d, 0, f), self.activation(d, 1, g)
        cell = self.add(self.times(f, cell), self.times(i, g))
        if peepholes is not None:
            o = self.add(o, self.times(peepholes[1], cell))
        o = self.activation(d, 0, o)
        return self.times(o, self.activation(d, 2, cell)), cell


@conversion(*GATES)
@with_room
def _recurrent(c: Converter) -> list[Value]:
    return Recurrence(c).run()
