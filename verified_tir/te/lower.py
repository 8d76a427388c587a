"""From a schedule of tensor expressions to a theorem: each directive becomes primitives, which the kernel proves.

The program that defines the tensors (``create_prim_func``) is the left side.  The directives are carried out in an
order in which each finds what it speaks of: new tensors first (cache_read, cache_write, rfactor, transform_layout, with
the splits that they need), then inlining, then each stage from the results back to the inputs (its place, then its
loops), and at last what says how loops run, since race freedom is about the final loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.kernel.theorem import Refines
from verified_tir.lower.apply_layout_transforms import ApplyLayoutTransforms
from verified_tir.lower.passes import Pipeline
from verified_tir.lower.pipelines import PIPELINES
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.tactics.captured import rebound
from verified_tir.te.errors import TEError
from verified_tir.te.function import Argument, block_names, create_prim_func, operations
from verified_tir.te.schedule import TESchedule
from verified_tir.te.stage import MARKS, Directive, Stage
from verified_tir.te.tensor import ComputeOp, Tensor


def lower(
    schedule: TESchedule,
    args: Sequence[Argument],
    name: str = "main",
    simple_mode: bool = False,
    *,
    attrs: Mapping[str, Any] | None = None,
) -> Refines:
    """The theorem that the scheduled program computes what the tensors are defined to be.

    :param args: the parameters in order: inputs, results, and variables that are to be scalar parameters.
    :param simple_mode: stop before buffers are flattened (TVM's option).
    :param attrs: attributes of the function, as for :func:`create_prim_func`.  The layouts in ``layout_transform_map``
        are applied after the directives; unlike those of ``transform_layout``, loops do not follow them.
    :raises TEError: if a directive cannot be proved or does not apply; the message names it and where it was given.
    :raises ScheduleError: if a layout of ``layout_transform_map`` is refused.
    """
    theorem = to_schedule(schedule, args, name, attrs=attrs).theorem
    return (Pipeline(ApplyLayoutTransforms()) if simple_mode else PIPELINES["layout"])(theorem)


def to_schedule(
    schedule: TESchedule, args: Sequence[Argument], name: str = "main", *, attrs: Mapping[str, Any] | None = None
) -> Schedule:
    """The same as a :class:`~verified_tir.Schedule`, on which other primitives can go on.

    A ``layout_transform_map`` among the attributes stays one, until the schedule is lowered.
    """
    return _Lowering(schedule, args, name, attrs).run()


@final
class _Lowering:
    """The schedule at work: which blocks, buffers and loops the stages have now."""

    def __init__(self, te: TESchedule, args: Sequence[Argument], name: str, attrs: Mapping[str, Any] | None) -> None:
        func = create_prim_func(args, name, attrs=attrs)
        self.te = te
        self.schedule = Schedule(func)
        computed = [op for op in operations([a for a in args if isinstance(a, Tensor)]) if isinstance(op, ComputeOp)]
        names = block_names(computed)
        self.blocks: dict[Stage, str] = {}
        self.buffers: dict[Stage, Buffer] = {}
        for s in te.stages:
            if isinstance(s.tensor.op, ComputeOp) and s.tensor.op in names:
                self.blocks[s] = names[s.tensor.op]
            self.buffers[s] = s.tensor.buffer
        self.loops: dict[Var, Var | None] = {}
        self.done: dict[Stage, int] = {}

    def run(self) -> Schedule:
        for source, made, call in self.te.dataflow:
            self._bring_in(source, made, call)
        for stage in self.te.stages:
            last = max((k for k, d in enumerate(stage.directives) if d.name == "transform_layout"), default=-1)
            if last >= 0:
                self._carry_out(stage, last + 1)
        for stage in self.te.stages:
            if stage.inlined is not None:
                self._try(stage.inlined, self.schedule.compute_inline, self.blocks[stage])
        for stage in reversed(self.te.stages):
            if stage.inlined is None and stage in self.blocks:
                self._place(stage)
                self._carry_out(stage, len(stage.directives))
        for stage in self.te.stages:
            if stage.scoped is not None:
                self._try(stage.scoped, self.schedule.set_scope, self.buffers[stage], stage.scoped.arguments[0])
        for stage in reversed(self.te.stages):
            for d in stage.directives:
                if d.name in MARKS and stage.inlined is None:
                    self._mark(stage, d)
        return self.schedule

    # -- new tensors -------------------------------------------------------------------------------------------------

    def _bring_in(self, source: Stage, made: Stage, call: Directive) -> None:
        s = self.schedule
        match call.name, call.arguments:
            case "cache_read", (_, scope, readers):
                names = [self.blocks[r] for r in readers]
                copy = self._try(call, s.cache_read, names[0], self.buffers[source], scope, consumer_blocks=names)
                self.buffers[made], self.blocks[made] = copy, self._block_of(copy)
            case "cache_write", (_, scope):
                block = self.blocks[source]
                copy = self._try(call, s.cache_write, block, self.buffers[source], scope)
                self.buffers[made] = copy
                self.blocks[made], self.blocks[source] = block, self._block_of(copy)
            case "rfactor", _:
                self._rfactor(source, made, call)

    def _rfactor(self, source: Stage, made: Stage, call: Directive) -> None:
        """The loops of the reduction are split first; the new nest keeps their names."""
        s = self.schedule
        axis, place, reassociate, count, roots = call.arguments
        if source not in self.done:
            self._match(source, s.get_loops(self.blocks[source]), {}, roots)
        self._carry_out(source, count)
        factor = self._loop(source, axis)
        if factor is None:
            raise TEError(f"{call.text} ({call.line}): {axis.name} has one iteration; there is nothing to divide")
        buffer = self.buffers[source]
        kept = {a: v.name for a in made.op.reduce_axis if (v := self.loops[a]) is not None}
        block = self._try(call, s.rfactor, factor, place, reassociate=buffer.name if reassociate else "")
        self.blocks[made], self.buffers[made] = block, next(b for b in s.buffers if b.name == f"{buffer.name}_rf")
        spatial = [v.name for v in roots[: source.tensor.ndim]]
        spatial.insert(place, factor.name)
        self._match(made, s.get_loops(block), dict(zip(made.op.axis, spatial, strict=True)) | kept)
        self._match(source, s.get_loops(self.blocks[source]), {source.op.reduce_axis[0]: factor.name})
        self.done[source] = count

    def _block_of(self, copy: Buffer) -> str:
        return next(n for n in (f"{copy.name}_back", copy.name) if n in self.schedule.blocks)

    # -- one stage ---------------------------------------------------------------------------------------------------

    def _match(self, stage: Stage, own: Sequence[Var], names: dict[Var, str], roots: Sequence[Var] = ()) -> None:
        """Say which loops the axes of a stage are: all in their order, or by name; one that is gone ran once."""
        axes = roots or stage.roots
        if len(own) == len(axes) and not names:
            self.loops.update(zip(axes, own, strict=True))
        else:
            by_name = {v.name: v for v in own}
            for a in axes:
                self.loops[a] = by_name.get(names.get(a, a.name))
        self.done[stage] = 0

    def _place(self, stage: Stage) -> None:
        """Where the stage is computed; then which loops it has there."""
        if stage.attach is None:
            return
        parent, axis, call = stage.attach
        if parent.inlined is not None:
            raise TEError(f"{call.text} ({call.line}): {parent.name} is inlined and has no loops")
        loop = self._loop(parent, axis)
        if loop is None:
            return  # the axis runs once: what is computed in it is computed in the loop around it
        began = stage in self.done
        block = self.blocks[stage]
        was = set(self.schedule.get_loops(block))
        self._try(call, self.schedule.compute_at, block, loop)
        around = self.schedule.get_loops(self.blocks[parent])
        own = [v for v in self.schedule.get_loops(block) if v not in around]
        if not began:
            self._match(stage, own, {})
            return
        by_name = {v.name: v for v in own}
        for a, old in self.loops.items():
            if old in was:
                self.loops[a] = by_name.get(old.name)

    def _carry_out(self, stage: Stage, count: int) -> None:
        """The directives about loops and layout, up to a number of them."""
        if stage.is_placeholder:
            for d in stage.directives[:count]:
                index_map, pad_value, _ = d.arguments
                self._lay_out(stage, d, index_map, pad_value)
            return
        if stage not in self.done:
            self._match(stage, self.schedule.get_loops(self.blocks[stage]), {})
        for d in stage.directives[self.done[stage] : count]:
            if d.name not in MARKS:
                self._loop_directive(stage, d)
        self.done[stage] = max(count, self.done[stage])

    def _loop_directive(self, stage: Stage, d: Directive) -> None:
        s = self.schedule
        match d.name, d.arguments:
            case "split", (parent, factor, nparts):
                loop = self._loop(stage, parent)
                if loop is None:
                    self.loops.update(dict.fromkeys(d.made))
                    return
                made = self._try(d, s.split, loop, [None, factor] if nparts is None else [nparts, None])
                self.loops.update(zip(d.made, made, strict=True))
            case "fuse", axes:
                found = [v for a in axes if (v := self._loop(stage, a)) is not None]
                self.loops[d.made[0]] = self._try(d, s.fuse, *found) if len(found) > 1 else next(iter(found), None)
            case "reorder", axes:
                found = [v for a in axes if (v := self._loop(stage, a)) is not None]
                if len(found) > 1:
                    self._try(d, s.reorder, *found)
            case "transform_layout", (index_map, pad_value, order):
                self._relayout(stage, d, index_map, pad_value, order)

    def _relayout(self, stage: Stage, d: Directive, index_map: Any, pad_value: Any, order: Sequence[Var]) -> None:
        """The buffer's layout, and loops that follow it; then the reduction's loops in their places among these."""
        s, block = self.schedule, self.blocks[stage]
        self._lay_out(stage, d, index_map, pad_value)
        self._try(d, s.sequential_buffer_access, self.buffers[stage], block)
        own = s.get_loops(block)
        rest = [(self._loop(stage, a), a) for a in order if a not in d.made]
        inner = [(own.index(v), a) for v, a in rest if v is not None]
        nest = [*d.made, *(a for _, a in sorted(inner, key=lambda found: found[0]))]
        if len(own) != len(nest):  # loops that run once may be gone
            once = [a for a in nest if isinstance(n := stage.extents[a], IntImm) and n.value == 1]
            self.loops.update(dict.fromkeys(once))
            nest = [a for a in nest if a not in once]
        if len(own) != len(nest):
            raise TEError(f"{d.text} ({d.line}): the loops of {stage.name} do not follow its new layout")
        self.loops.update(zip(nest, own, strict=True))
        wanted = [v for a in order if a in nest and (v := self.loops[a]) is not None]
        if wanted != own:
            self._try(d, s.reorder, *wanted)

    def _lay_out(self, stage: Stage, d: Directive, index_map: Any, pad_value: Any) -> None:
        s, old = self.schedule, self.buffers[stage]
        self._try(d, s.transform_layout, old, index_map, self._padding(stage, pad_value))
        self.buffers[stage] = next(b for b in s.buffers if b.name == old.name)

    def _padding(self, stage: Stage, pad_value: Any) -> Any:
        """A padding function that names the tensor reads its buffer."""
        if isinstance(pad_value, Expr) or not callable(pad_value):
            return pad_value
        return rebound(pad_value, lambda v: self.buffers[stage] if self._is_tensor(v, stage) else v)

    @staticmethod
    def _is_tensor(value: Any, stage: Stage) -> bool:
        return isinstance(value, Tensor) and value.buffer is stage.tensor.buffer

    def _mark(self, stage: Stage, d: Directive) -> None:
        axis, *more = d.arguments
        loop = self._loop(stage, axis)
        if loop is not None:
            self._try(d, getattr(self.schedule, d.name), loop, *more)

    # -- asking ------------------------------------------------------------------------------------------------------

    def _loop(self, stage: Stage, axis: Var) -> Var | None:
        """The loop of an axis as it is now; ``None`` if it had one iteration and is gone."""
        loop = self.loops.get(axis)
        if loop is None:
            return None
        own = self.schedule.get_loops(self.blocks[stage])
        if loop in own:
            return loop
        return next((v for v in reversed(own) if v.name == loop.name), None)

    def _try(self, d: Directive, primitive: Callable[..., Any], *args: Any, **named: Any) -> Any:
        try:
            return primitive(*args, **named)
        except ScheduleError as refused:
            raise TEError(f"{d.text} ({d.line}) is refused: {refused}") from refused
