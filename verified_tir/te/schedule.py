"""Schedules of tensor expressions, as TVM's ``te.create_schedule`` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.te.errors import TEError
from verified_tir.te.function import operations
from verified_tir.te.reduction import domain
from verified_tir.te.stage import Directive, Stage, StageOp, caller
from verified_tir.te.tensor import ComputeOp, Operation, Tensor, placed


@final
class TESchedule:
    """How the operations that some tensors need are computed; ``s[T]`` is the stage of ``T``.

    :ivar stages: every operation, each after those that it uses.
    """

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self.outputs = tuple(outputs)
        self.stages: list[Stage] = []
        self.dataflow: list[tuple[Stage, Stage, Directive]] = []
        """cache_read, cache_write and rfactor in the order of their calls: the stage, the new stage, the call."""
        self._by_buffer: dict[Buffer, Stage] = {}
        for op in operations(outputs):
            if isinstance(op, ComputeOp):
                extents = {a: domain(a)[1] for a in op.reduce_axis}
                self._add(op.output(0), StageOp(op.name, op.axis, op.reduce_axis), op.buffers, extents)
            else:
                for t in _read(op, outputs):
                    self._add_input(t)

    def _add(
        self,
        tensor: Tensor,
        op: StageOp,
        buffers: Sequence[Buffer],
        extents: dict[Var, Expr],
        before: Stage | None = None,
    ) -> Stage:
        stage = Stage(self, tensor, op, dict(zip(op.axis, tensor.shape, strict=True)) | extents)
        self.stages.insert(len(self.stages) if before is None else self.stages.index(before), stage)
        for b in buffers:
            self._by_buffer[b] = stage
        return stage

    def _add_input(self, t: Tensor) -> None:
        self._by_buffer[t.buffer] = stage = Stage(self, t, StageOp(t.name, [], []), {})
        self.stages.append(stage)

    def __getitem__(self, tensor: Tensor | Operation) -> Stage:
        """The stage of a tensor, or of an operation (``B.op``).

        :raises TEError: if the schedule has none.
        """
        if isinstance(tensor, Tensor):
            found = self._by_buffer.get(tensor.buffer)
        else:
            found = next((s for s in self.stages if s.tensor.op is tensor), None)
        if found is None:
            name = getattr(tensor, "name", repr(tensor))
            have = ", ".join(s.name for s in self.stages)
            raise TEError(f"{name} has no stage in this schedule; there are {have}")
        return found

    def cache_read(self, tensor: Tensor, scope: str, readers: Sequence[Tensor | Operation]) -> Tensor:
        """Let the readers use a copy of a tensor in a storage scope; gives the copy."""
        source = self[tensor]
        stages = [self[r] for r in ([readers] if isinstance(readers, Tensor) else readers)]
        if not stages:
            raise TEError(f"cache_read({tensor.name}) needs a reader")
        axes = tuple(Var.fresh(f"ax{k}") for k in range(tensor.ndim))
        copy = self._copy(tensor, f"{tensor.name}.{scope}", axes, {})
        text = f"s.cache_read({tensor.name}, {scope!r}, [{', '.join(s.name for s in stages)}])"
        call = Directive("cache_read", (tensor, scope, tuple(stages)), (), text, caller())
        first = min(stages, key=self.stages.index)
        made = self._add(copy, StageOp(copy.name, list(axes), []), (copy.buffer,), {}, first)
        self.dataflow.append((source, made, call))
        return copy

    def cache_write(self, tensor: Tensor, scope: str) -> Tensor:
        """Compute a tensor in a copy in a storage scope, and store it from there; gives the copy.

        The copy takes over the reduction; the stage of the tensor keeps its axes and only stores.
        """
        source = self[tensor]
        source._computed("cache_write")
        if source.directives or source.attach or source.inlined:
            raise TEError(f"cache_write({tensor.name}) comes before other directives for {tensor.name}")
        axes = tuple(Var.fresh(f"{a.name}_c") for a in source.op.axis)
        copy = self._copy(tensor, f"{tensor.name}.{scope}", axes, {})
        call = Directive("cache_write", (tensor, scope), (), f"s.cache_write({tensor.name}, {scope!r})", caller())
        extents = {a: source.extents[a] for a in source.op.reduce_axis}
        made = self._add(copy, StageOp(copy.name, list(axes), source.op.reduce_axis), (copy.buffer,), extents, source)
        source.op = StageOp(source.op.name, source.op.axis, [])
        source.leaf_iter_vars = list(source.op.axis)
        source.roots = list(source.op.axis)
        self.dataflow.append((source, made, call))
        return copy

    def rfactor(self, tensor: Tensor, axis: Var, factor_axis: int = 0, *, reassociate: bool = False) -> Tensor:
        """One partial result for each iteration of a reduction axis, then the reduction of these; gives the partial
        results, a tensor with that axis as dimension ``factor_axis``.

        :param reassociate: the user's word that a sum of floats may be rounded in another order; the theorem names it.
        """
        source = self[tensor]
        source._check([axis])
        laid_out = next((d for d in source.directives if d.name == "transform_layout"), None)
        if laid_out is not None:
            raise TEError(f"rfactor({tensor.name}) comes before {laid_out.text} ({laid_out.line})")
        rank = tensor.ndim
        if not -rank - 1 <= factor_axis <= rank:
            raise TEError(f"rfactor({tensor.name}): the result has {rank + 1} dimensions, factor_axis is {factor_axis}")
        place = factor_axis if factor_axis >= 0 else factor_axis + rank + 1
        spatial = [Var.fresh(f"{a.name}_rf") for a in source.op.axis]
        axes = (*spatial[:place], Var.fresh(axis.name), *spatial[place:])
        left = [v for v in source.leaf_iter_vars if v not in source.op.axis and v is not axis]
        copy = self._copy(tensor, f"{tensor.name}.rf", axes, {axes[place]: source.extents[axis]})
        text = f"s.rfactor({tensor.name}, {axis.name}, {factor_axis})"
        call = Directive(
            "rfactor", (axis, place, reassociate, len(source.directives), tuple(source.roots)), (), text, caller()
        )
        extents = {a: source.extents[a] for a in left}
        made = self._add(copy, StageOp(copy.name, list(axes), left), (copy.buffer,), extents, source)
        rest = Var.fresh(f"{axis.name}_v")
        source.extents[rest] = source.extents[axis]
        source.op = StageOp(source.op.name, source.op.axis, [rest])
        source.settled = len(source.directives)
        source.leaf_iter_vars = [*source.op.axis, rest]
        source.roots = list(source.leaf_iter_vars)
        self.dataflow.append((source, made, call))
        return copy

    def _copy(self, tensor: Tensor, name: str, axes: tuple[Var, ...], extra: dict[Var, Expr]) -> Tensor:
        """A handle for a tensor that a directive brings in."""
        others = tuple(a for a in axes if a not in extra)
        sizes = dict(zip(others, tensor.shape, strict=True)) | extra
        shape = tuple(sizes[a] for a in axes)
        buffer = Buffer.declare(name, shape, tensor.buffer.dtype)
        value = Load(tensor.buffer, others)
        return placed(ComputeOp(name, axes, shape, (value,), None, (buffer,), (tensor,)), 0, buffer)

    def normalize(self) -> TESchedule:
        """The schedule itself; TVM's needs this call."""
        return self


def _read(op: Operation, outputs: Sequence[Tensor]) -> list[Tensor]:
    """The tensor of a placeholder, as the operations that read it hold it."""
    found = [t for t in outputs if t.op is op]
    for other in operations(outputs):
        if isinstance(other, ComputeOp):
            found += [t for t in other.inputs if t.op is op]
    return found[:1]


def create_schedule(ops: Operation | Tensor | Sequence[Operation | Tensor]) -> TESchedule:
    """A schedule of the operations that compute the given ones (``B.op``, or ``B``)."""
    given = list(ops) if isinstance(ops, (list, tuple)) else [ops]
    outputs: list[Tensor] = []
    for o in given:
        if isinstance(o, Tensor):
            outputs.append(o)
        elif isinstance(o, ComputeOp):
            outputs += [o.output(k) for k in range(o.num_outputs)]
        else:
            raise TEError(f"create_schedule takes operations (B.op) that compute something, not {o!r}")
    return TESchedule(outputs)
