"""LLVM IR text to data: modules and functions.

The text is the one that LLVM itself prints.  What is not known is refused, never passed over: an attribute or a piece
of metadata may change what an instruction means.  Known and without effect here are attributes that an optimiser may
use and the optimised text then shows (``noalias``, ``!alias.scope``), or that say how code is to be made
(``"target-cpu"``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile
from typing import Final

from verified_tir.validate.llvm.attributes import read_attributes
from verified_tir.validate.llvm.declarations import LINKAGE, check_call, check_declaration, effects_of, rules_of
from verified_tir.validate.llvm.instructions import read_instruction
from verified_tir.validate.llvm.lexer import Reader
from verified_tir.validate.llvm.syntax import Block, Function, Global, Instruction, Module, Parameter, Type
from verified_tir.validate.llvm.target import check_target
from verified_tir.validate.llvm.values import read_constant, read_type

KERNEL: Final = "vtir_kernel"
"""The name of the function in a module that implements a program."""
_HARMLESS_LINES: Final = ("source_filename", "!", ";")
_NAME: Final = re.compile(r'@(?:"[^"]*"|[-\w.$]+)')


def parse(text: str, root: str = KERNEL) -> Module:
    """The part of a module that one function needs: those that it names, and what they name.

    :raises Refused: at the first thing there that is not known; the message shows the line.
    """
    definitions: dict[str, list[str]] = {}
    declared: dict[str, str] = {}
    constants: dict[str, str] = {}
    groups: dict[str, str] = {}
    target: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("attributes "):
            groups[line.split()[1]] = line
        elif line.startswith("@"):
            constants[_name(line)] = line
        elif line.startswith("target "):
            target.append(line)
        elif line.startswith("declare "):
            declared[_name(line)] = line
        elif line.startswith("define "):
            definitions[_name(line)] = [line, *takewhile(lambda inner: inner != "}", lines)]
        elif line.strip() and not line.startswith(_HARMLESS_LINES):
            raise Reader("").refused(f"the line {line[:80]!r}")
    check_target(target)
    module = Module()
    wanted, seen = [f"@{root}"], set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in definitions:
            head, *body = definitions[name]
            for line in body:
                check_call(line, groups)
            made = _function(Reader(head), body)
            rules = rules_of(head, groups) | made.rules
            module.functions[made.name] = replace(made, effects=effects_of(head, groups), rules=rules)
            wanted += [n[0] for line in body for n in _NAME.finditer(line)]
        elif name in declared:
            check_declaration(declared[name], name[1:].strip('"'), groups)
        elif name in constants:
            one = _global(Reader(constants[name]))
            module.globals[one.name] = one
    return module


def _name(line: str) -> str:
    found = _NAME.search(line)
    if found is None:
        raise Reader("").refused(f"the line {line[:80]!r}")
    return found[0]


def _global(r: Reader) -> Global:
    name = r.take()[1:].strip('"')
    r.expect("=")
    while r.here in LINKAGE:
        r.take()
    if r.take() != "constant":
        raise r.refused("a global that is not a constant")
    kind = read_type(r)
    constant = read_constant(r, kind)
    align = 1
    while r.accept(","):
        r.expect("align")
        align = r.number()
    return Global(name, kind, constant, align)


def _function(r: Reader, lines: list[str]) -> Function:
    r.expect("define")
    fast = False
    while r.here in LINKAGE:
        fast = r.take() == "fastcc" or fast
    promised = read_attributes(r)
    result = read_type(r)
    if r.kind != "global":
        raise r.refused(f"{r.here!r} in place of a function's name")
    name = r.take()[1:].strip('"')
    r.expect("(")
    parameters: list[Parameter] = []
    while not r.accept(")"):
        if parameters:
            r.expect(",")
        parameters.append(_parameter(r, len(parameters)))
    while not r.accept("{"):
        if r.kind not in ("word", "group") or (r.kind == "word" and r.here not in LINKAGE | {"align"}):
            raise r.refused(f"{r.here!r}")
        if r.take() == "align":
            r.number()
    blocks = _blocks(lines, sum(p.name.isdigit() for p in parameters))
    nofree = frozenset({"nofree"} if any("nofree" in p.promised.unchecked for p in parameters) else ())
    return Function(name, result, tuple(parameters), blocks, next(iter(blocks)), promised, fast=fast, rules=nofree)


def _parameter(r: Reader, number: int) -> Parameter:
    kind: Type = read_type(r)
    attributes = read_attributes(r)
    if attributes.unchecked - {"nofree"}:
        raise r.refused(f"the attribute {min(attributes.unchecked)!r} of a parameter")
    name = r.local() if r.kind == "local" else str(number)
    return Parameter(kind, name, attributes)


# ----------------------------------------------------------------------------------------------------------- blocks


def _blocks(lines: list[str], unnamed: int) -> dict[str, Block]:
    """Basic blocks by name.  An entry without a label is numbered after the parameters without a name, as in LLVM."""
    blocks: dict[str, Block] = {}
    name, code = str(unnamed), list[Instruction]()
    pending = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        label = re.match(r'^("[^"]*"|[-\w.$]+):', line)
        if label is not None and not pending:
            if code:
                raise Reader(line).refused("a block without an end before this label")
            name = label.group(1).strip('"')
            continue
        pending += line
        if re.search(r"\bswitch\b", pending) and pending.rstrip()[-1] != "]":
            continue
        instruction = read_instruction(Reader(pending))
        pending = ""
        code.append(instruction)
        if instruction.opcode in ("br", "switch", "ret", "unreachable"):
            first = next(k for k, i in enumerate(code) if i.opcode != "phi")
            blocks[name] = Block(name, tuple(code[:first]), tuple(code[first:-1]), code[-1])
            code = []
    return blocks
