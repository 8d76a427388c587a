"""What layouts the operands and results of a node can have together, and the program for each choice.

A node whose layouts are frozen has the options that were named for it.  Any other has the plain one, and one more for
each layout that reaches it from a neighbour and that its program carries over (``infer``), or that a registered rule
proposes (``callbacks``).  Constants take any layout: they are packed in advance.

Layouts flow from results to operands first (Relax's choice: constants are operands, and most nodes have one result).
Where nothing below asks for a layout, as behind the last convolution, they flow on from operands to results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from verified_tir.graph.callbacks import Registered, registered
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.elide import REWRITES, needless_layouts
from verified_tir.graph.errors import GraphError
from verified_tir.graph.infer import infer
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.layouts import (
    PLAIN,
    Layout,
    index_map_of,
    layout_text,
    normal,
    padding_size,
    pads,
    room_of,
    serves,
    value_of,
    whole_tiles,
    with_value,
)
from verified_tir.graph.program import program_key, program_of
from verified_tir.graph.relayout import extents
from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, FloatImm, IfThenElse, IntImm, Load, Select, Undef
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import walk

MOST = 12
"""So many options of a node are looked at."""

Flow: TypeAlias = Literal["backward", "forward"]
"""``backward``: from results to operands, and on to results where nothing asks for a layout; ``forward``: from operands
to results only."""

Layouts: TypeAlias = tuple[Sequence[Layout], Sequence[Layout]]
"""Of a node's operands and of its results."""

Frozen: TypeAlias = "Layouts | list[Layouts]"
"""The layouts of a node, or several of which one is to be taken."""


@final
@dataclass(frozen=True, slots=True)
class Option:
    """Layouts of a node's operands and results, as texts (equal texts are equal layouts)."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@final
class Options:
    """The options of every node of a graph, found from the frozen ones by flowing layouts along the edges."""

    def __init__(self, graph: Graph, frozen: Mapping[Node, Frozen], flow: Flow = "backward") -> None:
        self.graph = graph
        self.layouts: dict[str, Layout] = {PLAIN: None}
        self.of: dict[Node, list[Option]] = {}
        self.problems: dict[Node, dict[str, str]] = {}
        """Why a layout does not pass through a node, by the layout."""
        self._programs: dict[object, PrimFunc] = {}
        self._moving: dict[object, bool] = {}
        self._inferred: dict[object, tuple[Option, ...] | str] = {}
        self._producer = graph.producer()
        self._consumers = graph.consumers()
        self.allowed = {n: self._allowed(n, f if isinstance(f, list) else [f]) for n, f in frozen.items()}
        """The options of the frozen nodes."""
        self._values = self._padding_values()
        for n in graph.nodes:
            self.of[n] = list(self.allowed.get(n, [plain_option(n)]))
        self._waiting: list[tuple[Node, Option]] = [(n, o) for n, options in self.allowed.items() for o in options]
        self._elided: dict[Node, set[Option]] = {}
        for n in graph.nodes:
            self._add_needless(n)
        self._flow(flow)

    @property
    def frozen(self) -> dict[Node, Option]:
        """The first option of each frozen node."""
        return {n: options[0] for n, options in self.allowed.items()}

    def _allowed(self, node: Node, layouts: list[Layouts]) -> list[Option]:
        if not layouts:
            raise GraphError(f"{node}: no layouts are named that it may have")
        for inputs, outputs in layouts:
            if len(inputs) != len(node.inputs) or len(outputs) != len(node.outputs):
                given = f"{len(inputs)} operands and {len(outputs)} results"
                raise GraphError(
                    f"{node} has {len(node.inputs)} operands and {len(node.outputs)} results; layouts of {given} "
                    "are frozen"
                )
        return list(dict.fromkeys(self.option(node, *both) for both in layouts))

    def _add_needless(self, node: Node) -> None:
        """Layouts with which a rewrite that stands in the graph does nothing."""
        if node in self.allowed:
            return
        for given, made in needless_layouts(node):
            option = self.option(node, [given, *[None] * (len(node.inputs) - 1)], [made])
            if option not in self.of[node]:
                self.of[node].append(option)
                self._elided.setdefault(node, set()).add(option)
                self._waiting.append((node, option))

    def is_elided(self, node: Node, option: Option) -> bool:
        """Whether a rewrite that stands in the graph does nothing with these layouts."""
        return option in self._elided.get(node, ())

    def own(self, cost: Callable[[Value], float]) -> Callable[[Node, Option], float]:
        """What a node costs by itself: the padding it stores; what a rewrite that stands in the graph moves."""

        def of(node: Node, option: Option) -> float:
            stands = node.op in REWRITES and node not in self.allowed and not self.is_elided(node, option)
            return self.filled(node, option) + (cost(node.inputs[0]) if stands else 0.0)

        return of

    def _padding_values(self) -> list[float | int]:
        """What padding is to hold, somewhere in the graph."""
        texts = [t for options in self.allowed.values() for o in options for t in (*o.inputs, *o.outputs)]
        return list(dict.fromkeys(v for t in texts if (v := value_of(self.layouts[t])) is not None))

    def option(self, node: Node, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> Option:
        """An option of a node.

        :raises GraphError: if the layouts are none of its operands and results.
        """
        try:
            return Option(
                tuple(self._text(m, v) for m, v in zip(inputs, node.inputs, strict=True)),
                tuple(self._text(m, v) for m, v in zip(outputs, node.outputs, strict=True)),
            )
        except GraphError as problem:
            raise GraphError(f"{node}: {problem}") from None

    def _text(self, layout: Layout, v: Value) -> str:
        index_map = index_map_of(layout)
        if index_map is not None and len(index_map.inputs) != v.rank:
            raise GraphError(f"{index_map} is a layout of {len(index_map.inputs)} dimensions; {v.name} is {v.type}")
        found = normal(layout, v.dims)
        text = layout_text(found)
        self.layouts.setdefault(text, found)
        return text

    def program(self, node: Node) -> PrimFunc:
        """The node's program; nodes of one kind share it."""
        key = program_key(node)
        if key not in self._programs:
            self._programs[key] = program_of(node)
        return self._programs[key]

    def carried(self, func: PrimFunc, maps: Mapping[Buffer, Layout]) -> dict[Buffer, Layout]:
        """Layouts of the local buffers, too, that go with those of the parameters."""
        known = {b: m for b, layout in maps.items() if (m := index_map_of(layout)) is not None}
        found = infer(func, known).maps
        return {**{b: m for b, m in found.items() if b not in func.buffers}, **maps}

    def of_program(self, node: Node, option: Option) -> dict[Buffer, Layout]:
        """The layouts of all buffers of a node's program with an option."""
        func = self.program(node)
        layouts = [self.layouts[t] for t in (*option.inputs, *option.outputs)]
        found = self.carried(func, {b: m for b, m in zip(func.buffers, layouts, strict=True) if m is not None})
        if any(room_of(m) is not None for m in layouts):
            local = [b for b in found if b not in func.buffers]
            found.update({b: whole_tiles(m, extents(b)) for b in local if (m := index_map_of(found[b])) is not None})
        return found

    def filled(self, node: Node, option: Option) -> float:
        """How many bytes of padding the node stores, that would not come out of its operands by themselves."""
        if any(value_of(self.layouts[t]) is not None for t in option.inputs):
            return 0.0
        return float(
            sum(
                padding_size(self.layouts[t], v.dims) * array_dtype(v.dtype).itemsize
                for v, t in zip(node.outputs, option.outputs, strict=True)
                if value_of(self.layouts[t]) is not None
            )
        )

    # -- flowing -----------------------------------------------------------------------------------------------------

    def _flow(self, flow: Flow) -> None:
        """From each option to the neighbours that it would suit."""
        if flow not in ("backward", "forward"):
            raise GraphError(f"layouts flow backward or forward, not {flow}")
        if flow == "backward":
            seen = list(self._waiting)
            while self._waiting:
                node, option = self._waiting.pop(0)
                seen += self._to_producers(node, option)
            self._waiting = seen
        while self._waiting:
            node, option = self._waiting.pop(0)
            if flow == "backward":
                self._to_producers(node, option)
            self._to_consumers(node, option)

    def _to_producers(self, node: Node, option: Option) -> list[tuple[Node, Option]]:
        made: list[tuple[Node, Option]] = []
        for v, text in zip(node.inputs, option.inputs, strict=True):
            producer = self._producer.get(v)
            if text != PLAIN and producer is not None:
                made += self._reached(producer, len(producer.inputs) + producer.outputs.index(v), text)
        self._waiting += made
        return made

    def _to_consumers(self, node: Node, option: Option) -> None:
        for v, text in zip(node.outputs, option.outputs, strict=True):
            for n in self._consumers.get(v, ()) if text != PLAIN else ():
                self._waiting += self._reached(n, n.inputs.index(v), text)

    def _reached(self, node: Node, place: int, text: str) -> list[tuple[Node, Option]]:
        """New options of a node, in which the operand or result at a place has a layout."""
        if any(0 in v.type.dims for v in (*node.inputs, *node.outputs)):
            self.problems.setdefault(node, {})[text] = "of a tensor without elements there is nothing to move"
            return []
        moves = self._only_moves(node)
        most = MOST if not moves else 2 * MOST
        if node in self.allowed or len(self.of[node]) >= most:
            return []
        if not moves and any(_texts(o)[place] == text for o in self.of[node]):
            return []
        inferred = self._inferred_options(node, place, text)
        found = [] if isinstance(inferred, str) else list(inferred)
        if moves:
            # all combinations would be too many: beside the plain one, those with most in another layout already
            there_too = sorted((*found, *self.of[node][1:]), key=lambda o: -len([t for t in _texts(o) if t != PLAIN]))
            found += [_with(o, place, text) for o in (*there_too[:2], self.of[node][0])]
        elif isinstance(inferred, str):
            self.problems.setdefault(node, {})[text] = inferred
            return []
        new = [o for o in dict.fromkeys(found) if o not in self.of[node]][: most - len(self.of[node])]
        self.of[node] += new
        return [(node, o) for o in new]

    def _only_moves(self, node: Node) -> bool:
        """Whether a node does nothing but move elements: then it may read and write them anywhere.

        What stands in another layout is brought there by the copy that is made anyway.
        """
        key = program_key(node)
        if key not in self._moving:
            self._moving[key] = registered(node) is None and only_moves(self.program(node))
        return self._moving[key]

    def _inferred_options(self, node: Node, place: int, text: str) -> tuple[Option, ...] | str:
        key = (program_key(node), place, text)
        if key not in self._inferred:
            self._inferred[key] = self._infer(node, place, text)
        return self._inferred[key]

    def _infer(self, node: Node, place: int, text: str) -> tuple[Option, ...] | str:
        layout = self.layouts[text]
        rule = registered(node)
        try:
            found = self._maps(node, place, layout) if rule is None else self._proposed(rule, node, place, layout)
            return found if isinstance(found, str) else self._with_padding(node, found, place, layout)
        except GraphError as problem:
            return str(problem).removeprefix(f"{node}: ")

    def _maps(self, node: Node, place: int, layout: Layout) -> list[IndexMap | None] | str:
        """The maps of operands and results that the program carries over from one of them."""
        func, index_map = self.program(node), index_map_of(layout)
        assert index_map is not None
        buffers = func.buffers
        found = infer(func, {buffers[place]: index_map})
        missing = [b for b in buffers if b not in found.maps and len(b.shape) > 0]
        if missing and not any(found.maps.get(b) is not None for b in buffers if b is not buffers[place]):
            others = [why for b, why in found.problems.items() if b not in found.maps]
            nothing = f"{missing[0].name} is not connected with {buffers[place].name}"
            return found.problems.get(missing[0], next(iter(others), nothing))
        result = [found.maps.get(b) for b in buffers]
        outputs = result[len(node.inputs) :]
        if any(o is None for o in outputs) and place < len(node.inputs):
            return found.problems.get(buffers[-1], f"{buffers[-1].name} takes no layout from {buffers[place].name}")
        return result

    def _proposed(self, rule: Registered, node: Node, place: int, layout: Layout) -> list[IndexMap | None] | str:
        """What a registered rule says; it is believed no more than what was inferred."""
        proposed = rule.layouts(node, place, layout)
        if proposed is None:
            return f"the rule that is registered for {rule.name} passes no layout on from {self._name(node, place)}"
        inputs, outputs = proposed
        option = self.option(node, inputs, outputs)  # ranks and shapes
        chosen = [self.layouts[t] for t in (*option.inputs, *option.outputs)]
        if not serves(layout_text(chosen[place]), layout_text(layout)):
            return f"the rule that is registered for {rule.name} gives {self._name(node, place)} another layout"
        return [index_map_of(m) for m in chosen]

    def _name(self, node: Node, place: int) -> str:
        return (*node.inputs, *node.outputs)[place].name

    def _with_padding(
        self, node: Node, maps: Sequence[IndexMap | None], place: int, layout: Layout
    ) -> tuple[Option, ...]:
        """Options with these maps: padding that may hold anything; results, or operands and results, with a value."""
        count = len(node.inputs)
        values = (*node.inputs, *node.outputs)
        whole = room_of(layout) is not None
        rooms: list[Layout] = [
            whole_tiles(m, v.dims) if whole and m is not None else m for m, v in zip(maps, values, strict=True)
        ]
        rooms[place] = with_value(layout, None, values[place].dims)

        def holding(operands: float | int | None, results: float | int | None) -> Option:
            own = [operands] * count + [results] * len(node.outputs)
            made = [with_value(m, p, v.dims) for m, p, v in zip(rooms, own, values, strict=True)]
            return self.option(node, made[:count], made[count:])

        found = [holding(None, None)]
        if any(pads(m, v.dims) for m, v in zip(rooms, values, strict=True)):
            value = value_of(layout)
            for p in self._values if value is None else [value]:
                found += [holding(p, p), holding(None, p)]
        return tuple(dict.fromkeys(found))


def _texts(option: Option) -> tuple[str, ...]:
    return (*option.inputs, *option.outputs)


def _with(option: Option, place: int, text: str) -> Option:
    """The option with another layout at one place."""
    texts = [*_texts(option)]
    texts[place] = text
    return Option(tuple(texts[: len(option.inputs)]), tuple(texts[len(option.inputs) :]))


def only_moves(func: PrimFunc) -> bool:
    """Whether a program stores nothing but elements that it reads, and constants."""
    stores = [n for n in walk(func.body) if isinstance(n, Store)]
    written = {s.buffer for s in stores}
    return bool(stores) and all(_is_moved(s.value, written) for s in stores)


def _is_moved(e: Expr, written: set[Buffer]) -> bool:
    match e:
        case Load(buffer=b):
            return b not in written
        case IfThenElse(true_value=a, false_value=b) | Select(true_value=a, false_value=b):
            return _is_moved(a, written) and _is_moved(b, written)
        case IntImm() | FloatImm() | Undef():
            return True
    return False


def plain_option(node: Node) -> Option:
    """Everything as its indices say."""
    return Option((PLAIN,) * len(node.inputs), (PLAIN,) * len(node.outputs))
