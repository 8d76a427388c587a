"""storage_align, annotate_buffer_access: notes at a block, in TVM's form, whose arguments are checked.

They mean nothing to the program.  Later stages of a compiler may use them, as TVM's ``CompactBufferAllocation`` does.
"""

from __future__ import annotations

from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Annotations, AnnotationValue, Block, Store
from verified_tir.ir.sugar import all_of, binary
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.logic.verdict import Refuted
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import annotated
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.block_domain import BlockMap, applied, block_loops, map_of_block
from verified_tir.schedule.tactics.layout import buffer_in

ALIGN = "buffer_dim_align"
"""TVM's key: a list of [number of the written buffer, axis, factor, offset]."""


def storage_align(session: Session, block: str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
    """Note that the stride of an axis of a local buffer is to be a multiple of a factor, plus an offset."""
    path, label = session.block(block)
    for name, value in (("buffer_index", buffer_index), ("axis", axis), ("factor", factor), ("offset", offset)):
        _check_integer(name, value, path)
    buffer = buffer_in(session, block, ("write", buffer_index))
    if session.allocation(buffer) is None:
        raise fail(
            f"{buffer.name} is a parameter, whose strides are the caller's; align a copy of it (cache_write)",
            path,
            code=codes.A_PARAMETER,
        )
    rank = len(buffer.shape)
    if not -rank <= axis < rank:
        raise fail(
            f"{buffer.name} has {rank} dimensions; an axis is in [{-rank}, {rank}), not {axis}",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    if factor <= 0:
        raise fail(f"the factor is positive, not {factor}", path, code=codes.WRONG_ARGUMENT)
    axis %= rank
    before = dict(label.annotations).get(ALIGN, ())
    if not (isinstance(before, tuple) and all(_is_alignment(x) for x in before)):
        raise fail(f"block {block} has an annotation {ALIGN!r} that is not a list of alignments: {before!r}", path)
    others = [x for x in before if isinstance(x, tuple) and x[:2] != (buffer_index, axis)]
    note(session, path, label, ALIGN, (*others, (buffer_index, axis, factor, offset)))


def _is_alignment(x: AnnotationValue) -> bool:
    return isinstance(x, tuple) and len(x) == 4 and all(isinstance(k, int) and not isinstance(k, bool) for k in x)


def _check_integer(name: str, value: object, path: Path) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise fail(f"{name} is an integer, not {value!r}", path, code=codes.WRONG_ARGUMENT)


def annotate_buffer_access(
    session: Session, block: str, buffer_index: int, buf_type: str, gen_new_ranges: BlockMap
) -> None:
    """Note that the region which a block reads or writes of a buffer is given explicitly; it must hold the accesses."""
    path, label = session.block(block)
    _check_integer("buffer_index", buffer_index, path)
    if buf_type not in ("read", "write"):
        raise fail(f'the kind of access is "read" or "write", not {buf_type!r}', path, code=codes.WRONG_ARGUMENT)
    buffer = buffer_in(session, block, (buf_type, buffer_index))
    mapping = map_of_block(session, block, gen_new_ranges, ranges=True)
    if len(mapping.outputs) != 2 * len(buffer.shape):
        raise fail(
            f"{buffer.name} has {len(buffer.shape)} dimensions; {len(mapping.outputs) // 2} ranges are given",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    _check_region(session, block, buffer, buf_type == "write", mapping)
    key = f"explicit_{buf_type}_region"
    before = dict(label.annotations).get(key, ())
    if not (isinstance(before, tuple) and all(isinstance(k, int) for k in before)):
        raise fail(f"block {block} has an annotation {key!r} that is not a list of numbers: {before!r}", path)
    note(session, path, label, key, before if buffer_index in before else (*before, buffer_index))


def _check_region(session: Session, block: str, buffer: Buffer, write: bool, mapping: IndexMap) -> None:
    """Check the region as far as it can be decided; where it cannot, nothing rests on it.

    :raises TacticFailed: if an access may lie outside.
    """
    path, label = session.block(block)
    ends = applied(mapping, block_loops(session, block))
    for where, stmt in places(label, lambda s: not isinstance(s, Block)):
        found = [n for e in expressions(stmt) for n in nodes_of(e, Load)] if not write else []
        accesses: list[Load | Store] = [*found, *([stmt] if write and isinstance(stmt, Store) else [])]
        for n in accesses:
            if n.buffer is not buffer or any(e.dtype.lanes > 1 for e in n.indices):
                continue
            inside = all_of([c for k, e in enumerate(n.indices) for c in _within(e, ends[2 * k], ends[2 * k + 1])])
            if _refuted(session, (*path, *where), inside):
                verb = "written" if write else "read"
                raise fail(
                    f"what is {verb} of {buffer.name} may lie outside of the given region",
                    (*path, *where),
                    code=codes.INDEX_MAP,
                )


def _within(index: Expr, begin: Expr, end: Expr) -> list[Expr]:
    if index.dtype is not begin.dtype:
        return []
    return [binary("le", begin, index), binary("lt", index, end)]


def _refuted(session: Session, path: Path, condition: Expr) -> bool:
    context = session.context(path)
    encoded = context.encoder().encode(condition)
    verdict, _ = session.prover.prove(context, (encoded.defined,), encoded.value)
    return isinstance(verdict, Refuted)


def note(session: Session, path: Path, label: Block, key: str, value: AnnotationValue) -> None:
    """Add an annotation to a block, in the place of one of the same key."""
    others: Annotations = tuple((k, v) for k, v in label.annotations if k != key)
    session.apply(annotated(path, (*others, (key, value))))


__all__ = ["annotate_buffer_access", "note", "storage_align"]
