"""Running graphs: by the interpreter, node by node, or compiled to one callable.

Every node is a program; every program is proved to have a meaning before it is compiled.  Nodes with one program (the
same operator, attributes and types) share its theorem and its code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from verified_tir.codegen.build import build as build_function
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.runtime import Function
from verified_tir.codegen.target import Target
from verified_tir.elaborate.contraction import contracted, contracted_buffers
from verified_tir.graph.element_types import array_dtype, held
from verified_tir.graph.epilogues import with_epilogues
from verified_tir.graph.errors import GraphError
from verified_tir.graph.external import called_outside, passed_outside
from verified_tir.graph.ir import Array, Graph, Node, Value
from verified_tir.graph.memory import Placement, Workspaces, aligned, empty, enough, place
from verified_tir.graph.parallel import run_in_parallel
from verified_tir.graph.program import program_key, program_of
from verified_tir.graph.schedules import Scheduled, scheduled
from verified_tir.graph.sizes import dim_text, symbols_of, value
from verified_tir.ir.expr import Var
from verified_tir.kernel.theorem import Refines
from verified_tir.lower.vectorize_loop import VECTORS
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.semantics.interpreter import run

Progress = Callable[[int, int, str], None]
"""Called with how many nodes are done, of how many, and the next one."""


def evaluate(
    graph: Graph,
    inputs: Mapping[str, Any] | Sequence[Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    contract: bool = False,
) -> list[Array]:
    """The results by the interpreter, which defines them, in arrays of their own; slow.

    :param functions: what programs call from outside, by name, where such a call is all that a program does: each gets
        the arrays of its call, and writes the results.
    :param contract: as for :func:`build`.
    """
    values = evaluate_all(graph, inputs, functions, contract=contract)
    return [values[v].view(array_dtype(v.dtype)).copy() for v in graph.outputs]


def evaluate_all(
    graph: Graph,
    inputs: Mapping[str, Any] | Sequence[Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    contract: bool = False,
) -> dict[Value, Array]:
    """Every value of a graph, as :func:`evaluate` computes them."""
    given, sizes = _given(graph, inputs)
    values = {**{v: held(a) for v, a in graph.constants.items()}, **given}
    for node in graph.nodes:
        func = program_of(node)
        arrays = [*(values[v] for v in node.inputs), *(empty(v.type.at(sizes)) for v in node.outputs)]
        if functions is not None and (name := called_outside(func)) is not None:
            if name not in functions:
                raise GraphError(f"{node} calls {name}, which is not among the functions: {', '.join(functions)}")
            functions[name](*(arrays[k] for k in passed_outside(func)))
            values.update(zip(node.outputs, arrays[len(node.inputs) :], strict=True))
            continue
        func = contracted(func) if contract else func
        names = [b.name for b in func.buffers]
        ended = run(func, dict(zip(names, arrays, strict=True)))
        values.update(zip(node.outputs, (ended.arrays[n] for n in names[len(node.inputs) :]), strict=True))
    return values


@final
@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled graph: ``f(x, y)`` or ``f(x=…, y=…)`` gives the results, an array or a list of them.

    Sizes that are open are those of the inputs, anew in each call.  What flows between nodes stands in memory that is
    made at the first call (of these sizes) and kept; calls at the same time, from several threads, have memory of their
    own each.
    """

    graph: Graph
    code: tuple[tuple[Node, Callable[..., None]], ...]
    theorems: tuple[Refines, ...]
    """One for each different program: what is run refines what the node means."""
    refused: tuple[str, ...] = ()
    """Steps of schedules that were refused: these parts run as they are written, which may be slow."""
    _constants: Mapping[Value, Array] = field(default_factory=dict, repr=False)
    _packed: Mapping[tuple[Node, int], Array] = field(default_factory=dict, repr=False)
    """Constants in the layout that a node's code takes, by the place of the operand."""
    _workspaces: Workspaces = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_workspaces", Workspaces(self.graph))

    @property
    def contracted(self) -> tuple[str, ...]:
        """The nodes in whose sums products are not rounded by themselves."""
        return tuple(str(n) for n, f in self.code if isinstance(f, Function) and contracted_buffers(f.theorem.start))

    @property
    def placement(self) -> Placement:
        """Which values share memory.

        :raises GraphError: if sizes are open; ``graph.memory.place`` takes them.
        """
        return place(self.graph)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        if args and named:
            raise TypeError(f"{self.graph.name} takes its inputs by position or by name, not both")
        results = self.run(named or args)
        return results[0] if len(results) == 1 else results

    def run(
        self, inputs: Mapping[str, Any] | Sequence[Any], watch: Callable[[Node], None] | None = None
    ) -> list[Array]:
        """The results, in arrays of their own.

        :param watch: called before each node runs.
        :raises GraphError: if the inputs are not those of the graph.
        """
        given, sizes = _given(self.graph, inputs)
        workspace = self._workspaces.take(sizes)
        results = {
            v: empty(v.type.at(sizes)) for v in self.graph.outputs if v not in given and v not in self._constants
        }
        values = {**self._constants, **workspace.arrays, **given, **results}
        packed = self._packed
        for node, function in self.code:
            if watch is not None:
                watch(node)
            operands = [packed[node, k] if (node, k) in packed else values[v] for k, v in enumerate(node.inputs)]
            function(*operands, *(values[v] for v in node.outputs))
        self._workspaces.give_back(workspace)
        found = [results.pop(v) if v in results else values[v].copy() for v in self.graph.outputs]
        return [a.view(array_dtype(v.dtype)) for v, a in zip(self.graph.outputs, found, strict=True)]


def build(
    graph: Graph,
    *,
    threads: int | None = 1,
    schedules: bool = True,
    contract: bool = False,
    progress: Progress | None = None,
) -> Executable:
    """Prove that every node has a meaning, schedule its program, and compile it.

    Nodes with one program share theorem and code.  Verdicts and machine code are kept on disk, as for any schedule.

    :param threads: on how many threads large nests run; on all that the process may use if ``None``.
    :param schedules: whether programs get vectors and register tiles (``graph.schedules``), each step proved; without
        them they run as they are written.
    :param contract: in every sum of products, a product that is added is not rounded by itself (a fused multiply-add,
        see :func:`~verified_tir.elaborate.contraction.contracted`); the theorems are about these programs.  Terms that
        are a product or something else (``nn.conv2d_transpose``) stay.
    :raises GraphError: if a node is not a legal program, or cannot be compiled (the message names it), or if the graph
        takes more memory than there is.
    """
    if schedules:
        graph = with_epilogues(graph)
    if not graph.symbols:
        enough(graph, place(graph))
    made: dict[Any, _Compiled] = {}
    code: list[tuple[Node, Callable[..., None]]] = []
    packed: dict[tuple[Node, int], Array] = {}
    layouts: dict[tuple[Value, Any, int], Array] = {}
    for k, node in enumerate(graph.nodes):
        if progress is not None:
            progress(k, len(graph.nodes), str(node))
        known = tuple(v in graph.constants for v in node.inputs)
        key = program_key(node), known
        if key not in made:
            made[key] = _compiled(node, known, threads, schedules, contract)
        found = made[key]
        code.append((node, found.function))
        for which in found.moved:
            v = node.inputs[which]
            if (v, key, which) not in layouts:
                layouts[v, key, which] = aligned(found.pack(which, held(graph.constants[v])))
            packed[node, which] = layouts[v, key, which]
    refused = tuple(f"{c.where}: {why}" for c in made.values() for why in c.refused)
    theorems = tuple(c.function.theorem for c in made.values())
    used = {v for n in graph.nodes for k, v in enumerate(n.inputs) if (n, k) not in packed} | {*graph.outputs}
    plain = {v: aligned(held(a)) for v, a in graph.constants.items() if v in used}
    return Executable(graph, tuple(code), theorems, refused, plain, packed)


@final
@dataclass(frozen=True, slots=True)
class _Compiled:
    """The code of a program, which of its parameters are packed, and what was refused on the way."""

    where: str
    function: Function
    moved: tuple[int, ...]
    refused: tuple[str, ...]

    def pack(self, which: int, array: Array) -> Array:
        """An operand as the code takes it."""
        return self.function.pack(self.function.theorem.before.buffers[which].name, array)


def _compiled(node: Node, known: Sequence[bool], threads: int | None, schedules: bool, contract: bool) -> _Compiled:
    """The code of a node's program; operands that are known when it is compiled may be packed."""
    try:
        func = contracted(program_of(node)) if contract else program_of(node)
        if not schedules:
            return _Compiled(str(node), build_function(Schedule(func), threads=threads), (), ())
        constants = [b.name for b, k in zip(func.buffers, known, strict=False) if k]
        made = scheduled(func, constants)
        refused = run_in_parallel(made.schedule, Target.host(threads).threads)
        made = Scheduled(made.schedule, (*made.refused, *refused))
        try:
            function = build_function(made.schedule, threads=threads, pipeline=VECTORS)
        except (ScheduleError, CodegenError) as problem:  # then without, if that is possible
            made = Scheduled(Schedule(func), (*made.refused, str(problem)))
            function = build_function(made.schedule, threads=threads)
    except ScheduleError as problem:
        raise GraphError(f"{node} is not a legal program: {problem}") from problem
    except CodegenError as problem:
        raise GraphError(f"{node} cannot be compiled: {problem}") from problem
    after = function.theorem.after.buffers
    moved = tuple(
        k for k, (b, a) in enumerate(zip(func.buffers, after, strict=True))
        if len(b.shape) != len(a.shape) or any(m is not n for m, n in zip(b.shape, a.shape, strict=True))
    )  # fmt: skip
    return _Compiled(str(node), function, moved, made.refused)


def _given(graph: Graph, inputs: Mapping[str, Any] | Sequence[Any]) -> tuple[dict[Value, Array], dict[Var, int]]:
    """The arrays of inputs, and the sizes that were open.

    :raises GraphError: if an input is missing, unknown, or has another type; or if sizes do not go together.
    """
    if isinstance(inputs, Mapping):
        names = {v.name for v in graph.inputs}
        wrong = [
            *(f"{n} is missing" for n in sorted(names - {*inputs})),
            *(f"there is no {n}" for n in inputs if n not in names),
        ]
        if wrong:
            raise GraphError(f"inputs of {graph.name}: {', '.join(wrong)}")
        arrays = [inputs[v.name] for v in graph.inputs]
    else:
        arrays = list(inputs)
        if len(arrays) != len(graph.inputs):
            raise GraphError(f"{graph.name} has {len(graph.inputs)} inputs and is given {len(arrays)}")
    found: dict[Value, Array] = {}
    sizes: dict[Var, int] = {}
    for v, given in zip(graph.inputs, arrays, strict=True):
        if isinstance(given, np.ma.MaskedArray):
            raise GraphError(f"the input {v.name} is a masked array, and masks have no meaning here")
        array = np.require(given, requirements=["C", "ALIGNED", "ENSUREARRAY"])
        if len(array.shape) != len(v.dims) or array.dtype != array_dtype(v.dtype):
            raise GraphError(f"the input {v.name} is {array.dtype}{list(array.shape)}, not {v.type}")
        for e, n in zip(v.dims, array.shape, strict=True):
            if isinstance(e, Var):
                sizes.setdefault(e, n)
        found[v] = held(array)
    for v, array in found.items():
        if array.shape != v.type.at(sizes).dims:
            where = ", ".join(f"{e.name} = {sizes[e]}" for e in symbols_of(v.dims))
            raise GraphError(
                f"the input {v.name} is {v.dtype}{list(array.shape)}, not {v.type}{where and f' where {where}'}"
            )
    for e, other in graph.zero_with:
        if value(e, sizes) == 0 != value(other, sizes):
            raise GraphError(
                f"{graph.name} does not run where {dim_text(e)} is 0 and {dim_text(other)} is not: an extent of 0 "
                "means another one in its model, which is read with the sizes given then"
            )
    return found, {e: sizes[e] for e in graph.symbols}
