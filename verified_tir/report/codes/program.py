"""VT02: the program itself has no meaning on some input."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import Page, on, program

_AB = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
_I = 'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")'
_CALL = '''
from verified_tir import Schedule

Schedule("""
@I.ir_module
class Module:
    @T.prim_func
    def g(A: T.Buffer((16,), "float32"), n: T.int32):
        A[0] = 0.0

    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):
        Module.g(A.data)
""", name="main")
'''

PAGES: Final = (
    Page(
        "VT0201",
        "The program accesses an element outside of its buffer",
        "There is an input on which an index is negative or not below the extent. The counterexample gives the values "
        "of the loop variables.",
        on(program("for i in range(16):\n    B[i] = A[i + 1]", _AB)),
        "Guard the access with `T.if_then_else` or an `if`, shorten the loop, or state with `T.assume` what you know "
        "of the arguments.",
    ),
    Page(
        "VT0202",
        "Index arithmetic of the program overflows",
        "An index, an extent or an offset does not fit its integer type on some input. Overflow of indices is "
        "undefined.",
        on(program("for i in range(16):\n    B[(i * 268435456) % 16] = A[i]", _AB)),
        "Count in `int64`, or bound the symbols: `T.assume(n <= 1000)`.",
    ),
    Page(
        "VT0203",
        "The program uses an undefined value to decide something",
        "An index, a condition, a bound, a divisor or a shift depends on a value that was never stored, or on "
        "`T.undef()`. Undefined values may be stored and copied, but nothing may depend on them.",
        on(program('t = T.alloc_buffer((1,), "int32")\nif t[0] > 3:\n    B[0] = A[0]', _I)),
        "Store to the buffer before it is read.",
    ),
    Page(
        "VT0204",
        "The program divides by zero",
        "The divisor of an integer division or remainder is 0 on some input.",
        on(program("B[0] = A[0] // A[1]", _I)),
        "Guard the division: `T.if_then_else(d != 0, n // d, 0)`; or state it with `T.assume(d != 0)`.",
    ),
    Page(
        "VT0205",
        "The program shifts by a number of bits that is out of range",
        "A shift by a negative number of bits, or by as many as the type has, is undefined.",
        on(program("B[0] = A[0] << A[1]", _I)),
        "Keep the amount in range: `T.min(T.max(n, 0), 31)`, or `T.assume`.",
    ),
    Page(
        "VT0206",
        "The program allocates a buffer of negative extent",
        "An extent of a local buffer is negative on some input. (A loop of a negative extent makes no iteration.)",
        on(
            program(
                't = T.alloc_buffer((n - 1,), "float32")\nB[0] = A[0]',
                f"{_AB}, n: T.int32",
            ).replace("    t =", "    T.assume(n > -9 and n < 9)\n    t ="),
        ),
        "State what you know: `T.assume(n >= 1)`; or write `T.max(n - 1, 0)`.",
    ),
    Page(
        "VT0208",
        "Iterations of a loop marked in the program race",
        "Two iterations of a parallel, vectorized or bound loop access one element, and one of them writes it.",
        on(program("for i in T.parallel(16):\n    B[0] = A[i]", _AB)),
        "Mark a loop whose iterations touch different elements, or give each iteration a buffer of its own.",
    ),
    Page(
        "VT0209",
        "A block of the program declares something that is false",
        "What a block says of itself (`T.reads`, `T.writes`, the domains and kinds of its axes) does not hold of what "
        "it does.",
        on(
            program(
                'for i in range(16):\n    with T.sblock("b"):\n        v = T.axis.spatial(8, i)\n        B[v] = A[v]',
                _AB,
            )
        ),
        "Correct the declaration: widen the domain or the region, or make the axis one of a reduction.",
    ),
    Page(
        "VT0212",
        "The program cannot be read as one",
        "It is malformed (a variable out of scope, a name bound twice), or it says something that proofs cannot "
        "express.",
        on(program("B[0] = T.float32(1)\nif data == data:\n    B[1] = T.float32(2)", f"data: T.handle, {_AB}")),
        "Look at the reason and the marked place; write what is not understood in a simpler way.",
    ),
    Page(
        "VT0213",
        "A call of a function of the module does not fit it",
        "The arguments differ from the parameters in number, kind or type, or the function cannot be expanded where "
        "it is called.",
        _CALL,
        "Pass what the function takes, in its order.",
    ),
    Page(
        "VT0214",
        "The assumptions of the program contradict each other",
        "No input satisfies all of its `T.assume`. Everything would be provable of such a program, so it is refused.",
        on(program("T.assume(n > 3 and n < 2)\nB[0] = A[0]", f"{_AB}, n: T.int32")),
        "Remove or correct one of the assumptions.",
    ),
    Page(
        "VT0215",
        "The program nests too deeply",
        "Python's recursion limit does not allow to walk the program.",
        'from verified_tir import Schedule\n\nlets = "".join(f"    x{k}: T.int32 = A[{k}]\\n" for k in range(400))\n'
        "Schedule(f'@T.prim_func\\ndef f(A: T.Buffer((400,), \"int32\")):\\n{lets}    A[0] = x399\\n')",
        "Raise the limit, as the message says: `sys.setrecursionlimit(…)`.",
    ),
)
