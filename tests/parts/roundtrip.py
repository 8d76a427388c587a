"""Assertions about text: what was printed reads back, and what cannot be read is refused with its place."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from verified_tir.durations import duration
from verified_tir.fuzz.target import Disagreement
from verified_tir.index.map import IndexMap
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import places
from verified_tir.ir.script import ScriptError, parse, parse_func, script, script_lines
from verified_tir.ir.visit import free_vars

PATIENCE = 5.0
"""Seconds within which a text of a few kilobytes is read, or refused."""


def assert_round_trip(program: PrimFunc | IRModule) -> str:
    """Printing and parsing give the program again, and printing that the same text; each statement has its line.

    :returns: the text.
    :raises AssertionError: if one of these is not so.
    """
    with _crash_means("print-crash", "printer"):
        text = script(program)
    with _crash_means("parse-crash", "parser", text):
        again: PrimFunc | IRModule = parse_func(text) if isinstance(program, PrimFunc) else parse(text)
    if not structural_equal(program, again):
        with _crash_means("print-crash", "printer", text):
            other = script(again)
        raise Disagreement("reads-back-as-another", "script", f"reads back as another program:\n{text}\n\n{other}")
    with _crash_means("print-crash", "printer", text):
        second = script(again)
    if second != text:
        raise Disagreement("text-not-stable", "script", f"prints differently when read back:\n{text}\n\n{second}")
    for func in [program] if isinstance(program, PrimFunc) else [f for _, f in program.functions]:
        lines, starts = script_lines(func)
        if sorted(starts) != sorted(path for path, _ in places(func.body, lambda s: True)):
            raise Disagreement("statement-without-line", "script_lines", f"not every statement has a line:\n{text}")
        if "\n".join(lines) != script(func) or not all(0 <= k < len(lines) for k in starts.values()):
            raise Disagreement(
                "statement-without-line", "script_lines", f"the lines are not those of the text:\n{text}"
            )
    return text


def assert_read_or_refused(text: str) -> IRModule | ScriptError:
    """A text is a program, which then makes the round trip, or is refused with a place inside the text; and soon.

    :returns: the program, or the refusal.
    :raises AssertionError: if it is neither, or takes longer than :data:`PATIENCE`.
    """
    begun = time.perf_counter()
    found: IRModule | ScriptError
    with _patience(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's, about what stands in the text
        try:
            found = parse(text)
        except ScriptError as refusal:
            found = refusal
        except Disagreement:
            raise
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt):
                raise
            what = f"the parser raises {type(problem).__name__}: {problem}\n{text!r}"
            raise Disagreement("parser-crash", type(problem).__name__, what) from problem
    seconds = time.perf_counter() - begun
    if seconds > PATIENCE:
        raise Disagreement("parser-slow", "parser", f"the parser takes {duration(seconds)}\n{text!r}")
    if isinstance(found, ScriptError):
        _check_place(found, text)
    else:
        assert_round_trip(found)
    return found


def assert_index_map_round_trip(index_map: IndexMap) -> str:
    """The text of an index map, ``"lambda i, j: [j, i]"``, reads back as the same map, and prints the same.

    Free variables of the map (shape symbols) are found by their names, which must differ.

    :returns: the text.
    :raises AssertionError: if that is not so.
    """
    text = str(index_map)
    inside: dict[str, Var] = {}
    for e in index_map.outputs:
        inside |= {v.name: v for v in free_vars(e) if v not in index_map.inputs}
    try:
        again = parse_index_map(text, inside, index_map.dtype)
    except IRError as problem:
        raise Disagreement("index-map-unreadable", "index map", f"{text} does not read back: {problem}") from problem
    same = len(again.inputs) == len(index_map.inputs) and again.separators == index_map.separators
    same = same and len(again.outputs) == len(index_map.outputs) and str(again) == text
    if not same or any(a is not b for a, b in zip(again.apply(index_map.inputs), index_map.outputs, strict=True)):
        raise Disagreement("index-map-differs", "index map", f"{text} reads back as {again}")
    return text


def _check_place(refusal: ScriptError, text: str) -> None:
    """The line and column are in the text, and the message shows them."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    shown = str(refusal)
    wrong = ""
    if not 1 <= refusal.line <= len(lines) + 1:  # Python reports an unfinished text after its last line
        wrong = f"line {refusal.line} of {len(lines)}"
    elif refusal.column < 1:
        wrong = f"column {refusal.column}"
    elif not shown.startswith(f"{refusal.filename}:{refusal.line}:{refusal.column}: error: "):
        wrong = "no place at its head"
    elif not refusal.message.strip():
        wrong = "no message"
    if wrong:
        raise Disagreement("place-wrong", "ScriptError", f"the refusal has {wrong}: {shown!r}\n{text!r}")


@contextmanager
def _crash_means(kind: str, where: str, text: str = "") -> Iterator[None]:
    try:
        yield
    except Disagreement:
        raise
    except (Exception, RecursionError) as problem:
        raise Disagreement(kind, where, f"{type(problem).__name__}: {problem}\n{text}") from problem


@contextmanager
def _patience(text: str) -> Iterator[None]:
    """Ends what takes ten times as long as it may, where the system has alarms and this is the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise Disagreement("parser-hangs", "parser", f"the parser does not end\n{text!r}")

    before = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, 10 * PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)
