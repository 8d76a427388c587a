"""Stages: how each operation of a schedule is computed.

A directive is written down when it is given and carried out by :func:`verified_tir.te.lower`: only then are the
arguments known, and only then can be proved what it owes.  What needs no proof is checked at once: that an axis is one
of the stage, that it has not been split away, that factors are positive.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars
from verified_tir.te.errors import TEError
from verified_tir.te.tensor import PlaceholderOp, Tensor

if TYPE_CHECKING:
    from verified_tir.te.schedule import TESchedule

MARKS = ("vectorize", "parallel", "unroll", "bind")
"""Directives that say how a loop runs."""

MapLike: TypeAlias = "IndexMap | Callable[..., Any]"

_PACKAGE = str(Path(__file__).parent)


@final
@dataclass(frozen=True, slots=True)
class Thread:
    """A thread index to bind an axis to: ``te.thread_axis("threadIdx.x")``."""

    tag: str


def thread_axis(dom: Any = None, tag: str = "", name: str = "") -> Thread:
    """The thread index called ``tag`` (``blockIdx.x``, ``threadIdx.y``, …); its extent is that of the axis bound to it.

    ``te.thread_axis("threadIdx.x")`` and TVM's ``te.thread_axis((0, 32), "threadIdx.x")`` are both understood.
    """
    del name
    found = dom if isinstance(dom, str) else tag
    if not found:
        raise TEError('thread_axis needs the name of a thread index, such as "threadIdx.x"')
    return Thread(found)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Directive:
    """What was asked for, with the axes it makes; ``text`` and ``line`` are for messages."""

    name: str
    arguments: tuple[Any, ...]
    made: tuple[Var, ...]
    text: str
    line: str


@final
@dataclass(frozen=True, slots=True)
class StageOp:
    """The axes of a stage as it stands: another than the tensor's own after cache_write and rfactor."""

    name: str
    axis: list[Var]
    reduce_axis: list[Var]


@final
@dataclass(eq=False, slots=True)
class Stage:
    """How one operation is computed; ``s[T]`` gives it."""

    schedule: TESchedule
    tensor: Tensor
    op: StageOp
    extents: dict[Var, Expr]
    leaf_iter_vars: list[Var] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    attach: tuple[Stage, Var, Directive] | None = None
    inlined: Directive | None = None
    scoped: Directive | None = None
    roots: list[Var] = field(default_factory=list)
    layout: tuple[Expr, ...] = ()
    """The shape of the buffer as it is laid out now."""
    made_from: dict[Var, frozenset[Var]] = field(default_factory=dict)
    """Of which axes of ``op`` an axis consists that split or fuse made."""
    settled: int = 0
    """So many directives belong to an rfactor and stay."""

    def __post_init__(self) -> None:
        self.leaf_iter_vars = [*self.op.axis, *self.op.reduce_axis]
        self.roots = list(self.leaf_iter_vars)
        self.layout = self.tensor.shape

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def is_placeholder(self) -> bool:
        return isinstance(self.tensor.op, PlaceholderOp)

    def __repr__(self) -> str:
        return f"stage({self.name}: {', '.join(v.name for v in self.leaf_iter_vars)})"

    # -- loops -------------------------------------------------------------------------------------------------------

    def split(self, parent: Var, factor: int | None = None, nparts: int | None = None) -> tuple[Var, Var]:
        """Split an axis in two: the inner one of ``factor`` iterations, or the outer one of ``nparts``.

        Where the extent is not a multiple, the rest is guarded.

        :raises TEError: unless exactly one positive number is given.
        """
        if (factor is None) == (nparts is None):
            raise TEError(f"{self.name}: split takes either factor or nparts")
        for n in (factor, nparts):
            if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
                raise TEError(f"{self.name}: split takes a positive number, not {n!r}")
        outer, inner = Var.fresh(f"{parent.name}_outer"), Var.fresh(f"{parent.name}_inner")
        said = f"factor={factor}" if nparts is None else f"nparts={nparts}"
        self._check([parent])
        whole, part = self.extents[parent], const(factor or nparts or 1)
        other = (whole + part - 1) // part
        self.extents[outer], self.extents[inner] = (other, part) if nparts is None else (part, other)
        self._loops("split", (parent, factor, nparts), [parent], [outer, inner], f"{parent.name}, {said}")
        return outer, inner

    def fuse(self, *axes: Var) -> Var:
        """Make one axis of several that follow each other."""
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = tuple(axes[0])
        if len(axes) < 2:
            raise TEError(f"{self.name}: fuse takes two axes or more")
        self._check(axes)
        first = self.leaf_iter_vars.index(axes[0])
        if self.leaf_iter_vars[first : first + len(axes)] != list(axes):
            order = ", ".join(v.name for v in self.leaf_iter_vars)
            raise TEError(f"{self.name}: fuse takes axes that follow each other; the loops are {order}")
        made = Var.fresh("_".join([*(a.name for a in axes), "fused"]))
        self.extents[made] = math.prod((self.extents[a] for a in axes), start=const(1))
        self._loops("fuse", axes, axes, [made], ", ".join(a.name for a in axes))
        return made

    def reorder(self, *axes: Var) -> None:
        """Give the axes this order, in the places that they have."""
        self._check(axes)
        if len(set(axes)) != len(axes):
            raise TEError(f"{self.name}: reorder lists an axis twice")
        places = sorted(self.leaf_iter_vars.index(a) for a in axes)
        for place, axis in zip(places, axes, strict=True):
            self.leaf_iter_vars[place] = axis
        self._note("reorder", axes, (), ", ".join(a.name for a in axes))

    def tile(self, x_parent: Var, y_parent: Var, x_factor: int, y_factor: int) -> tuple[Var, Var, Var, Var]:
        """Two splits and a reorder: outer x, outer y, inner x, inner y."""
        xo, xi = self.split(x_parent, x_factor)
        yo, yi = self.split(y_parent, y_factor)
        self.reorder(xo, yo, xi, yi)
        return xo, yo, xi, yi

    def vectorize(self, axis: Var) -> None:
        """Run the iterations of an axis as lanes of vectors."""
        self._mark("vectorize", axis)

    def parallel(self, axis: Var) -> None:
        """Run the iterations of an axis on several threads."""
        self._mark("parallel", axis)

    def unroll(self, axis: Var) -> None:
        """Write the iterations of an axis one after the other."""
        self._mark("unroll", axis)

    def bind(self, axis: Var, thread: Thread | str) -> None:
        """Let a thread index run through an axis."""
        tag = thread.tag if isinstance(thread, Thread) else thread
        self._mark("bind", axis, tag)

    # -- where -------------------------------------------------------------------------------------------------------

    def compute_at(self, parent: Stage, scope: Var) -> None:
        """Compute what an iteration of an axis of a consumer needs in that iteration."""
        self._computed("compute_at")
        parent._check([scope])
        text = f"s[{parent.name}], {scope.name}"
        self.attach = (parent, scope, self._directive("compute_at", (parent, scope), (), text))
        self.inlined = None

    def compute_inline(self) -> None:
        """Compute the elements where they are used; nothing is stored."""
        self._computed("compute_inline")
        if self.tensor in self.schedule.outputs:
            raise TEError(f"{self.name} is a result of the schedule and cannot be inlined")
        self.inlined = self._directive("compute_inline", (), (), "")
        self.attach = None

    def compute_root(self) -> None:
        """Compute the whole tensor before its consumers, as at first."""
        self.attach = self.inlined = None

    def set_scope(self, scope: str) -> None:
        """Let the tensor live in a storage scope (``"local"``, ``"shared"``, …)."""
        self._computed("set_scope")
        self.scoped = self._directive("set_scope", (scope,), (), repr(scope))

    def transform_layout(self, mapping_function: MapLike, pad_value: Any = None) -> list[Var]:
        """Move the elements of the tensor in memory: where they are in terms of the tensor's indices (RFC 39).

        The loops of a computed tensor follow its new layout; the new axes are returned, outermost first.  Of an input
        only the accesses change, and nothing is returned.  ``AXIS_SEPARATOR`` among the results divides the axes into
        those of the flattened buffer.

        A further call maps the indices of the layout so far, and its loops replace those that are there.  So do the
        loops of a first call, if the axes were split, fused or reordered before.

        :param pad_value: what stands in places that belong to no element.
        :raises TEError: if a loop that is replaced was marked, fused with a reduction, or is one where another stage is
            computed.
        """
        rank = len(self.layout)
        index_map = (
            mapping_function if isinstance(mapping_function, IndexMap) else IndexMap.from_func(mapping_function, rank)
        )
        made = [] if self.is_placeholder else [Var.fresh(n) for n in _names(index_map)]
        if not self.is_placeholder:
            self._replace_axes(made)
        self.layout = index_map.padded_shape(self.layout)
        self.extents.update(zip(made, self.layout, strict=False))
        order = tuple(self.leaf_iter_vars)
        self._note("transform_layout", (index_map, pad_value, order), made, str(index_map))
        return made

    def _replace_axes(self, made: list[Var]) -> None:
        """Loops over a new layout in place of the loops over the elements, whatever these were made into.

        What was said about the order and the parts of the old loops has no effect any more, so it is left out; what
        rests on one of them is refused.
        """
        own = set(self.op.axis)
        gone = [v for v in self.leaf_iter_vars if self._parts(v) & own]
        for v in gone:
            if not self._parts(v) <= own:
                raise TEError(
                    f"{self.name}: transform_layout replaces the loops over the elements, and {v.name} is fused with "
                    "a reduction; fuse after transform_layout"
                )
        for d in self.directives[self.settled :]:
            if d.name in MARKS and self._parts(d.arguments[0]) & own:
                raise TEError(
                    f"{d.text} ({d.line}) is about a loop that transform_layout replaces; call {d.name} after it, with "
                    "one of the axes that it returns"
                )
        for s in self.schedule.stages:
            if s.attach is not None and s.attach[0] is self and s.attach[1] in gone:
                call = s.attach[2]
                raise TEError(
                    f"{call.text} ({call.line}) is about a loop that transform_layout replaces; call compute_at after "
                    "it, with one of the axes that it returns"
                )
        self.directives[self.settled :] = [d for d in self.directives[self.settled :] if not self._only_loops(d, own)]
        first = self.leaf_iter_vars.index(gone[0]) if gone else 0
        rest = [v for v in self.leaf_iter_vars if v not in gone]
        self.leaf_iter_vars = [*rest[:first], *made, *rest[first:]]
        self.op = StageOp(self.op.name, made, self.op.reduce_axis)

    def _only_loops(self, d: Directive, axes: set[Var]) -> bool:
        """Whether a directive is about the order of loops, or the parts of some of these axes."""
        return d.name == "reorder" or (d.name in ("split", "fuse") and bool(self._parts(d.arguments[0]) & axes))

    def _parts(self, axis: Var) -> frozenset[Var]:
        return self.made_from.get(axis, frozenset({axis}))

    # -- writing down ------------------------------------------------------------------------------------------------

    def _computed(self, what: str) -> None:
        if self.is_placeholder:
            raise TEError(f"{self.name} is an input: {what} needs a computed tensor")

    def _check(self, axes: Sequence[Var]) -> None:
        for a in axes:
            if not isinstance(a, Var) or a not in self.leaf_iter_vars:
                name = a.name if isinstance(a, Var) else repr(a)
                have = ", ".join(v.name for v in self.leaf_iter_vars) or "none"
                raise TEError(f"{name} is not a loop of {self.name}, or was split or fused; its loops are {have}")

    def _loops(self, name: str, arguments: Sequence[Any], old: Sequence[Var], made: Sequence[Var], text: str) -> None:
        self._check(old)
        first = self.leaf_iter_vars.index(old[0])
        self.leaf_iter_vars[first : first + len(old)] = made
        self.made_from.update(dict.fromkeys(made, frozenset().union(*(self._parts(v) for v in old))))
        self._note(name, arguments, made, text)

    def _mark(self, name: str, axis: Var, *more: str) -> None:
        self._check([axis])
        self._note(name, (axis, *more), (), ", ".join([axis.name, *more]))

    def _note(self, name: str, arguments: Sequence[Any], made: Sequence[Var], text: str) -> None:
        self.directives.append(self._directive(name, arguments, made, text))

    def _directive(self, name: str, arguments: Sequence[Any], made: Sequence[Var], text: str) -> Directive:
        said = f"s[{self.name}].{name}({text})"
        return Directive(name, tuple(arguments), tuple(made), said, caller())


def caller() -> str:
    """File and line of the user's call."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _names(index_map: IndexMap) -> list[str]:
    """Names for the loops over a layout: of the indices that make up an output, ``i_outer`` for ``i // 4``."""
    found: list[str] = []
    for k, e in enumerate(index_map.outputs):
        used = list(dict.fromkeys(v.name for v in free_vars(e)))
        name = "_".join(used) or f"ax{k}"
        match e:
            case Binary(op="floordiv", a=Var(), b=IntImm()):
                name += "_outer"
            case Binary(op="floormod", a=Var(), b=IntImm()):
                name += "_inner"
        while name in found:
            name += "_"
        found.append(name)
    return found
