"""Text in, text out: what is printed reads back, and what cannot be read is refused with its place.

Cases are programs with every node class (printed, read, printed again), modules, index maps, and texts that something
happened to.  Now and then the command ``vtir`` is given such a text as a file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, final

from hypothesis import strategies as st

from tests.fuzz.targets.texts import mutated_texts
from tests.parts.roundtrip import assert_index_map_round_trip, assert_read_or_refused, assert_round_trip
from tests.parts.syntax import syntactic_functions, syntactic_modules
from tests.parts.trees import tree_text
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.index.map import IndexMap
from verified_tir.index.parse import parse_index_map
from verified_tir.ir import expr, stmt
from verified_tir.ir.dtype import DType
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.script import ScriptError, script
from verified_tir.ir.visit import walk


@final
@dataclass(frozen=True, slots=True)
class TextCase:
    """A text; ``as_file``: the command reads it, too."""

    text: str
    as_file: bool


@final
@dataclass(frozen=True, slots=True)
class MapCase:
    """The text of an index map in int32 or int64."""

    text: str
    dtype: str


ParserCase: TypeAlias = PrimFunc | IRModule | TextCase | MapCase

_KINDS = {
    name
    for module in (expr, stmt)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, (expr.Expr, stmt.Stmt)) and found not in (expr.Expr, stmt.Stmt)
}
_COMMAND = "from verified_tir.cli.main import main; main()"
_PLACE = re.compile(r"error: case\.py(:\d+)*: |case\.py(:\d+)*: error: ")


@final
class ParserTarget:
    """See the module."""

    name = "parser"
    summary = "printed programs against what is read; damaged texts against refusals with a place"
    requires: Sequence[str] = ()

    def universe(self) -> Sequence[tuple[str, str]]:
        """Node classes that were printed and read, and how texts ended."""
        ends = ("read", "refused", "index map", "command")
        return [*(("node", name) for name in sorted(_KINDS)), *(("text", end) for end in ends)]

    def cases(self) -> st.SearchStrategy[ParserCase]:
        """Programs, modules, damaged texts, index maps."""
        rarely = st.integers(0, 299).map(lambda k: k == 299)
        texts = st.builds(TextCase, mutated_texts(), rarely)
        functions = syntactic_functions()
        return st.one_of(functions, functions, texts, texts, syntactic_modules(), _index_maps())

    def check(self, case: ParserCase, observed: Observed) -> None:
        """The properties of ``tests.parts.roundtrip``."""
        match case:
            case TextCase(text=text, as_file=as_file):
                observed.count("texts")
                found = assert_read_or_refused(text)
                refused = isinstance(found, ScriptError)
                observed.count("refused" if refused else "accepted")
                observed.cover("text", "refused" if refused else "read")
                if as_file:
                    observed.cover("text", "command")
                    _check_command(text, refused)
            case MapCase(text=text, dtype=dtype):
                observed.count("index maps")
                observed.cover("text", "index map")
                assert_index_map_round_trip(_index_map(text, dtype))
            case _:
                observed.count("programs")
                for func in [case] if isinstance(case, PrimFunc) else [f for _, f in case.functions]:
                    for kind in {type(n).__name__ for n in walk(func.body)} & _KINDS:
                        observed.cover("node", kind)
                assert_round_trip(case)

    def as_test(self, case: ParserCase, name: str) -> str:
        """A program is written as a literal: it could not be as a text, whose meaning is what failed."""
        match case:
            case TextCase(text=text, as_file=as_file):
                if as_file:
                    return _COMMAND_TEST.format(name=name, text=text)
                return _TEXT_TEST.format(name=name, text=text)
            case MapCase(text=text, dtype=dtype):
                return _MAP_TEST.format(name=name, text=text, dtype=dtype)
        return _PROGRAM_TEST.format(name=name, shown=_commented(case), tree=tree_text(case))


TARGET = ParserTarget()


def _index_map(text: str, dtype: str) -> IndexMap:

    return parse_index_map(text, {}, DType.parse(dtype))


@st.composite
def _index_maps(draw: st.DrawFn) -> MapCase:
    """Index maps as people write them; an expression in each place."""
    names = draw(st.lists(st.sampled_from(["i", "j", "k", "T", "i_1", "max"]), min_size=1, max_size=3, unique=True))
    leaves = st.one_of(st.sampled_from(names), st.integers(-9, 2**31 - 1).map(str))
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    expressions = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(inner, inner).map(lambda t: f"T.min({t[0]}, {t[1]})"),
            st.tuples(inner, inner, inner).map(lambda t: f"T.Select({t[0]} < {t[1]}, {t[2]}, {t[0]})"),
        ),
        max_leaves=6,
    )
    outputs = draw(st.lists(st.one_of(expressions, st.just("AXIS_SEPARATOR")), min_size=1, max_size=4))
    text = f"lambda {', '.join(names)}: [{', '.join(outputs)}]"
    dtype = draw(st.sampled_from(["int32", "int64"]))
    try:
        _index_map(text, dtype)
    except ValueError:  # a constant that does not fit, a division by zero, a type: no map to begin with
        return MapCase(f"lambda {', '.join(names)}: [{', '.join(names)}]", dtype)
    return MapCase(text, dtype)


def _check_command(text: str, refused: bool) -> None:
    """``vtir lower`` reads a file with this text: an error with a place, and no traceback."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.py")
        try:
            path.write_text(text, encoding="utf-8")
        except UnicodeEncodeError:
            return
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, "lower", "case.py", "--pipeline", "none"],
            cwd=folder, env={**os.environ, "PYTHONWARNINGS": "ignore"}, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
    shown = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    if "Traceback (most recent call last)" in shown or done.returncode not in (0, 1, 2):
        raise Disagreement("command-crash", "vtir lower", f"{shown}\n{text!r}")
    if refused and (done.returncode != 2 or not _PLACE.search(shown)):
        raise Disagreement("command-without-place", "vtir lower", f"exit code {done.returncode}: {shown}\n{text!r}")


def _commented(program: PrimFunc | IRModule) -> str:
    try:
        text = script(program)
    except Exception as problem:
        return f"    # (it cannot be printed: {type(problem).__name__})"
    return "\n".join(f"    # {line}".rstrip() for line in text.splitlines())


_PROGRAM_TEST = """\
from tests.parts.roundtrip import assert_round_trip
from tests.parts.trees import from_tree


def {name}():
{shown}
    assert_round_trip(from_tree(PROGRAM))


PROGRAM = {tree}
"""
_TEXT_TEST = """\
from tests.parts.roundtrip import assert_read_or_refused


def {name}():
    assert_read_or_refused(TEXT)


TEXT = {text!r}
"""
_COMMAND_TEST = """\
import os
import subprocess
import sys


def {name}(tmp_path):
    (tmp_path / "case.py").write_text(TEXT, encoding="utf-8")
    command = "from verified_tir.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "lower", "case.py", "--pipeline", "none"], cwd=tmp_path, capture_output=True,
        env={{**os.environ, "PYTHONWARNINGS": "ignore"}}, text=True, timeout=120, check=False,
    )
    shown = done.stdout + done.stderr
    assert "Traceback" not in shown and done.returncode in (0, 1, 2), shown
    assert done.returncode != 2 or "error: " in shown and "case.py:" in shown, shown


TEXT = {text!r}
"""
_MAP_TEST = """\
from verified_tir.ir.dtype import DType
from verified_tir.index.parse import parse_index_map
from tests.parts.roundtrip import assert_index_map_round_trip


def {name}():
    assert_index_map_round_trip(parse_index_map({text!r}, {{}}, DType.parse("{dtype}")))
"""
