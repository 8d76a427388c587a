"""Which test reaches which statement of the mutated files.

The functions of these files are given code in which every statement first notes that it is reached; in all other files
of the package only functions note it, at their start.  That costs much less than a trace function, and the tests
behave as ever.

A statement is named by its function, and its line from the start of the function, with a digest of the function's
text: when a function changes, what is known of its statements no longer counts, and every test that was seen to reach
the function as it was is taken to reach all of it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from tests.mutation.mutant import Mutant
from tests.mutation.sources import Function, Source
from tests.mutation.swap import code_of, functions_in, module_name

_NOTE = "_note_that_it_is_reached"

_NOT_REACHED = tuple(f"verified_tir/{layer}/" for layer in ("fuzz", "testing", "cli"))

Key = tuple[str, str, str, int]
"""File, function, digest of the function's text, line from the function's start (0: the function itself)."""


@final
@dataclass(slots=True)
class Recorder:
    """What was reached since it was last asked."""

    root: Path
    package: str
    fine: frozenset[str]
    """Files of which every statement counts."""
    keys: list[Key] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)

    def instrument(self) -> None:
        """Let the package's functions note that they are reached."""
        for path in sorted((self.root / self.package).rglob("*.py")):
            file = path.relative_to(self.root).as_posix()
            if file.startswith(_NOT_REACHED):
                continue
            name = module_name(file)
            if "/interop/" not in file:  # a module that only a test imports would reach nothing
                importlib.import_module(name)
            if name in sys.modules and path.stat().st_size:
                self._instrument_file(Source.read(self.root, file), fine=file in self.fine)

    def _instrument_file(self, source: Source, *, fine: bool) -> None:
        module = sys.modules[module_name(source.file)]
        tree = ast.parse(source.data, source.file)
        nodes = {f.name: f for f in Source(source.file, source.data).functions}
        marked = _Functions()
        marked.visit(tree)
        for name, node in marked.found.items():
            if name in nodes and [f.name for f in source.functions].count(name) == 1:
                digest = nodes[name].digest()
                self._mark(node, (source.file, name, digest), node.lineno, fine=fine)
        ast.fix_missing_locations(tree)
        code = compile(tree, module.__file__ or source.file, "exec", dont_inherit=True)
        vars(module)[_NOTE] = self.reached.add
        for name, live in functions_in(module, source):
            changed = code_of(code, name)
            if changed is not None and _takes(changed) == _takes(live.__code__):
                live.__code__ = changed

    def _mark(self, node: Function, key: tuple[str, str, str], first: int, *, fine: bool) -> None:
        """Notes in front of the statements of a function."""
        if fine:
            for inner in list(ast.walk(node)):
                for name in ("body", "orelse", "finalbody"):
                    block = getattr(inner, name, None)
                    if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                        noted: list[ast.stmt] = []
                        for stmt in block:
                            noted += [self._note((*key, stmt.lineno - first + 1), stmt), stmt]
                        setattr(inner, name, noted)
        node.body.insert(0, self._note((*key, 0), node))

    def _note(self, key: Key, at: ast.stmt) -> ast.stmt:
        self.keys.append(key)
        number = ast.Constant(len(self.keys) - 1)
        note = ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [number], []))
        for n in ast.walk(note):
            ast.copy_location(n, at)
        return note

    def take(self) -> list[int]:
        """What was reached, and nothing is from now on."""
        found = sorted(self.reached)
        self.reached.clear()
        return found


class _Functions(ast.NodeVisitor):
    """Functions and methods of a module by name, inner ones left to theirs."""

    def __init__(self) -> None:
        self.found: dict[str, Function] = {}
        self.prefix = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self.prefix = self.prefix, f"{self.prefix}{node.name}."
        for child in node.body:
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.visit(child)
        self.prefix = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.found[self.prefix + node.name] = node


# -- what was found -----------------------------------------------------------------------------------------------


@final
@dataclass(slots=True)
class TestFile:
    """What is known of the tests of one file."""

    digest: str
    keys: list[Key]
    tests: dict[str, tuple[float, str]]
    """Seconds and outcome of each test, by node id."""
    reached: dict[str, int]
    """Bits: which of ``keys`` each test reaches."""
    files: dict[str, str]
    """Digests of the mutated files as they were: what is not among the keys was reached by no test of this file."""

    def save(self, path: Path) -> None:
        document = {
            "digest": self.digest, "keys": self.keys, "tests": self.tests, "files": self.files,
            "reached": {name: f"{bits:x}" for name, bits in self.reached.items()},
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(document), encoding="utf-8")
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> TestFile:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        keys = [(str(a), str(b), str(c), int(d)) for a, b, c, d in document["keys"]]
        tests = {name: (float(s), str(outcome)) for name, (s, outcome) in document["tests"].items()}
        reached = {k: int(v, 16) for k, v in document["reached"].items()}
        return cls(document["digest"], keys, tests, reached, document["files"])


@final
@dataclass(slots=True)
class Reach:
    """Which tests reach what, over all test files that were recorded."""

    seconds: dict[str, float] = field(default_factory=dict)
    _statements: dict[Key, list[str]] = field(default_factory=dict)
    _functions: dict[tuple[str, str], dict[str, set[str]]] = field(default_factory=dict)
    """Of each function, by the digest of its text then, the tests that reached it."""
    _files: dict[str, set[str]] = field(default_factory=dict)
    """Of each file, the tests that reached any function of it."""
    _digests: dict[str, set[str]] = field(default_factory=dict)
    """Of each file, its digests when tests were recorded."""
    _fine: set[str] = field(default_factory=set)
    """Files of which statements are known, and not functions only."""

    def add(self, tests: TestFile) -> None:
        for file, digest in tests.files.items():
            self._digests.setdefault(file, set()).add(digest)
        passed = {name for name, (_, outcome) in tests.tests.items() if outcome == "passed"}
        for name in passed:
            self.seconds[name] = tests.tests[name][0]
            bits, k = tests.reached.get(name, 0), 0
            while bits:
                zeros = (bits & -bits).bit_length() - 1
                bits >>= zeros
                k += zeros
                key = tests.keys[k]
                self._statements.setdefault(key, []).append(name)
                self._functions.setdefault(key[:2], {}).setdefault(key[2], set()).add(name)
                self._files.setdefault(key[0], set()).add(name)
                if key[3]:
                    self._fine.add(key[0])
                bits >>= 1
                k += 1

    def reaching(self, mutant: Mutant, source: Source) -> Iterable[str]:
        """Tests that reach the statement that a mutant changes.

        Of a function that may not have been there when tests were recorded, those that reached its file; of a file that
        was not there, all.
        """
        seen = self._functions.get((mutant.file, mutant.function), {})
        if not seen:
            known = self._digests.get(mutant.file, set())
            as_it_was = known == {digest_of_bytes(source.data)} and mutant.function
            return () if as_it_was else self._files.get(mutant.file, self.seconds.keys())
        everywhere = set().union(*seen.values())
        function = source.function(mutant.function)
        start = function.node.lineno
        lines = [s.lineno for s in ast.walk(function.node) if isinstance(s, ast.stmt) and s is not function.node
                 and source.span(s)[0] <= mutant.start < source.span(s)[1]]  # fmt: skip
        key = (mutant.file, mutant.function, function.digest())
        if not lines or (*key, 0) not in self._statements:
            return everywhere
        if mutant.file not in self._fine:
            return everywhere
        before = set().union(*(tests for digest, tests in seen.items() if digest != key[2]))
        return before.union(self._statements.get((*key, max(lines) - start + 1), ()))


def digest_of(path: Path) -> str:
    return digest_of_bytes(path.read_bytes())


def digest_of_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _takes(code: types.CodeType) -> tuple[object, ...]:
    """What a code object needs of the function that it is put into; a property's setter has its getter's name."""
    return code.co_argcount, code.co_kwonlyargcount, code.co_flags & 12, code.co_freevars
