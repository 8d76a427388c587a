"""ApplyLayoutTransforms: the layouts that a function's attribute asks for (RFC 39, "ApplyBufferTransforms").

    T.func_attr({"layout_transform_map": {"x": "lambda i, j: [j, i]"}})
    x = T.alloc_buffer((64, 128), "float32")           ⟶          x = T.alloc_buffer((128, 64), "float32")
    … x[10, 15] …                                                  … x[15, 10] …

The attribute maps the name of a buffer, parameter or local, to an index map or a list of them, applied in turn.  It is
removed, so that a second run changes nothing.  Each map is a ``relayout`` of the parameter or a ``couple`` of the
local buffer; padding may not be touched.  A map without axis separators keeps those that the buffer declares (they
count the axes of the new layout, as in the RFC's last example).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, final

from verified_tir.index.map import IndexMap
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, StringImm
from verified_tir.ir.node import IRError
from verified_tir.ir.script.literals import LITERAL_DICT
from verified_tir.ir.stmt import Annotations
from verified_tir.ir.visit import free_vars
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import with_attributes
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.layout import find_buffer, transform_layout
from verified_tir.schedule.tactics.tidy import fold_at

KEY = "layout_transform_map"


@final
@dataclass(frozen=True, repr=False)
class ApplyLayoutTransforms(Pass):
    """Apply the index maps of the attribute ``layout_transform_map`` and remove it."""

    def lower(self, work: Lowering) -> None:
        session = work.session
        found = layout_transform_map(session.func.attrs)
        if found is None:
            return
        session.apply(with_attributes(tuple(pair for pair in session.func.attrs if pair[0] != KEY)))
        for name, texts in found.items():
            for text in texts:
                transform_layout(session, name, _index_map(session, name, text))
        fold_at(session, ())


def layout_transform_map(attrs: Annotations) -> dict[str, list[str]] | None:
    """The texts of the maps by buffer; ``None`` without the attribute.

    :raises TacticFailed: if the attribute has another form.
    """
    value = dict(attrs).get(KEY)
    if value is None:
        return None
    match value:
        case Call(op=op, args=(StringImm(value=text),)) if op == LITERAL_DICT:
            maps: dict[str, Any] = json.loads(text)
            found = {name: m if isinstance(m, list) else [m] for name, m in maps.items()}
            if all(isinstance(m, str) for texts in found.values() for m in texts):
                return found
    raise fail(
        f'{KEY} maps buffers to index maps or lists of these: {{"A": "lambda i, j: [j, i]"}}', code=codes.WRONG_ARGUMENT
    )


def _index_map(session: Session, name: str, text: str) -> IndexMap:
    buffer, path = find_buffer(session, name)
    func = session.func
    symbols = [p for p in func.params if func.buffer_of(p) is None]
    symbols += [v for b in func.buffers for e in b.shape for v in free_vars(e)]
    dtype = buffer.shape[0].dtype if buffer.shape else INT32
    try:
        mapping = parse_index_map(text, {v.name: v for v in symbols}, dtype)
        if not mapping.separators and buffer.axis_separators:
            mapping = IndexMap(mapping.inputs, mapping.outputs, buffer.axis_separators)
    except IRError as problem:
        raise fail(f"layout of {name}: {problem}", path or (), code=codes.INDEX_MAP) from problem
    return mapping
