"""Recorded pairs: what a compiler's program was before and after one of its passes or schedule steps.

A file has one JSON object a line, with the texts ``before`` and ``after`` (``after`` is null where the step was
refused), and perhaps ``id``, ``kind`` (the step's name), ``args`` (its arguments, as text), ``level``, ``class`` and
``size``.  How parameters moved follows from the arguments: a ``transform_layout`` of a parameter carries its index map
and what the padding holds.  Everything else keeps the parameters, or flattens them row by row.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse, script
from verified_tir.ir.stmt import Block, Store
from verified_tir.ir.visit import walk
from verified_tir.validate.index_maps import index_maps
from verified_tir.validate.interface import Correspondence, Padding
from verified_tir.validate.memory import Refused
from verified_tir.validate.numbers import operate
from verified_tir.validate.terms import Ids

_REWRITTEN: Final = "meta_schedule.layout_rewrite_preproc"
_SPEC: Final = re.compile(r"""[\[(]\s*['"](read|write)['"]\s*,\s*(\d+)\s*[\])]""")
_NUMBER: Final = re.compile(r"""^(?:(?:T\.)?\w+\(\s*['"]?)?([-+.\w]+?)['"]?\)?$""")


class BadRecord(ValueError):
    """A line of the file is no record."""


@final
@dataclass(frozen=True, slots=True)
class Record:
    """One line.  ``name`` is ``id kind``; ``group`` and ``size`` are what the file calls ``class`` and ``size``."""

    name: str
    kind: str
    args: str
    group: str
    size: str
    before: str
    after: str | None


def read_records(path: Path) -> Iterator[Record]:
    """The records of a ``.jsonl`` file, compressed if its name ends in ``.gz``.

    :raises BadRecord: for a line that is none, with its place.
    :raises OSError: if the file cannot be read.
    """
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _record(f"{path}:{number}", line)


def _record(place: str, line: str) -> Record:
    try:
        fields = json.loads(line)
        before, after = fields["before"], fields["after"]
        kind, args = str(fields.get("kind") or ""), str(fields.get("args") or "")
        name = f"{fields.get('id', place)} {kind}".strip()
        group, size = str(fields.get("class") or "all"), str(fields.get("size") or "any").partition("(")[0]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as problem:
        raise BadRecord(f"{place}: no record with before and after ({type(problem).__name__})") from None
    if not isinstance(before, str) or not isinstance(after, str | None):
        raise BadRecord(f"{place}: before and after must be texts")
    return Record(name, kind, args, group, size, before, after)


def functions(record: Record) -> list[tuple[str, PrimFunc, PrimFunc]]:
    """The functions of both programs in pairs: by name, single ones whatever their names.

    :raises ScriptError: if a text cannot be read.
    :raises Refused: if a function has no partner.
    """
    assert record.after is not None
    old, new = (_functions(text, record.name) for text in (record.before, record.after))
    if len(old) == len(new) == 1:
        (name,) = old
        return [(name, old[name], next(iter(new.values())))]
    missing = [name for name in old if name not in new]
    if missing or not old:
        raise Refused(f"after has no function {missing[0]}" if missing else "there is no function before")
    return [(name, func, new[name]) for name, func in old.items()]


def _functions(text: str, name: str) -> dict[str, PrimFunc]:
    found = parse(text, filename=name)
    return {found.name: found} if isinstance(found, PrimFunc) else dict(found.functions)


def correspondences(
    record: Record, before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int]
) -> dict[str, Correspondence]:
    """How the parameters moved, by their names in *before*, as far as the step's arguments say it.

    :raises Refused: if an index map is there that cannot be understood.
    """
    if "transform_layout" not in record.kind and "transform_layout" not in record.args:
        return _taken_out(before, after)
    found: dict[str, Correspondence] = {}
    for index_map, text, rest in index_maps(record.args, sizes):
        buffer = _named(before, text.rpartition("transform_layout(")[2], rest)
        moved = [buffer] if buffer is not None else _reshaped(before, after, index_map.takes)
        for parameter in moved:
            if parameter in before.buffers and index_map.takes(len(parameter.shape)):
                if parameter.name in found:
                    raise Refused(f"the layout of {parameter.name} changes twice; give one index map for both")
                found[parameter.name] = Correspondence(index_map, _padding(rest))
    return found


def _taken_out(before: PrimFunc, after: PrimFunc) -> dict[str, Correspondence]:
    """Parameters that *before* copies to another layout, in blocks marked so, and *after* takes in that layout."""
    found = {}
    if any(isinstance(n, Store) for block in _marked(after) for n in walk(block)):
        return {}  # the copy is still made
    for block in _marked(before):
        match block.body:
            case Store(buffer=copy, value=Load(buffer=source, indices=indices), indices=images) if (
                source in before.buffers and all(isinstance(i, Var) for i in indices)
            ):
                position = [before.buffer_of(p) for p in before.params].index(source)
                other = after.buffer_of(after.params[position]) if position < len(after.params) else None
                if other is not None and len(other.shape) == len(copy.shape):
                    found[source.name] = Correspondence(_Images(indices, images))
    return found


def _marked(func: PrimFunc) -> list[Block]:
    nodes = [n for n in walk(func.body) if isinstance(n, Block)]
    return [n for n in nodes if any(key == _REWRITTEN for key, _ in n.annotations)]


@final
@dataclass(frozen=True, slots=True)
class _Images:
    """The index map of a copy ``copy[images] = source[variables]``."""

    variables: tuple[Expr, ...]
    images: tuple[Expr, ...]

    def __call__(self, *indices: Ids) -> list[Ids]:
        values = dict(zip(self.variables, indices, strict=True))
        return [self._value(image, values) for image in self.images]

    def _value(self, expr: Expr, values: Mapping[Expr, Ids]) -> Ids:
        match expr:
            case Var() if expr in values:
                return values[expr]
            case IntImm(value=v):
                return np.full(1, v, dtype=np.int64)
            case Binary(op=op, a=a, b=b):
                result, trouble = operate(op, expr.dtype, self._value(a, values), self._value(b, values), index=True)
                if trouble is None:
                    return result
        raise Refused(f"a copy to another layout has the index {script(expr)}, which is no arithmetic")


def _named(before: PrimFunc, text: str, rest: str) -> Buffer | None:
    """The buffer that the arguments around an index map name: by block and position, or by its name."""
    words = re.findall(r"[\w.]+", text + " " + rest)
    spec = _SPEC.search(text) or _SPEC.search(rest)
    nodes = list(walk(before.body))
    if spec is not None:
        for block in nodes:
            if isinstance(block, Block) and block.name in words:
                regions = block.reads if spec[1] == "read" else block.writes
                if regions is not None and int(spec[2]) < len(regions):
                    return regions[int(spec[2])].buffer
        return None
    blocks = {node.name for node in nodes if isinstance(node, Block)}
    buffers = {b.name: b for b in (*[n for n in nodes if isinstance(n, Buffer)], *before.buffers)}
    named = [w for w in words if w in buffers and w not in blocks] or [w for w in words if w in buffers][1:]
    return buffers[named[0]] if named else None


def _reshaped(before: PrimFunc, after: PrimFunc, takes: Any) -> list[Buffer]:
    """Parameters whose number of dimensions changed, and to which the map can be applied."""
    found = []
    for old, new in zip(before.params, after.params, strict=False):
        one, other = before.buffer_of(old), after.buffer_of(new)
        if one is not None and other is not None and len(one.shape) != len(other.shape) and takes(len(one.shape)):
            found.append(one)
    return found


def _padding(rest: str) -> Padding:
    """What the arguments after an index map say that the padding holds."""
    text = rest.strip().lstrip(")").strip().lstrip(",").strip()
    keyword = re.search(r"pad_value\s*=\s*", text)
    if keyword is not None:
        text = text[keyword.end() :]
    elif re.match(r"\w+\s*=", text):
        return None
    word = text.partition(",")[0].strip().rstrip(")") if "lambda" not in text else text
    if "(" in word:
        word += ")"
    if word in ("", "None"):
        return None
    number = _NUMBER.match(word)
    for read in (int, float):
        try:
            return read(number[1] if number is not None else "")
        except ValueError:
            continue
    raise Refused(f"the padding is {word!r}, which is no number; give a Correspondence yourself")
