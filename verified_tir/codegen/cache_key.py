"""Keys of cached object code: what was compiled, for which machine, by what.

A program counts by its structure: names of variables, buffers and functions have no part in it, the messages of
assertions do.  The text is the list of the program's nodes, each written with the numbers of its parts; a program that
shares subtrees has a text no longer than itself.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from weakref import WeakKeyDictionary

import llvmlite
import llvmlite.binding as llvm

from verified_tir.codegen.target import Target
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import children

Buffers = tuple[Buffer, ...]

PARTS = ("codegen", "elaborate", "ir", "semantics", "kernel")
"""Folders of this package whose sources have a part in what is generated."""

_HASHES: WeakKeyDictionary[PrimFunc, dict[Buffers, str]] = WeakKeyDictionary()


def cache_key(func: PrimFunc, shapes: Buffers, target: Target) -> str:
    """The key, 64 hexadecimal digits.

    :param shapes: buffers whose extents are checked at entry, besides those of the parameters.
    """
    parts = (program_hash(func, shapes), repr(target), tools())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def program_hash(func: PrimFunc, shapes: Buffers = ()) -> str:
    """A hash of the program modulo names; computed once for each program that is alive."""
    known = _HASHES.setdefault(func, {})
    found = known.get(shapes)
    if found is None:
        found = known[shapes] = hashlib.sha256(canonical_text(func, shapes).encode()).hexdigest()
    return found


def canonical_text(func: PrimFunc, shapes: Buffers = ()) -> str:
    """One line for each node, its parts before it: equal for two programs exactly if they differ in names only."""
    lines: list[str] = []
    numbers: dict[Node, int] = {}

    def part(value: object) -> str:
        match value:
            case DType() | PointerType():
                return str(value)
            case Node():
                return f"#{numbers[value]}"
            case tuple():
                return f"({','.join(map(part, value))})"
            case float():
                return float.hex(value)
            case _:
                return repr(value)

    def line(node: Node) -> str:
        if isinstance(node, Var):
            return f"Var {node.type}"
        skip = ("name",) if isinstance(node, (Buffer, PrimFunc, Block)) else ()
        fields = [part(getattr(node, f)) for f in node.__match_args__ if f not in skip]
        return f"{type(node).__name__} {' '.join(fields)}"

    stack: list[Node] = [*reversed(shapes), func]
    while stack:
        node = stack[-1]
        waiting = [] if node in numbers else [c for c in children(node) if c not in numbers]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if node not in numbers:
            numbers[node] = len(lines)
            lines.append(line(node))
    return "\n".join([*lines, part(shapes)])


@cache
def tools() -> str:
    """What makes object code of a program: versions and sources."""
    digest = hashlib.sha256()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for part in PARTS:
        for folder, _, names in sorted(os.walk(os.path.join(root, part))):
            for name in sorted(names):
                if name.endswith(".py"):
                    file = os.path.join(folder, name)
                    digest.update(os.path.relpath(file, root).encode())
                    with open(file, "rb") as source:
                        digest.update(source.read())
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    python = f"{sys.implementation.cache_tag} {object.__basicsize__} {sys.byteorder} {sys.maxsize}"
    versions = f"{version('verified_tir')} llvmlite {llvmlite.__version__} LLVM {llvm_version} {python}"
    return f"{versions} {digest.hexdigest()}"
