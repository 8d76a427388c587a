"""Every mistake is reported with its place; whatever the text, nothing but a ScriptError escapes."""

from __future__ import annotations

import random
import re

import pytest

from tests.ir.script.texts import PROGRAMS
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError, parse, script

HEAD = """@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "int32"), n: T.int32, m: T.int64, p: T.bool):
"""


LOOP_NEEDED = "a loop runs over range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding"
LOOP_ARGUMENTS = "unknown argument foo; known: start, stop, annotations, step, dtype, unroll"
WITH_NEEDED = "with takes T.sblock, T.init, T.attr, T.launch_thread and the like"
NO_TILES = "partition takes num_tiles, one number for each constant extent of a compact buffer"
TILES_LEFT = "these tiles do not divide the extents of the buffer; declare it with T.decl_buffer"
NO_DATA = "an allocation has no data of its own yet; use T.decl_buffer"
DATA = "data= takes the data of a buffer, such as A.data, or T.address_of(A[i])"
SCALABLE = (
    "scalable vectors are only supported in a store of such lanes; give the vector a constant number of lanes, "
    "or write the loop"
)
FMA = "the operands of T.fma differ in type: float32, float32, float64"
DROPPED = "T.if_then_else has type int32 here, not int64; leave dtype= out, or cast the result"
NOT_AN_EXTENT = "shape, strides and offset of C are scalar integers, not float32"


def mistake(*lines: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        parse(HEAD + "\n".join(f"    {line}" for line in lines), "file.py")
    return caught.value


def test_how_a_mistake_is_shown() -> None:
    e = mistake("for i in range(4):", "    B[i] = C[i] + 1")
    assert (e.filename, e.line, e.column, e.message) == ("file.py", 4, 16, "unknown name C")
    assert str(e) == (
        "file.py:4:16: error: unknown name C\n"
        "        B[i] = C[i] + 1\n"
        "               ^"
    )  # fmt: skip
    assert isinstance(e, IRError)


def test_columns_count_characters_and_keep_tabs() -> None:
    assert mistake('T.call_packed("é", C)').column == 24
    with pytest.raises(ScriptError) as caught:
        parse("@T.prim_func\ndef f(n: T.int32):\n\tT.evaluate(k)")
    assert str(caught.value).splitlines()[-1] == "\t           ^"


@pytest.mark.parametrize(
    ("lines", "place", "message"),
    [
        # names
        (["B[0] = C[0]"], (3, 12), "unknown name C"),
        (["C[0] = 1"], (3, 5), "unknown name C"),
        (["B[0] = nn"], (3, 12), "unknown name nn; did you mean n?"),
        (["A[0, 0] = T.exq(A[0, 0])"], (3, 15), "T.exq is unknown; did you mean T.exp?"),
        (["B[0] = T.Buffer"], (3, 12), "T.Buffer is not a value"),
        (["B[0] = A.foo"], (3, 12), "the buffer A has no attribute foo"),
        (["B[0] = g(A)"], (3, 12), "only T.name(…), functions of the module and x.astype(…) can be called here"),
        # rank and indices
        (["B[0] = A[0]"], (3, 12), "A has 2 dimensions and is accessed with 1 indices"),
        (["B[n, 0] = 1"], (3, 5), "B has 1 dimensions and is accessed with 2 indices"),
        (["B[A[0, 0]] = 1"], (3, 5), "index 0 of B has type float32; an integer is needed"),
        (["A[0:2, 1] = 1"], (3, 5), "index 0 of A has lanes; only the last index may"),
        (["B[0:n] = 1"], (3, 5), "the number of lanes of this slice is not constant"),
        (["B[2:0] = 1"], (3, 5), "a slice in an access has a step and at least one lane"),
        (["B[:2] = 1"], (3, 5), "a slice in an access needs both bounds"),
        (["n[0] = 1"], (3, 5), "an expression of type int32 cannot be indexed"),
        # types
        (["B[0] = A.data"], (3, 5), "B[…] has type int32; a value of type handle is stored"),
        (["B[0] = 1.5"], (3, 12), "the float 1.5 is used where a value of type int32 is needed"),
        (["B[0] = 5000000000"], (3, 12), "5000000000 does not fit int32"),
        (["B[0] = True"], (3, 12), "True is not a value of type int32"),
        (["B[0] = T.Select(n == m, 1, 2)"], (3, 21), "operands of eq differ in type: int32 and int64"),
        (["B[0] = T.Select(n == 0.5, 1, 2)"], (3, 21), "the float 0.5 is used where a value of type int32 is needed"),
        (["A[0, 0] = T.exp(n)"], (3, 21), "T.exp takes float operands, not int32"),
        (["A[0, 0] = T.exp(A[0, 0], 1)"], (3, 15), "T.exp takes 1 arguments, not 2"),
        (["A[0, 0] = T.fma(A[0, 0], A[0, 0], T.float64(1))"], (3, 15), FMA),
        (["B[0] = A[0, 0] // 2"], (3, 12), "floordiv takes int operands, not float32"),
        (["B[0] = ~A[0, 0]"], (3, 12), "an integer is needed, not float32"),
        (["B[0] = n ** 2"], (3, 12), "** takes floats of one type, not int32 and int32"),
        (["B[0] = T.reinterpret('int64', n)"], (3, 12), "reinterpret of int32 does not give int64"),
        (["B[0] = T.Cast('float7', n)"], (3, 19), "there is no float of 7 bits"),
        (["B[0] = 'text'"], (3, 12), "a string is used where a number is needed"),
        (["B[0] = B"], (3, 12), "the buffer B is used where a number is needed"),
        (["B[0] = [1, 2]"], (3, 12), "a tuple is used where a number is needed"),
        (["B[0] = T.Select(p, n, m)"], (3, 12), "the arms of select differ in type: int32 and int64"),
        (["B[0] = T.if_then_else(p, n, 1, dtype='int64')"], (3, 12), DROPPED),
        # conditions
        (["if A[0, 0]:", "    pass"], (3, 8), "a condition must be bool, not float32"),
        (["while A[0, 0]:", "    pass"], (3, 11), "a condition must be bool, not float32"),
        (["if n and p:", "    pass"], (3, 8), "a condition must be bool, not int32"),
        (["B[0] = not n"], (3, 12), "a condition must be bool, not int32"),
        (["T.assume(n)"], (3, 14), "a condition must be bool, not int32"),
        (["assert n, 'x'"], (3, 12), "a condition must be bool, not int32"),
        # constants
        (["B[0] = 1 // 0"], (3, 12), "the constant has no value: integer division or modulo by zero"),
        (["B[0] = 1 << 100"], (3, 12), "the shift amount 100 is out of range"),
        (["B[0] = 99999999999999999999999"], (3, 12), "the integer literal is too large for every integer type"),
        (["B[0] = T.Ramp(0, 1, n)"], (3, 25), "a constant integer is needed"),
        (["B[0] = T.int32('x')"], (3, 12), 'T.int32 takes a number, "inf", "-inf" or "nan"'),
        # loops
        (["for i in T.foo(3):", "    pass"], (3, 14), LOOP_NEEDED),
        (["for i, j in T.grid(3):", "    pass"], (3, 9), "1 loops are bound to 2 names"),
        (["for i in range(n, A[0, 0]):", "    pass"], (3, 14), "the bounds of a loop are scalar integers, not float32"),
        (["for i in range(A[0, 0]):", "    pass"], (3, 14), "the bounds of a loop are scalar integers, not float32"),
        (["for i in T.thread_binding(3):", "    pass"], (3, 14), "T.thread_binding needs thread="),
        (["for i in T.serial(3, step=0):", "    pass"], (3, 31), "the step of a loop is positive"),
        (["for i in T.serial(3, foo=0):", "    pass"], (3, 30), LOOP_ARGUMENTS),
        # statements
        (["B += 1"], (3, 5), "the buffer B is used where a number is needed"),
        (["break"], (3, 5), "there is no loop around it that could be left"),
        (["if p:", "    T.break_loop()"], (4, 9), "there is no loop around it that could be left"),
        (["T.thread_return()"], (3, 5), "T.thread_return: leaving a loop or a function early has no meaning here"),
        (["import os"], (3, 5), "Import has no meaning as a statement of TVMScript"),
        (["with T.foo():", "    pass"], (3, 10), "T.foo has no meaning in a with"),
        (["with open('x') as g:", "    pass"], (3, 10), WITH_NEEDED),
        (["T.reads(A[0, 0])"], (3, 5), "T.reads belongs at the head of a block"),
        (["x: T.let[T.int32] = A[0, 0]"], (3, 25), "x has type int32, its value float32"),
        (["if p:", "    T.func_attr({})"], (4, 9), "T.func_attr stands at the head of a function"),
        (["T.func_attr({'a': T.func})"], (3, 23), "T.func is not a value"),
        # buffers
        (["C = T.decl_buffer((4,), data=n)"], (3, 34), DATA),
        (["C = T.alloc_buffer((4, A[0, 0]))"], (3, 9), NOT_AN_EXTENT),
        (["C = A.view()"], (3, 9), "view takes the extents of the new shape, with a layout perhaps, or a dtype"),
        (["C = n.view(4)"], (3, 9), "only a buffer has views"),
        (["C = n.partition(num_tiles=(4,))"], (3, 9), "only a buffer has views"),
        (["C = A.partition()"], (3, 9), NO_TILES),
        (["C = A.partition(num_tiles=(4, 4, 4))"], (3, 9), NO_TILES),
        (["C = T.alloc_buffer((4,))", "D = C.partition(num_tiles=(3,))"], (4, 9), TILES_LEFT),
        (["C = T.alloc_buffer((0,))", "D = C.partition(num_tiles=(0,))"], (4, 9), TILES_LEFT),
        (["C = T.alloc_buffer((4,), strides=(2,))", "D = C.partition(num_tiles=(2,))"], (4, 9), NO_TILES),
        (["C = T.alloc_buffer((4,), data=A.data)"], (3, 35), NO_DATA),
        # what has no meaning here
        (["x = A[0, T.Ramp(0, 1, 4 * T.vscale())]"], (3, 27), SCALABLE),
        (["B[0] = lambda x: x"], (3, 12), "Lambda has no meaning in an expression of TVMScript"),
        (["B[0] = n if n in m else 0"], (3, 17), "the comparison In has no meaning in TVMScript"),
    ],
)  # fmt: skip
def test_mistakes(lines: list[str], place: tuple[int, int], message: str) -> None:
    e = mistake(*lines)
    assert e.message == message
    assert (e.line, e.column) == place


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:", "invalid syntax"),
        ("@T.prim_func\ndef f():\n  pass\n   pass", "unexpected indent"),
        ("x = '", "unterminated string"),
        ("\0", "null bytes"),
        ("(" * 300 + ")" * 300, "too many nested parentheses"),
        ("@T.prim_func\ndef f():\n    T.evaluate(" + "-" * 5000 + "1)", "nested too deeply"),
    ],
)
def test_no_python(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert message in caught.value.message


TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
PIECES = [
    "0", "-1", "T", "None", "True", '"n"', "A", "()", "[]", ":", "*", "**", "lambda x: x", "1e400", "9" * 30, "...",
    "not", "in", "if", "else", "T.grid", "T.axis", "range", "T.int64(3)", "T.bool(True)", 'b"x"', "1j", 'f"{A}"', "{}",
    "{1: 2}", "yield", "await", "T.undef()", "A.data", "A.shape", "n", "=", ":=", "@", "%", "//", "<<", "~", "T.Buffer",
    "T.handle", '"float32"', "T.Ramp(0, 1, 4)", "return", "T.evaluate", "for", "with",
]  # fmt: skip


def mutated(r: random.Random, text: str) -> str:
    """The text with a few tokens, lines or characters moved, doubled, dropped or replaced."""
    for _ in range(r.choice([1, 1, 2, 4])):
        tokens = TOKEN.findall(text)
        i, j = r.randrange(len(tokens)), r.randrange(len(tokens))
        lines = text.split("\n")
        k, m = r.randrange(len(lines)), r.randrange(len(lines))
        match r.randrange(8):
            case 0:
                tokens[i] = tokens[j]
            case 1:
                del tokens[i]
            case 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case 3:
                tokens.insert(i, tokens[j])
            case 4:
                tokens[i] = r.choice(PIECES)
            case 5:
                lines[k] = lines[m]
                tokens = ["\n".join(lines)]
            case 6:
                del lines[k]
                tokens = ["\n".join(lines)]
            case _:
                at = r.randrange(len(text) + 1)
                tokens = [text[:at], r.choice("()[]{}:,.='\"\\\n\t #@x0é\0"), text[at:]]
        text = "".join(tokens) or " "
    return text


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_mutated_texts_end_in_a_script_error_or_read_back(name: str) -> None:
    r = random.Random(name)
    outcomes = {True: 0, False: 0}
    for _ in range(150):
        text = mutated(r, PROGRAMS[name])
        try:
            module = parse(text)
        except ScriptError as e:
            assert str(e).startswith("<string>:")
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        written = script(module)
        assert script(parse(written)) == written
    # the mutations are neither all fatal nor all harmless
    assert min(outcomes.values()) > 0
