"""What a module says by attributes of functions and calls: words that are known, where they may stand.

What a function promises is checked where it runs (``machine.py``, ``definitions.py``).  Of functions that are defined
elsewhere it is known what is true; LLVM itself says what is true of its intrinsics, whatever a text declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from verified_tir.validate.llvm.attributes import read_attributes
from verified_tir.validate.llvm.effects import allowed
from verified_tir.validate.llvm.lexer import Reader
from verified_tir.validate.llvm.syntax import ANY_EFFECTS, NOTHING, Attributes, Effects
from verified_tir.validate.llvm.threads import PARALLEL
from verified_tir.validate.llvm.values import read_type

GROUP: Final = re.compile(r"(?<=\s)#\d+")
LINKAGE: Final = frozenset({
    "internal", "private", "linkonce_odr", "dso_local", "hidden", "fastcc", "ccc", "local_unnamed_addr", "unnamed_addr",
})  # fmt: skip
_TOKEN: Final = re.compile(r'"([^"]*)"(?:="[^"]*")?|([\w-]+)(?:\((?:[^()"]|"[^"]*")*\))?')
_MEMORY: Final = re.compile(r"\bmemory\(([^()]*)\)")
_ACCESS: Final = re.compile(r"@llvm\.(?:mem|masked|lifetime)")
_ENDS: Final = frozenset({"nounwind", "willreturn", "mustprogress"})
_CODE: Final = frozenset({"inlinehint", "alwaysinline", "noinline", "cold", "hot"})
RULES: Final = frozenset({"nofree", "norecurse", "nosync", "speculatable"})
"""What is checked where a function runs."""
_DEFINED: Final = _ENDS | _CODE | RULES | {"memory", "nocallback"}
_INTRINSIC: Final = _DEFINED | {"nocreateundeforpoison"}
_KEYS: Final = frozenset({
    "target-cpu", "target-features", "prefer-vector-width", "min-legal-vector-width", "tune-cpu",
    "vector-function-abi-variant",
})  # fmt: skip
_FAMILY: Final = '"alloc-family"="malloc"'
_MAKES: Final = _ENDS | {"nofree", "memory(inaccessiblemem: readwrite)", _FAMILY}
LIBRARY: Final[Mapping[str, frozenset[str]]] = {
    "malloc": _MAKES | {'allockind("alloc,uninitialized")', "allocsize(0)"},
    "aligned_alloc": _MAKES | {'allockind("alloc,uninitialized,aligned")', "allocsize(1)"},
    "free": _ENDS | {'allockind("free")', "memory(argmem: readwrite, inaccessiblemem: readwrite)", _FAMILY},
    PARALLEL: _ENDS,
}  # fmt: skip
"""Functions that are defined elsewhere, and what may be said of them."""
_ROLES: Final = {("aligned_alloc", 0): "allocalign", ("free", 0): "allocptr"}


def effects_of(line: str, groups: Mapping[str, str]) -> Effects:
    return allowed([effect for g in GROUP.findall(line) for effect in _MEMORY.findall(groups[g])])


def rules_of(line: str, groups: Mapping[str, str]) -> frozenset[str]:
    """What is said of a function that is defined by a line.

    :raises Refused: at a word that is not known there.
    """
    words = set[str]()
    for group in GROUP.findall(line):
        words |= _words(groups[group], _DEFINED, "a function")
    return RULES & words


def check_call(line: str, groups: Mapping[str, str]) -> None:
    """What a call promises by a group must go without saying, as it does for operations on numbers."""
    found = GROUP.findall(line)
    if not found:
        return
    name = next((n for n in LIBRARY if f"@{n}(" in line), "")
    for group in found:
        if name:
            _literally(line, groups[group], LIBRARY[name])
        else:
            _words(groups[group], _INTRINSIC if "@llvm." in line else _ENDS | _CODE | {"memory"}, "a call")
    if not name and effects_of(line, groups) != ANY_EFFECTS and (_ACCESS.search(line) or "@llvm." not in line):
        said = next(effect for g in found for effect in _MEMORY.findall(groups[g]))
        raise Reader(line.strip()).refused(f"the attribute 'memory({said})' of a call")


def check_declaration(line: str, name: str, groups: Mapping[str, str]) -> None:
    """What is declared of a function that is defined elsewhere must be true of it.

    :raises Refused: if that is not known.
    """
    if name not in LIBRARY:
        return  # calls are refused, those of LLVM's own functions apart
    for group in GROUP.findall(line):
        _literally(line, groups[group], LIBRARY[name])
    r = Reader(line)
    r.expect("declare")
    while r.here in LINKAGE:
        r.take()
    of_result = read_attributes(r)
    read_type(r)
    r.take()
    r.expect("(")
    said = [replace(of_result, noundef=False)] if name != PARALLEL else [of_result]
    number = 0
    while not r.accept(")"):
        if number:
            r.expect(",")
        read_type(r)
        said.append(unsaid(name, number, read_attributes(r)))
        if r.kind == "local":
            r.take()
        number += 1
    if any(promise != NOTHING for promise in said):
        raise r.refused("an attribute of a parameter, or of the result,")


def unsaid(name: str, number: int, promise: Attributes) -> Attributes:
    """What is promised of an argument of a function that is defined elsewhere, but for what goes without saying."""
    if name == PARALLEL:
        return promise
    roles = promise.unchecked - {_ROLES.get((name, number), "")}
    free = name == "free" and promise.ways is not None
    return replace(promise, noundef=False, unchecked=roles, ways=None if free else promise.ways)


def _words(line: str, known: Iterable[str], what: str) -> set[str]:
    """The words of a group, all of which must be known."""
    words = set[str]()
    for found in _tokens(line):
        key, word = found.groups()
        if (key is not None and key not in _KEYS) or (key is None and word not in known):
            raise Reader("").refused(f"the attribute {key or word!r} of {what}")
        if word:
            words.add(word)
    return words


def _literally(line: str, group: str, known: Iterable[str]) -> None:
    for found in _tokens(group):
        if found[0] not in known and found.group(1) not in _KEYS:
            raise Reader(line.strip()).refused(f"the attribute {found[0]!r}")


def _tokens(line: str) -> Iterable[re.Match[str]]:
    return _TOKEN.finditer(line, line.index("{") + 1, line.rindex("}"))
