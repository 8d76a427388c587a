"""What one arbitrary run of a statement touches, evaluates and assumes: each access with its place and conditions."""

from __future__ import annotations

import re

import pytest

from tests.kernel.programs import PROVER, buffer, load, program, why
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, StringImm, Var
from verified_tir.ir.stmt import For, Seq, While, seq
from verified_tir.ir.sugar import const
from verified_tir.kernel.access import BARRIER, Access, conflicts, overlap
from verified_tir.kernel.begin import begin
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.region import evaluation, instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'


def run_of(text: str, *, apart: bool = True, meanwhile: str = "") -> list[str]:
    """The run of a program's body, a line for each access, condition of safety and assumption.

    What is loaded of memory that the statement does not write is ``X(i)``; what may differ in each run is a variable,
    ``X'``, ``X''``; ``int(x)`` says that x is an int32.

    :param apart: whether loads of what the statement writes are.
    :param meanwhile: buffers that something else writes.
    """
    func = program(text, PARAMS)
    others = [b.data for b in func.buffers if b.name in meanwhile]
    context = begin(func, Entry())
    known = dict(context.env)
    written = {*others, *(written_blocks(func.body) if apart else ())}
    run = instance(context, func.body, written=written)
    assert context.env == known
    names: dict[str, str] = {str(e.value.payload): v.name for v, e in known.items()}
    counts: dict[str, int] = {}

    def name(found: re.Match[str]) -> str:
        word = found[0]
        if word not in names:
            base = found[1]
            counts[base] = counts.get(base, 0) + 1
            names[word] = base + "'" * counts[base]
        return names[word]

    def words(t: Term) -> str:
        text = re.sub(r"([A-Za-z]+(?:\.def)?)!\d+", name, re.sub(r"@\d+", "", str(t)))
        return re.sub(r"\(and \(<= \(- 2147483648\) (.+?)\) \(<= \1 2147483647\)\)", r"int(\1)", text)

    def under(given: tuple[Term, ...]) -> str:
        return "".join(f" if {words(g)}" for g in given)

    lines = []
    for a in run.accesses:
        what = "barrier" if a.buffer is BARRIER else f"{a.buffer.name}[{', '.join(map(words, a.address))}]"
        value = "" if a.buffer is BARRIER else f" = {words(a.value.value)} ({words(a.value.defined)})"
        inner = f" of {', '.join(map(words, a.inner))}" if a.inner else ""
        lines.append(f"{'writes' if a.write else 'reads'} {what}{value} at {a.place}{inner}{under(a.given)}")
    for place, s in run.safety:
        lines.append(f"{s.kind}: {words(s.condition)} at {place}{under(s.premises)}")
    for assumed in run.assumed:
        lines.append(f"found: {words(assumed.condition)}{under(assumed.premises)}")
    lines.append(f"havoc: {', '.join(map(words, run.havoc))}")
    return lines


CASES = {
    'a branch in a loop': (
        'for i in range(n):\n    if X[i] > 0:\n        A[i] = A[i] + 1\n    else:\n        B[X[i]] = n',
        True,
        "",
        """
        - reads X[i'] = (X i') ((X.def i')) at (0,) of i' if (<= 0 i') if (< i' n)
        - reads A[i'] = A' (A.def') at (0, 0) of i' if (<= 0 i') if (< i' n) if (< 0 (X i')) if (X.def i')
        - writes A[i'] = (+ (mod (+ A' 2147483649) 4294967296) (- 2147483648)) (A.def') at (0, 0) of i' if (<=
            0 i') if (< i' n) if (< 0 (X i')) if (X.def i') if int(A')
        - reads X[i'] = (X i') ((X.def i')) at (0, 1) of i' if (<= 0 i') if (< i' n) if (<= (X i') 0) if
            (X.def i')
        - writes B[(X i')] = n (true) at (0, 1) of i' if (<= 0 i') if (< i' n) if (<= (X i') 0) if (X.def i')
        - no overflow: (=> (< 0 n) int((+ n (- 1)))) at ()
        - in bounds: (and (<= 0 i') (< i' 8)) at (0,) if (<= 0 i') if (< i' n)
        - a branch on undef: (X.def i') at (0,) if (<= 0 i') if (< i' n)
        - in bounds: (and (<= 0 i') (< i' 8)) at (0, 0) if (<= 0 i') if (< i' n) if (< 0 (X i')) if (X.def i')
            if int(A')
        - in bounds: (and (<= 0 i') (< i' 8)) at (0, 0) if (<= 0 i') if (< i' n) if (< 0 (X i')) if (X.def i')
            if int(A')
        - in bounds: (and (<= 0 i') (< i' 8)) at (0, 1) if (<= 0 i') if (< i' n) if (<= (X i') 0) if (X.def
            i')
        - an index that is undef: (X.def i') at (0, 1) if (<= 0 i') if (< i' n) if (<= (X i') 0) if (X.def i')
        - in bounds: (and (<= 0 (X i')) (< (X i') 8)) at (0, 1) if (<= 0 i') if (< i' n) if (<= (X i') 0) if
            (X.def i')
        - havoc: A', A.def'
        """,
    ),
    'an opaque call': (
        "A[0] = T.call_extern('int32', 'g', X[n]) // 2\nB[1] = 2",
        True,
        "",
        """
        - reads X[n] = X' (X.def') at (0,)
        - writes barrier at (0,) if int(X') if int(call')
        - writes A[0] = (div call' 2) (true) at (0,) if int(X') if int(call')
        - writes B[1] = 2 (true) at (1,)
        - in bounds: (and (<= 0 n) (< n 8)) at (0,) if int(X') if int(call')
        - havoc: X', X.def', call'
        """,
    ),
    'an opaque call that is handed a vector': (
        "T.evaluate(T.call_extern('int32', 'g', X[T.Ramp(n, 1, 4)]))\nB[0] = 1",
        True,
        "",
        """
        - reads X[(+ n lane')] = X' (X.def') at (0,) if (and (<= 0 lane') (< lane' 4))
        - writes barrier at (0,) if (and (<= 0 lane') (< lane' 4)) if int(X') if int(call')
        - writes B[0] = 1 (true) at (1,)
        - no overflow: int((+ n lane')) at (0,) if (and (<= 0 lane') (< lane' 4)) if int(X') if int(call')
        - in bounds: (and (<= 0 (+ n lane')) (< (+ n lane') 8)) at (0,) if (and (<= 0 lane') (< lane'
            4)) if int(X') if int(call')
        - havoc: X', X.def', call'
        """,
    ),
    'memory of its own, and a while loop': (
        "t = T.alloc_buffer((n,), 'int32')\nx: T.let[T.int32] = A[0]\nwhile x > n:\n    t[0] = x\n    t[1] = t[0]",
        True,
        "",
        """
        - reads A[0] = (A 0) ((A.def 0)) at (0,)
        - writes barrier at (0, 0)
        - writes t[0] = (A 0) ((A.def 0)) at (0, 0, 0, 0) if (< n (A 0)) if (A.def 0)
        - reads t[0] = t' (t.def') at (0, 0, 0, 1) if (< n (A 0)) if (A.def 0)
        - writes t[1] = t' (t.def') at (0, 0, 0, 1) if (< n (A 0)) if (A.def 0) if int(t')
        - an extent that is not negative: (<= 0 n) at ()
        - a branch on undef: (A.def 0) at (0, 0)
        - in bounds: (< 0 n) at (0, 0, 0, 0) if (< n (A 0)) if (A.def 0)
        - in bounds: (< 0 n) at (0, 0, 0, 1) if (< n (A 0)) if (A.def 0) if int(t')
        - in bounds: (< 1 n) at (0, 0, 0, 1) if (< n (A 0)) if (A.def 0) if int(t')
        - havoc: t', t.def'
        """,
    ),
    'lanes, and a mask': (
        'A.vstore([T.Ramp(n, 1, 4)], X[0:4], predicate=T.Ramp(0, 1, 4) < T.Broadcast(n, 4))\n'
        'T.evaluate(X[T.Ramp(n, 1, 4)])',
        True,
        "",
        """
        - reads X[lane'] = (X lane') ((X.def lane')) at (0,) of lane' if (and (<= 0 lane') (< lane' 4))
        - writes A[(+ n lane')] = (X lane') ((X.def lane')) at (0,) of lane' if (and (<= 0 lane') (< lane' 4))
            if (< lane' n)
        - reads X[(+ n lane'')] = (X (+ n lane'')) ((X.def (+ n lane''))) at (1,) if (and (<= 0 lane'') (<
            lane'' 4))
        - no overflow: int(lane') at (0,) if (and (<= 0 lane') (< lane' 4))
        - in bounds: (and (<= 0 lane') (< lane' 8)) at (0,) if (and (<= 0 lane') (< lane' 4))
        - no overflow: int(lane') at (0,) if (and (<= 0 lane') (< lane' 4))
        - no overflow: int((+ n lane')) at (0,) if (and (<= 0 lane') (< lane' 4))
        - in bounds: (and (<= 0 (+ n lane')) (< (+ n lane') 8)) at (0,) if (and (<= 0 lane') (< lane' 4)) if
            (< lane' n)
        - no overflow: int((+ n lane'')) at (1,) if (and (<= 0 lane'') (< lane'' 4))
        - in bounds: (and (<= 0 (+ n lane'')) (< (+ n lane'') 8)) at (1,) if (and (<= 0 lane'') (< lane'' 4))
        - havoc:
        """,
    ),
    'what is assumed and asserted': (
        "T.assume(A[0] > 0)\nassert n > 0, 'no'\nfor i in range(2):\n    T.assume(X[i] != 1)\n    B[i] = 1\nB[7] = 2",
        True,
        "",
        """
        - reads A[0] = (A 0) ((A.def 0)) at (0,)
        - writes barrier at (1,) if (< 0 (A 0)) if (A.def 0)
        - reads X[i'] = (X i') ((X.def i')) at (2, 0, 0) of i' if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<= 0
            i') if (< i' 2)
        - writes B[i'] = 1 (true) at (2, 0, 1) of i' if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<= 0 i') if (<
            i' 2) if (not (= (X i') 1)) if (X.def i')
        - writes B[7] = 2 (true) at (3,) if (< 0 (A 0)) if (A.def 0) if (< 0 n)
        - a branch on undef: (A.def 0) at (0,)
        - the assumption holds: (< 0 (A 0)) at (0,)
        - in bounds: (and (<= 0 i') (< i' 8)) at (2, 0, 0) if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<= 0 i')
            if (< i' 2)
        - a branch on undef: (X.def i') at (2, 0, 0) if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<= 0 i') if (<
            i' 2)
        - the assumption holds: (not (= (X i') 1)) at (2, 0, 0) if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<=
            0 i') if (< i' 2)
        - in bounds: (and (<= 0 i') (< i' 8)) at (2, 0, 1) if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<= 0 i')
            if (< i' 2) if (not (= (X i') 1)) if (X.def i')
        - found: (and (< 0 (A 0)) (A.def 0))
        - found: (< 0 n) if (< 0 (A 0)) if (A.def 0)
        - found: (and (not (= (X i') 1)) (X.def i')) if (< 0 (A 0)) if (A.def 0) if (< 0 n) if (<= 0 i') if (<
            i' 2)
        - havoc:
        """,
    ),
    'one moment': (
        'A[0] = A[1] + X[0]',
        False,
        "",
        """
        - reads A[1] = (A 1) ((A.def 1)) at ()
        - reads X[0] = (X 0) ((X.def 0)) at ()
        - writes A[0] = (+ (mod (+ (+ (A 1) (X 0)) 2147483648) 4294967296) (- 2147483648)) ((and (A.def 1)
            (X.def 0))) at ()
        - havoc:
        """,
    ),
    'views and their extents': (
        "V = T.decl_buffer((n, 2), 'int32', data=A.data, strides=(n, 1), elem_offset=n)\nV[0, 1] = 3",
        True,
        "",
        """
        - writes V[(+ (+ n (* 0 n)) 1)] = 3 (true) at (0,)
        - in bounds: (< 0 n) at (0,)
        - accessible: (and (<= 0 (* 4 (+ (+ n (* 0 n)) 1))) (<= (+ (* 4 (+ (+ n (* 0 n)) 1)) 4) 32)) at (0,)
        - havoc:
        """,
    ),
    'local memory that is only read': (
        "t = T.alloc_buffer((2,), 'int32')\nA[0] = t[0]",
        True,
        '',
        """
        - reads t[0] = t' (t.def') at (0,)
        - writes A[0] = t' (t.def') at (0,) if int(t')
        - havoc: t', t.def'
        """,
    ),
    'what others write': (
        'A[0] = X[0] + B[0]',
        True,
        'X',
        """
        - reads X[0] = X' (X.def') at ()
        - reads B[0] = (B 0) ((B.def 0)) at () if int(X')
        - writes A[0] = (+ (mod (+ (+ X' (B 0)) 2147483648) 4294967296) (- 2147483648)) ((and X.def' (B.def
            0))) at () if int(X')
        - havoc: X', X.def'
        """,
    ),
    'what others write, at one moment': (
        'A[0] = X[0] + A[1]',
        False,
        'X',
        """
        - reads X[0] = X' (X.def') at ()
        - reads A[1] = (A 1) ((A.def 1)) at () if int(X')
        - writes A[0] = (+ (mod (+ (+ X' (A 1)) 2147483648) 4294967296) (- 2147483648)) ((and X.def' (A.def
            1))) at () if int(X')
        - havoc: X', X.def'
        """,
    ),
    'a pure call': (
        'A[0] = T.abs(X[0])',
        True,
        '',
        """
        - reads X[0] = (X 0) ((X.def 0)) at ()
        - writes A[0] = (+ (mod (+ (ite (< (X 0) 0) (* (- 1) (X 0)) (X 0)) 2147483648) 4294967296) (-
            2147483648)) ((X.def 0)) at ()
        - havoc:
        """,
    ),
    'pure calls beside an opaque one': (
        "A[0] = T.call_extern('int32', 'g') // T.abs(n)",
        True,
        '',
        """
        - writes barrier at () if int(call')
        - writes A[0] = (ite (< 0 (+ (mod (+ (ite (< n 0) (* (- 1) n) n) 2147483648) 4294967296) (-
            2147483648))) (div call' (+ (mod (+ (ite (< n 0) (* (- 1) n) n) 2147483648) 4294967296) (-
            2147483648))) (div (* (- 1) call') (* (- 1) (+ (mod (+ (ite (< n 0) (* (- 1) n) n)
            2147483648) 4294967296) (- 2147483648))))) (true) at () if int(call')
        - no division by zero: (not (= (+ (mod (+ (ite (< n 0) (* (- 1) n) n) 2147483648) 4294967296) (-
            2147483648)) 0)) at () if int(call')
        - no overflow: (not (and (= call' (- 2147483648)) (= (+ (mod (+ (ite (< n 0) (* (- 1) n) n)
            2147483648) 4294967296) (- 2147483648)) (- 1)))) at () if int(call')
        - havoc: call'
        """,
    ),
    'an index beside an opaque call': (
        "A[X[0]] = T.call_extern('int32', 'g')",
        False,
        '',
        """
        - writes barrier at () if int(call')
        - reads X[0] = X' (X.def') at () if int(call')
        - writes A[X'] = call' (true) at () if int(call') if int(X')
        - an index that is undef: X.def' at () if int(call') if int(X')
        - in bounds: (and (<= 0 X') (< X' 8)) at () if int(call') if int(X')
        - havoc: call', X', X.def'
        """,
    ),
    'a value beside an opaque call': (
        "A[T.call_extern('int32', 'g')] = X[0]",
        False,
        '',
        """
        - writes barrier at ()
        - reads X[0] = X' (X.def') at ()
        - writes A[call'] = X' (X.def') at () if int(X') if int(call')
        - in bounds: (and (<= 0 call') (< call' 8)) at () if int(X') if int(call')
        - havoc: X', X.def', call'
        """,
    ),
    'an index that an opaque call gives': (
        "A[0] = X[T.call_extern('int32', 'g')]",
        True,
        '',
        """
        - reads X[call'] = X' (X.def') at () if int(call')
        - writes barrier at () if int(call') if int(X')
        - writes A[0] = X' (X.def') at () if int(call') if int(X')
        - in bounds: (and (<= 0 call') (< call' 8)) at () if int(call') if int(X')
        - havoc: call', X', X.def'
        """,
    ),
    'an opaque call in one case only': (
        "A[0] = T.if_then_else(n > 0, T.call_extern('int32', 'g', X[n]), 1)",
        True,
        '',
        """
        - reads X[n] = X' (X.def') at () if (< 0 n)
        - writes barrier at () if int(X') if int(call')
        - writes A[0] = (ite (< 0 n) call' 1) (true) at () if int(X') if int(call')
        - in bounds: (and (<= 0 n) (< n 8)) at () if int(X') if int(call') if (< 0 n)
        - havoc: X', X.def', call'
        """,
    ),
    'what is evaluated in one case only': (
        'A[0] = T.if_then_else(n > 0, X[n], 1)',
        True,
        '',
        """
        - reads X[n] = (X n) ((X.def n)) at () if (< 0 n)
        - writes A[0] = (ite (< 0 n) (X n) 1) ((ite (< 0 n) (X.def n) true)) at ()
        - in bounds: (and (<= 0 n) (< n 8)) at () if (< 0 n)
        - havoc:
        """,
    ),
    'bounds of a loop': (
        'for i in range(X[0], n):\n    A[0] = i',
        True,
        '',
        """
        - reads X[0] = (X 0) ((X.def 0)) at ()
        - reads X[0] = (X 0) ((X.def 0)) at ()
        - writes A[0] = i' (true) at (0,) of i' if (<= (X 0) i') if (< i' (+ (X 0) (+ (mod (+ (- n (X 0))
            2147483648) 4294967296) (- 2147483648))))
        - a loop bound that is undef: (X.def 0) at ()
        - a loop bound that is undef: (X.def 0) at ()
        - no overflow: (=> (< 0 (+ (mod (+ (- n (X 0)) 2147483648) 4294967296) (- 2147483648))) int((+ (+ (X
            0) (+ (mod (+ (- n (X 0)) 2147483648) 4294967296) (- 2147483648))) (- 1)))) at ()
        - havoc:
        """,
    ),
    'a bound that each iteration around it writes': (
        'for i in range(2):\n    for j in range(X[0]):\n        A[j] = 1\n    X[0] = 8',
        True,
        '',
        """
        - reads X[0] = X' (X.def') at (0, 0) of i' if (<= 0 i') if (< i' 2)
        - writes A[j'] = 1 (true) at (0, 0, 0) of i', j' if (<= 0 i') if (< i' 2) if int(X') if (<= 0 j') if (<
            j' X')
        - writes X[0] = 8 (true) at (0, 1) of i' if (<= 0 i') if (< i' 2)
        - a loop bound that is undef: X.def' at (0, 0) if (<= 0 i') if (< i' 2) if int(X')
        - no overflow: (=> (< 0 X') int((+ X' (- 1)))) at (0, 0) if (<= 0 i') if (< i' 2) if int(X')
        - in bounds: (and (<= 0 j') (< j' 8)) at (0, 0, 0) if (<= 0 i') if (< i' 2) if int(X') if (<= 0 j') if
            (< j' X')
        - havoc: X', X.def'
        """,
    ),
    'strides and offsets': (
        "x: T.let[T.int32] = X[0]\ny: T.let[T.int32] = X[1]\n"
        "V = T.decl_buffer((2,), 'int32', data=A.data, strides=(x,), elem_offset=y)\nB[0] = 1",
        True,
        '',
        """
        - reads X[0] = (X 0) ((X.def 0)) at ()
        - reads X[1] = (X 1) ((X.def 1)) at (0,)
        - writes B[0] = 1 (true) at (0, 0, 0)
        - an extent that is undef: (X.def 0) at (0, 0)
        - an extent that is undef: (X.def 1) at (0, 0)
        - havoc:
        """,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "apart", "meanwhile", "expected"), CASES.values(), ids=CASES)
def test_what_a_run_touches(text: str, apart: bool, meanwhile: str, expected: str) -> None:
    found = "\n".join(f"- {line}" for line in run_of(text, apart=apart, meanwhile=meanwhile))
    assert found.split() == expected.split(), found


@pytest.mark.parametrize("text", ["while X[n] > 0:\n    X[0] = 1", "assert X[n] > 0, 'no'", "A[0:4] = X[0:4]"])
def test_what_is_evaluated_leaves_the_place_as_it_was(text: str) -> None:
    """The condition of a while loop is evaluated after arbitrarily many iterations, but the loop begins before them."""
    func = program(text, PARAMS)
    here = begin(func, Entry())
    path, env, memory, seen = [*here.path], {**here.env}, {**here.memory}, {*here.seen}
    found = evaluation(here, func.body).context
    assert (here.path, here.env, here.memory, here.seen) == (path, env, memory, seen)
    assert (found.memory == memory) is not isinstance(func.body, While)


@pytest.mark.parametrize(("start", "fine"), [("0", True), ("4", True), ("5", False), ("-1", False), ("n", False)])
def test_each_lane_that_a_call_is_handed_is_in_bounds(start: str, *, fine: bool) -> None:
    text = f"T.evaluate(T.call_extern('int32', 'g', X[T.Ramp({start}, 1, 4)]))"
    found = verify_program(program(text, PARAMS), PROVER)
    assert isinstance(found, tuple) is fine
    if isinstance(found, (NoMatch, Unproved)):
        assert "in bounds" in why(found) or "no overflow" in why(found)


OVERLAPPING = """
V = T.decl_buffer((32,), "int8", data=A.data)
W = T.decl_buffer((8,), "int8x4", data=A.data)
S = T.decl_buffer((4, 2), "int32", data=A.data)
A[{k}] = 1
V[{v}] = T.int8(1)
W[{w}] = T.Broadcast(T.int8(1), 4)
S[{s}] = 1
"""


def test_accesses_of_several_types_overlap_in_bytes() -> None:
    """``A[k]`` has the bytes from 4k on, and so has ``W[k]``; ``V[j]`` is one byte."""
    for k, v, w, s in ((1, 4, 1, (0, 1)), (1, 7, 0, (0, 0)), (2, 7, 2, (1, 0)), (2, 12, 3, (1, 1)), (3, 11, 2, (0, 1))):
        func = program(OVERLAPPING.format(k=k, v=v, w=w, s=f"{s[0]}, {s[1]}"), PARAMS)
        context = begin(func, Entry())
        a, one, four, square = (x for x in instance(context, func.body).accesses)
        meets = {
            (a, one): v // 4 == k,
            (a, square): 2 * s[0] + s[1] == k,
            (square, one): v // 4 == 2 * s[0] + s[1],
        }
        for (x, y), expected in meets.items():
            assert overlap(x, y) is overlap(y, x) is f.boolean(expected)
        lanes = [f.replace(overlap(x, four), {four.inner[0]: f.integer(lane)}) for x in (a, one) for lane in range(4)]
        assert lanes == [f.boolean(w == k)] * 4 + [f.boolean(w * 4 + lane == v) for lane in range(4)]


def test_in_another_iteration_other_values_of_the_same_blocks_are_open() -> None:
    """What is loaded of licensed blocks and what a store leaves there, of each in its turn; other blocks have bits."""
    params = ", ".join(f'{name}: T.Buffer((8,), "float32")' for name in "ABDX")
    func = program("for i in range(8):\n    D[i] = A[i] + B[i]\n    A[i] = D[i] + A[i]\n    B[i] = D[i] + B[i]", params)
    licensed = {b.data for b in func.buffers if b.name in "AB"}
    context = begin(func, Entry(licensed=frozenset(licensed)))
    run = instance(context, func.body)
    apart = run.renamed_apart()
    assert apart.keys() == set(run.havoc) and not apart.keys() & set(apart.values())
    loads = {a.value.value: a.buffer.data for a in run.accesses if not a.write}
    left = {a.value.value: a.buffer.data for a in run.accesses if a.write and a.buffer.data in licensed}
    assert run.held == left.keys() and {*loads.values()} > {*left.values()} == licensed
    for value, block in (loads | left).items():
        other = apart[value]
        for term in (value, other):
            premise = f.fp("fp.isNaN", f.BOOL, term)
            assert context.usable(premise) == (() if block in licensed else (premise,))


def test_nothing_moves_past_a_barrier_and_reads_do_not_meet() -> None:
    func = program("A[n] = A[1] + B[2]\nT.evaluate(T.call_extern('int32', 'g'))\nB[3] = B[4]", PARAMS)
    context = begin(func, Entry())
    accesses = list(instance(context, func.body).accesses)

    def named(x: Access) -> str:
        return f"{'w' if x.write else 'r'}{'' if x.buffer is BARRIER else x.buffer.name}"

    pairs = [(named(x), named(y)) for x, y in conflicts(accesses, accesses)]
    assert [named(x) for x in accesses] == ["rA", "rB", "wA", "w", "rB", "wB"]
    assert pairs == [
        ("rA", "wA"), ("rA", "w"), ("rB", "w"), ("rB", "wB"), ("wA", "rA"), ("wA", "wA"), ("wA", "w"),
        *(("w", named(y)) for y in accesses), ("rB", "w"), ("rB", "wB"),
        ("wB", "rB"), ("wB", "w"), ("wB", "rB"), ("wB", "wB"),
    ]  # fmt: skip
    barrier = accesses[3]
    assert all(overlap(barrier, x) is overlap(x, barrier) is f.TRUE for x in accesses)
    assert overlap(accesses[2], accesses[5]) is f.FALSE


def test_what_a_bound_calls_may_write_what_the_other_one_loads() -> None:
    func = program("A[0] = 1\nB[0] = 1", PARAMS)
    assert isinstance(func.body, Seq)
    one, store = func.body.stmts
    called = Call(INT32, "call_extern", (StringImm("g"),))
    for low, why_not in ((called, "3 // A[0]: a divisor that is undef (Refuted)"), (const(0), "")):
        loop = For(Var.fresh("i"), low, const(3) // load(buffer(func, "A"), 0), store)
        found = verify_program(func.with_body(seq(one, loop)), PROVER)
        assert (why(found) if isinstance(found, (NoMatch, Unproved)) else "") == (why_not and f"safety: {why_not}")
