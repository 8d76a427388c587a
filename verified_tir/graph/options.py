"""What layouts the operands and results of a node can have together, and the program for each choice.

A node whose layouts are frozen has one option.  Any other has the plain one, and one more for each layout that reaches
it from a neighbour and that its program carries over (``infer``).  Constants take any layout: they are packed in
advance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.graph.execute import program_key, program_of
from verified_tir.graph.infer import infer, is_identity
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.schedule.index_map import IndexMap

Layout: TypeAlias = "IndexMap | None"
"""Where the elements of a tensor stand; ``None`` as its indices say."""

MOST = 6
"""So many options of a node are looked at."""


@final
@dataclass(frozen=True, slots=True)
class Option:
    """Layouts of a node's operands and results, as texts (equal texts are equal layouts)."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


PLAIN = ""
"""The text of the layout that is none."""


def layout_text(layout: Layout) -> str:
    """A text that is the same for the same map, whatever its variables are called."""
    if layout is None or is_identity(layout):
        return PLAIN
    names = [f"i{k}" for k in range(len(layout.inputs))]
    return str(IndexMap.from_func(lambda *i: list(layout.apply(i)), len(names)))


@final
class Options:
    """The options of every node of a graph, found from the frozen ones by flowing layouts along the edges."""

    def __init__(self, graph: Graph, frozen: Mapping[Node, tuple[Sequence[Layout], Sequence[Layout]]]) -> None:
        self.graph = graph
        self.layouts: dict[str, Layout] = {PLAIN: None}
        self.of: dict[Node, list[Option]] = {}
        self.problems: dict[Node, dict[str, str]] = {}
        """Why a layout does not pass through a node, by the layout."""
        self.frozen = {n: self._option(*layouts) for n, layouts in frozen.items()}
        self._programs: dict[object, PrimFunc] = {}
        self._inferred: dict[object, Option | str] = {}
        self._producer = graph.producer()
        self._consumers = graph.consumers()
        for n in graph.nodes:
            plain = Option((PLAIN,) * len(n.inputs), (PLAIN,) * len(n.outputs))
            self.of[n] = [self.frozen.get(n, plain)]
        self._flow()

    def _option(self, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> Option:
        return Option(tuple(map(self._text, inputs)), tuple(map(self._text, outputs)))

    def _text(self, layout: Layout) -> str:
        text = layout_text(layout)
        self.layouts.setdefault(text, layout)
        return text

    def program(self, node: Node) -> PrimFunc:
        """The node's program; nodes of one kind share it."""
        key = program_key(node)
        if key not in self._programs:
            self._programs[key] = program_of(node)
        return self._programs[key]

    def carried(self, func: PrimFunc, maps: dict[Buffer, IndexMap]) -> dict[Buffer, IndexMap]:
        """Layouts of the local buffers, too, that go with those of the parameters."""
        found = infer(func, maps).maps
        return {b: m for b, m in found.items() if b in maps or b not in func.buffers}

    # -- flowing -----------------------------------------------------------------------------------------------------

    def _flow(self) -> None:
        """From each option to the neighbours that it would suit."""
        waiting: list[tuple[Node, Option]] = [(n, o) for n, o in self.frozen.items()]
        while waiting:
            node, option = waiting.pop(0)
            for v, text in (
                *zip(node.inputs, option.inputs, strict=True),
                *zip(node.outputs, option.outputs, strict=True),
            ):
                if text == PLAIN:
                    continue
                neighbours = [n for n in (self._producer.get(v), *self._consumers.get(v, ())) if n is not None]
                for n in neighbours:
                    if n is not node and (made := self._reached(n, v, text)) is not None:
                        waiting.append((n, made))

    def _reached(self, node: Node, v: Value, text: str) -> Option | None:
        """A new option of a node, in which ``v`` has a layout."""
        if node in self.frozen or len(self.of[node]) >= MOST:
            return None
        values = [*node.inputs, *node.outputs]
        place = values.index(v)
        if any((*o.inputs, *o.outputs)[place] == text for o in self.of[node]):
            return None
        key = (program_key(node), place, text)
        if key not in self._inferred:
            self._inferred[key] = self._infer(node, place, text)
        found = self._inferred[key]
        if isinstance(found, str):
            self.problems.setdefault(node, {})[text] = found
            return None
        if found in self.of[node]:
            return None
        self.of[node].append(found)
        return found

    def _infer(self, node: Node, place: int, text: str) -> Option | str:
        func, layout = self.program(node), self.layouts[text]
        assert layout is not None
        buffers = func.buffers
        found = infer(func, {buffers[place]: layout})
        missing = [b for b in buffers if b not in found.maps and len(b.shape) > 0]
        if missing and not any(found.maps.get(b) is not None for b in buffers if b is not buffers[place]):
            return found.problems.get(missing[0], f"{missing[0].name} is not connected with {buffers[place].name}")
        result = [found.maps.get(b) for b in buffers]
        outputs = result[len(node.inputs) :]
        if any(o is None for o in outputs) and place < len(node.inputs):
            return found.problems.get(buffers[-1], f"{buffers[-1].name} takes no layout from {buffers[place].name}")
        return self._option(result[: len(node.inputs)], outputs)
