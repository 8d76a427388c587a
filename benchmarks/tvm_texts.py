"""Which program texts of TVM are read here, which of ours TVM reads, and why not the others.

    python benchmarks/tvm_texts.py ~/tvm/tests/python
    python benchmarks/tvm_texts.py recordings/ --show 5 --json texts.jsonl

Looks below each path for Python files (functions under ``@T.prim_func``, classes under ``@I.ir_module``), for single
texts (``.tir``, ``.txt``) and for recordings (``.jsonl.gz`` with ``before`` and ``after``).  Nothing of them is run.

A text of a Python file counts if TVM reads it by itself, with the constants that stand in the file: others use values
of the Python around them, or are mistakes on purpose.  It counts twice, as it is written and as TVM prints it.  Relax's
functions of a module are left out (``verified_tir.graph`` reads those).  What is read is printed, and TVM reads that,
or its flat form (``script(flat=True)``), which the table tells apart.  Without TVM, all texts count, once.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import sys
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from verified_tir.ir.script import parse, script
from verified_tir.ir.script.source import ScriptError

FLAT = "only the flat form is read"
DECORATORS = ("prim_func", "ir_module")


@dataclass
class Text:
    """A program text, where it is from, and what became of it."""

    origin: str
    text: str
    outcome: str = ""
    """``"read"``, the message of the refusal, or the error that is none."""
    printed: str = ""
    again: str = ""
    """What TVM makes of ``printed``: ``"read"``, or its error."""


@dataclass
class Found:
    """The texts of one source: those that TVM does not read by themselves are only counted."""

    texts: list[Text] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)


# -- texts of Python files --------------------------------------------------------------------------------------------


def decorated(node: ast.AST) -> str | None:
    """Which of ``DECORATORS`` stands above a function or class, if one does."""
    for decorator in getattr(node, "decorator_list", ()):
        inner = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
        if name in DECORATORS:
            return str(name)
    return None


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each outermost program in a Python file, with the constants and namespaces that it may name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return
    lines = source.splitlines()
    yield from _programs(tree.body, lines, {})


def _programs(body: Iterable[ast.stmt], lines: list[str], constants: dict[str, str]) -> Iterator[tuple[int, str]]:
    known = dict(constants)
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _literal(value):
                known[name] = f"{name} = {ast.unparse(value)}"
            case ast.ImportFrom(module="tvm.script" | "tvm.script.parser", names=names):
                for alias in names:
                    known[alias.asname or alias.name] = f"from tvm.script import {ast.unparse(alias)}"
        kind = decorated(node)
        if kind is not None and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            text = _program(node, lines)
            if text is not None:
                used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                head = "".join(f"{line}\n" for name, line in known.items() if name in used)
                yield node.lineno, head + text
            continue
        for inner in ("body", "orelse", "finalbody"):
            yield from _programs(getattr(node, inner, None) or (), lines, known)


def _literal(value: ast.expr) -> bool:
    """Whether the value is a number, a string, or a type variable."""
    match value:
        case ast.Constant(value=bool() | int() | float() | str()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "TypeVar"


def _program(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> str | None:
    """The text of the program without Relax's functions; ``None`` if nothing else is there."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    dropped: set[int] = set()
    if isinstance(node, ast.ClassDef):
        functions = [n for n in node.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        if not any(decorated(n) for n in functions):
            return None
        for n in functions:
            if not decorated(n):
                start = min([n.lineno, *(d.lineno for d in n.decorator_list)])
                dropped.update(range(start, (n.end_lineno or n.lineno) + 1))
    kept = [lines[k - 1] for k in range(first, (node.end_lineno or node.lineno) + 1) if k not in dropped]
    return textwrap.dedent("\n".join(kept))


def sources(paths: Iterable[Path]) -> Iterator[tuple[str, Path, str]]:
    """Origin, file and text of whatever stands below the paths: whole Python files, single programs, recordings."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            origin = str(file.relative_to(path)) if path.is_dir() else file.name
            if file.suffix in (".py", ".tir", ".txt"):
                yield origin, file, file.read_text(encoding="utf-8", errors="replace")
            elif file.name.endswith(".jsonl.gz"):
                seen: set[str] = set()
                with gzip.open(file, "rt", encoding="utf-8") as records:
                    for line in records:
                        record = json.loads(line)
                        for side in ("before", "after"):
                            text = record.get(side)
                            if isinstance(text, str) and text not in seen:
                                seen.add(text)
                                yield f"{origin}:{record.get('id', len(seen))}:{side}", file, text


# -- what becomes of a text -------------------------------------------------------------------------------------------


def tvm_reads(text: str) -> Any:
    """The program that TVM reads, with the constants of the text.

    :raises Exception: TVM's own, whatever it is.
    """
    import tvm.script
    from tvm.script.parser.core.entry import _default_globals

    head, body, names = [], [], dict(_default_globals())
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if line.startswith(("@", "class ", "def ")):
            body = lines[k:]
            break
        head.append(line)
    for line in head:
        if found := re.fullmatch(r"from tvm.script import (\w+)(?: as (\w+))?", line):
            names[found[2] or found[1]] = names.get(found[1], names["T"])
        elif (found := re.fullmatch(r"(\w+) = (.+)", line)) and _literal(ast.parse(found[2], mode="eval").body):
            names[found[1]] = eval(found[2], {"TypeVar": names["TypeVar"]})  # a literal, as checked
    return tvm.script.from_source("\n".join(body), extra_vars=names, check_well_formed=False)


def tvm_prints(program: Any) -> str:
    """TVM's own text of what it has read, without Relax's functions."""
    import tvm

    if isinstance(program, tvm.IRModule):
        kept = {v: f for v, f in program.functions.items() if isinstance(f, tvm.tirx.PrimFunc)}
        program = tvm.IRModule(kept, attrs=program.attrs)
    return str(program.script(show_meta=True))


def examine(origin: str, file: str, source: str, with_tvm: bool) -> Found:
    """All texts of one source, read here and by TVM."""
    found = Found()
    python = file.endswith(".py")
    for line, text in texts_of_python(source) if python else [(0, source)]:
        name = f"{origin}:{line}" if python else origin
        if not with_tvm or not python:
            found.texts.append(read_here(name, text, with_tvm))
            continue
        try:
            program = tvm_reads(text)
        except BaseException as problem:  # SystemExit among them
            found.unread[_first_line(problem)] += 1
            continue
        found.texts.append(read_here(f"{name} (as written)", text, with_tvm))
        try:
            printed = tvm_prints(program)
        except Exception as problem:
            found.unread[_first_line(problem)] += 1
            continue
        found.texts.append(read_here(f"{name} (as printed)", printed, with_tvm))
    return found


def read_here(origin: str, text: str, with_tvm: bool) -> Text:
    """One text, read, printed, and read by TVM."""
    one = Text(origin, text)
    try:
        program = parse(text)
    except ScriptError as refused:
        one.outcome = f"{refused.message}\n{refused.source_line.strip()}"
        return one
    except Exception as fault:  # what must not happen
        one.outcome = f"FAULT {type(fault).__name__}: {fault}"
        return one
    one.outcome = "read"
    one.printed = script(program)
    if with_tvm:
        one.again = _again(one.printed)
        if one.again != "read" and _again(script(program, flat=True)) == "read":
            one.again = FLAT
    return one


def _again(printed: str) -> str:
    """What TVM makes of a text of ours."""
    try:
        tvm_reads(printed)
    except BaseException as problem:
        return _first_line(problem)
    return "read"


def _first_line(problem: BaseException) -> str:
    lines = [line for line in str(problem).splitlines() if line.strip()]
    told = next((line for line in reversed(lines) if line.startswith(("error:", "\x1b"))), "")
    return re.sub(r"\x1b\[[0-9;]*m", "", told) or f"{type(problem).__name__}: {lines[-1] if lines else ''}"


def results(paths: list[Path], with_tvm: bool) -> Iterator[Found]:
    """What is found in each source, each in a process that may die of TVM."""
    pool = ProcessPoolExecutor(max_workers=1)
    for origin, file, source in sources(paths):
        try:
            yield pool.submit(examine, origin, str(file), source, with_tvm).result()
        except BrokenProcessPool:
            pool = ProcessPoolExecutor(max_workers=1)
            yield Found([], Counter({f"{origin}: TVM crashed": 1}))
    pool.shutdown()


# -- the table --------------------------------------------------------------------------------------------------------


def cause(message: str) -> str:
    """The message without what differs from text to text."""
    head = message.splitlines()[0] if message else ""
    head = re.sub(r"(?<![\w.])\d+(?![\w.])", "#", head)
    return re.sub(r"unknown name \w+.*", "unknown name", head)[:150]


def table(title: str, outcomes: list[tuple[str, Text]], show: int) -> None:
    """The rate, and the causes of the rest by frequency."""
    good = sum(outcome == "read" for outcome, _ in outcomes)
    print(f"{title}: {good} of {len(outcomes)} ({100 * good / max(1, len(outcomes)):.1f} %)")
    groups: dict[str, list[tuple[str, Text]]] = {}
    for outcome, one in outcomes:
        if outcome != "read":
            groups.setdefault(cause(outcome), []).append((outcome, one))
    for why, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(group):6}  {why}")
        for outcome, one in group[:show]:
            print(f"          {one.origin}: {' '.join(outcome.splitlines()[1:])}")
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    parser.add_argument("--show", type=int, default=0, help="examples for each cause")
    parser.add_argument("--no-tvm", action="store_true", help="do not ask TVM, though it is installed")
    parser.add_argument("--json", type=Path, help="write every text to this file, one object a line")
    options = parser.parse_args()
    with_tvm = not options.no_tvm
    if with_tvm:
        try:
            import tvm.script  # noqa: F401
        except ImportError:
            with_tvm = False
    texts: dict[str, Text] = {}
    unread: Counter[str] = Counter()
    for found in results(options.paths, with_tvm):
        for one in found.texts:
            texts.setdefault(one.text, one)
        unread += found.unread
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(one)) + "\n" for one in texts.values()), encoding="utf-8")
    every = list(texts.values())
    table("Texts that are read", [(one.outcome, one) for one in every], options.show)
    if with_tvm:
        table(
            "Texts of ours that TVM reads", [(one.again, one) for one in every if one.outcome == "read"], options.show
        )
        print(f"{unread.total()} texts of Python files that TVM does not read by themselves")
    return 0


if __name__ == "__main__":
    sys.exit(main())
