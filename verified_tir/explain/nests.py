"""The loop nest of a program as a picture: loops, blocks and branches are boxes in boxes, statements are lines.

The colour of a box tells how a loop runs, and so does a word in it.  Loops that the other program does not have are
framed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, final

from verified_tir.explain.drawing import NARROW, Drawing
from verified_tir.explain.markup import Markup, element, join
from verified_tir.ir.expr import Expr, IntImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script, script_lines
from verified_tir.ir.stmt import Allocate, Assume, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt, While
from verified_tir.ir.visit import sub_statements

LINE, INDENT, ABOVE, BELOW = 18.0, 6.0, 3.0, 4.0
"""Height of a line; from a box to what is in it; above and below a box."""
LONGEST = 36
"""Characters of a line."""
MOST = 120
"""Boxes and lines of a picture; what comes then is left out, and counted."""

_CLASSES = {"parallel": "parallel", "vectorized": "vectorized", "unrolled": "unrolled", "thread_binding": "thread"}
Kind = Literal["loop", "block", "branch", "line"]


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A box with its parts, or a line; ``runs`` is how a loop runs, if not one iteration after the other."""

    kind: Kind
    text: str
    runs: str = ""
    parts: tuple[Part, ...] = ()
    new: bool = False

    def __len__(self) -> int:
        return 1 + sum(map(len, self.parts))


def nest(func: PrimFunc, other: PrimFunc | None = None) -> tuple[Part, ...]:
    """The loop nest of a program; loops are new that are not in the ``other`` one."""
    lines, places = script_lines(func)
    known = Counter(map(_loop_text, _loops(other.body))) if other is not None else None
    texts = {path: lines[k].strip() for path, k in places.items()}
    return tuple(_parts(func.body, (), texts, known))


def _loops(stmt: Stmt) -> Iterator[For]:
    if isinstance(stmt, For):
        yield stmt
    for sub in sub_statements(stmt):
        yield from _loops(sub)


def _loop_text(s: For) -> tuple[str, str, str]:
    return s.var.name, s.kind, _range(s)


def _range(s: For) -> str:
    starts_at_zero = isinstance(s.min, IntImm) and s.min.value == 0
    return _expr(s.extent) if starts_at_zero else f"{_expr(s.min)} … {_expr(s.min + s.extent)}"


def _expr(e: Expr) -> str:
    return script(e)


def _parts(
    stmt: Stmt, path: Path, texts: dict[Path, str], known: Counter[tuple[str, str, str]] | None
) -> Iterator[Part]:
    def below(*which: int) -> tuple[Part, ...]:
        subs = sub_statements(stmt)
        return tuple(p for k in which for p in _parts(subs[k], (*path, k), texts, known))

    match stmt:
        case Seq(stmts=stmts):
            yield from below(*range(len(stmts)))
        case For():
            text = _loop_text(stmt)
            new = known is not None and known[text] == 0
            if known is not None:
                known[text] -= 1
            runs = stmt.thread or ("" if stmt.kind == "serial" else stmt.kind)
            yield Part("loop", f"for {stmt.var.name} in {_range(stmt)}", runs, below(0), new)
        case Block(name=name):
            yield Part("block", f"block {name}", "", below(*range(len(sub_statements(stmt)))))
        case If(condition=condition, else_body=otherwise):
            yield Part("branch", f"if {_expr(condition)}", "", below(0))
            if otherwise is not None:
                yield Part("branch", "else", "", below(1))
        case While(condition=condition):
            yield Part("loop", f"while {_expr(condition)}", "", below(0))
        case Allocate(buffer=b):
            shape = ", ".join(map(_expr, b.shape))
            yield Part("line", f"{b.name}: {b.dtype}[{shape}] in {b.scope}")
            yield from below(0)
        case LetStmt() | DeclBuffer() | AttrStmt():
            yield Part("line", texts.get(path, type(stmt).__name__))
            yield from below(0)
        case Assume(condition=condition):
            yield Part("line", f"assume {_expr(condition)}")
        case _:
            yield Part("line", texts.get(path, type(stmt).__name__))


def same_loops(a: Sequence[Part], b: Sequence[Part]) -> bool:
    """Whether two nests have the same boxes: what stands on their lines does not count."""
    left, right = ([p for p in parts if p.kind != "line"] for parts in (a, b))
    return len(left) == len(right) and all(
        (p.kind, p.text, p.runs) == (q.kind, q.text, q.runs) and same_loops(p.parts, q.parts)
        for p, q in zip(left, right, strict=True)
    )


def changed(before: Sequence[Part], after: Sequence[Part]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Both nests with the parts at their beginning and end that are the same shortened to a line each."""
    same = [0, 0]
    for k, step in enumerate((1, -1)):
        left, right = before[::step], after[::step]
        room = min(len(before), len(after)) - same[0]
        same[k] = next((n for n in range(room) if not _equal(left[n], right[n])), room)
    return _shortened_around(before, *same), _shortened_around(after, *same)


def _equal(a: Part, b: Part) -> bool:
    return (a.kind, a.text, a.runs, len(a.parts)) == (b.kind, b.text, b.runs, len(b.parts)) and all(
        map(_equal, a.parts, b.parts)
    )


def _shortened_around(parts: Sequence[Part], first: int, last: int) -> tuple[Part, ...]:
    end = len(parts) - last
    return tuple(p if first <= k < end else _folded(p) for k, p in enumerate(parts))


def _folded(p: Part) -> Part:
    """A part as one line, unless it is small."""
    return p if p.kind == "line" else Part("line", f"{p.text} …  (unchanged)")


# -- drawing -----------------------------------------------------------------------------------------------------------


def draw(parts: Sequence[Part], title: str) -> Drawing:
    """The picture of a loop nest."""
    kept, left = _shortened(parts, MOST)
    if left:
        kept = (*kept, Part("line", f"… and {left} more"))
    width = max((_width(p) for p in kept), default=80)
    drawn, height = _stack(kept, 1, 1, width)
    words = "; ".join(_said(parts)) or "no loop"
    return Drawing(width + 2, height + 2, drawn, title, f"The loop nest {title}: {words}.")


def _shortened(parts: Sequence[Part], room: int) -> tuple[tuple[Part, ...], int]:
    """As many boxes and lines as there is room for, and how many are left out."""
    kept: list[Part] = []
    left = 0
    for p in parts:
        if room <= 0:
            left += len(p)
            continue
        inner, more = _shortened(p.parts, room - 1)
        kept.append(Part(p.kind, p.text, p.runs, inner, p.new))
        room -= len(kept[-1])
        left += more
    return tuple(kept), left


def _said(parts: Sequence[Part]) -> Iterator[str]:
    """The loops in words, outermost first."""
    for p in parts:
        inner = list(_said(p.parts))
        if p.kind == "loop":
            head = f"{p.text}{', ' + p.runs if p.runs else ''}"
            yield f"{head} ({'; '.join(inner)})" if inner else head
        else:
            yield from inner


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _width(p: Part) -> float:
    own = (len(_short(p.text)) + (len(p.runs) + 3 if p.runs else 0)) * NARROW + 14
    return own if p.kind == "line" else max(own, max((_width(q) for q in p.parts), default=0) + 2 * INDENT)


def _stack(parts: Sequence[Part], x: float, y: float, width: float) -> tuple[Markup, float]:
    """Parts below each other; gives where they end."""
    drawn: list[Markup] = []
    for p in parts:
        if p.kind == "line":
            drawn.append(element("text", _short(p.text), x=x + 6, y=y + 13))
            y += LINE
            continue
        y += ABOVE
        inside, end = _stack(p.parts, x + INDENT, y + LINE + 1, width - 2 * INDENT)
        end += BELOW
        kind = "block" if p.kind == "block" else f"box {_CLASSES.get(p.runs, 'thread' if p.runs else 'serial')}"
        box = element("rect", x=x, y=y, width=width, height=end - y, rx=4, class_=f"{kind}{' new' if p.new else ''}")
        head = element("text", _short(p.text), x=x + 6, y=y + 13, class_="soft" if p.kind != "loop" else "strong")
        runs = element("text", p.runs, x=x + width - 6, y=y + 13, text_anchor="end") if p.runs else None
        drawn.append(join(box, head, runs, inside))
        y = end + ABOVE
    return join(*drawn), y
