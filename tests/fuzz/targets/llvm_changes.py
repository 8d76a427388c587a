"""LLVM IR with an instruction or two changed: what an optimiser, or an emitter, might get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

_SWAPPED: Final = re.compile(r"^(  \S+ = (?:\w+ )+?(?:<[^>]*>|\w+)) (%[\w.]+|[\w.+-]+), (%[\w.]+|[\w.+-]+)$")
_CONSTANT: Final = re.compile(r"(?<![\w.%\"])(-?\d+)(?![\w.%\"*]| x )")
_FLOAT: Final = re.compile(r"\b(-?\d\.\d+e[+-]\d+|0x[0-9A-F]{16})\b")
_OPCODES: Final = {
    "add": ("sub",), "sub": ("add",), "mul": ("add",), "fadd": ("fsub",), "fsub": ("fadd",), "fmul": ("fadd",),
    "sdiv": ("udiv",), "udiv": ("sdiv",), "srem": ("urem", "sdiv"), "shl": ("ashr",), "ashr": ("lshr",),
    "lshr": ("ashr",), "and": ("or",), "or": ("xor", "and"), "xor": ("or",), "sext": ("zext",), "zext": ("sext",),
    "sitofp": ("uitofp",), "uitofp": ("sitofp",), "fptosi": ("fptoui",), "fptoui": ("fptosi",),
}  # fmt: skip
_PREDICATES: Final = {
    "slt": ("sle", "ult", "sgt"), "sle": ("slt",), "sgt": ("sge",), "sge": ("sgt",), "ult": ("ule", "slt"),
    "ule": ("ult",), "ugt": ("uge",), "uge": ("ugt",), "eq": ("ne", "sle"), "ne": ("eq",),
    "olt": ("ole", "ult", "ogt"), "ole": ("olt",), "ogt": ("oge", "ugt"), "oge": ("ogt",), "oeq": ("ueq", "one"),
    "une": ("one", "ueq"), "uno": ("ord",), "ord": ("uno",),
}  # fmt: skip
_FLAGS: Final = {
    "add": ("nsw", "nuw"), "sub": ("nsw", "nuw"), "mul": ("nsw", "nuw"), "shl": ("nsw", "nuw"), "sdiv": ("exact",),
    "udiv": ("exact",), "ashr": ("exact",), "lshr": ("exact",), "or": ("disjoint",), "zext": ("nneg",),
    "uitofp": ("nneg",), "icmp": ("samesign",),
}  # fmt: skip
_INTRINSICS: Final = {
    f"@llvm.{old}": f"@llvm.{new}"
    for old, new in (
        ("minimum", "maximum"), ("smin", "umin"), ("smax", "smin"), ("umax", "smax"), ("floor", "trunc"),
        ("ceil", "floor"), ("trunc", "ceil"), ("roundeven", "round"),
    )
}  # fmt: skip


def changed_llvm(text: str, numbers: Sequence[int]) -> str:
    """The text with the changes that some numbers mean for it, two for each: which kind, and which of that kind."""
    for kind, which in zip(numbers[::2], numbers[1::2], strict=True):
        by_name: dict[str, list[Callable[[], str]]] = {}
        for name, made in llvm_changes(text):
            by_name.setdefault(name, []).append(made)
        if not by_name:
            break
        named = by_name[sorted(by_name)[kind % len(by_name)]]
        text = named[which % len(named)]()
    return text


def llvm_changes(text: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every change of one line, by name; LLVM may refuse what comes out."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if line.startswith("  "):
            for name, new in _of_line(line):
                yield name, lambda k=k, new=new: "\n".join([*lines[:k], *new, *lines[k + 1 :]])  # type: ignore[misc]
        if k and line.startswith("  store ") and lines[k - 1].startswith("  store "):
            yield (
                "stores exchanged",
                lambda k=k, line=line: "\n".join(  # type: ignore[misc]
                    [*lines[: k - 1], line, lines[k - 1], *lines[k + 1 :]]
                ),
            )


def _of_line(line: str) -> Iterator[tuple[str, list[str]]]:
    words = line.split()
    opcode = words[2] if len(words) > 2 and words[1] == "=" else words[0]
    for other in _OPCODES.get(opcode, ()):
        plain = re.sub(rf"= {opcode}( nsw| nuw| exact| disjoint| nneg)*", f"= {other}", line)
        yield "another opcode", [plain]
    for flag in _FLAGS.get(opcode, ()):
        if f" {flag} " not in line:
            yield "a flag added", [line.replace(f"= {opcode} ", f"= {opcode} {flag} ", 1)]
    for flag in ("nsw", "nuw", "exact", "disjoint", "nneg", "inbounds"):
        if f" {flag} " in line:
            yield "a flag dropped", [line.replace(f" {flag} ", " ", 1)]
    if opcode in ("icmp", "fcmp"):
        for predicate in words:
            for other in _PREDICATES.get(predicate, ()):
                yield "another predicate", [line.replace(f" {predicate} ", f" {other} ", 1)]
    yield from _of_operands(opcode, line)
    yield from _of_constants(opcode, line)


def _of_operands(opcode: str, line: str) -> Iterator[tuple[str, list[str]]]:
    if found := _SWAPPED.match(line):
        yield "operands exchanged", [f"{found[1]} {found[3]}, {found[2]}"]
    if opcode == "select":
        parts = line.split(", ")
        if len(parts) == 3:
            yield "arms exchanged", [", ".join([parts[0], parts[2], parts[1]])]
    if opcode == "br" and line.count("label") == 2:
        head, one, two, *_ = line.split(", ")
        yield "branches exchanged", [", ".join([head, two, one])]
    if opcode == "store":
        yield "a store dropped", []
        yield "a store twice", [line, line]
    for old, new in _INTRINSICS.items():
        if old + "." in line:
            yield "another intrinsic", [line.replace(old, new)]


def _of_constants(opcode: str, line: str) -> Iterator[tuple[str, list[str]]]:
    if opcode not in ("br", "phi", "ret", "switch"):
        for found in list(_CONSTANT.finditer(line.partition(", !")[0]))[:6]:
            before = line[: found.start()]
            if before.rstrip().endswith("align"):
                yield "another alignment", [f"{before}{2 * int(found[1])}{line[found.end() :]}"]
            else:
                for by in (1, -1):
                    yield "a constant off by one", [f"{before}{int(found[1]) + by}{line[found.end() :]}"]
    for found in list(_FLOAT.finditer(line))[:2]:
        yield "another constant", [f"{line[: found.start()]}-0.000000e+00{line[found.end() :]}"]
    if opcode == "ret" and "i32 0" in line:
        yield "another status", [line.replace("i32 0", "i32 1")]
