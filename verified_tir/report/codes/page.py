"""What a page about a code consists of, and the small programs that its examples share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Page:
    """A code: its title, what happened, a minimal example, and what to do.

    The example is Python that raises it, or lines of a terminal (``$ cat FILE``, ``$ vtir …``) that show it.
    """

    code: str
    title: str
    what: str
    example: str
    do: str

    @property
    def is_console(self) -> bool:
        """Whether the example is one of the command line."""
        return self.example.startswith("$ ")


COPY = """
@T.prim_func
def copy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i]
"""
ROWS = """
@T.prim_func
def rows(A: T.Buffer((16, 14), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = 0.0
        for j in range(14):
            B[i] = B[i] + A[i, j]
"""
STAGES = """
@T.prim_func
def stages(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    t = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.sblock("double"):
            v = T.axis.spatial(16, i)
            t[v] = A[v] * 2.0
    for j in range(16):
        with T.sblock("shift"):
            w = T.axis.spatial(16, j)
            B[w] = t[w] + 1.0
"""
SUM = """
@T.prim_func
def total(A: T.Buffer((4, 8, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k, l in T.grid(4, 8, 8):
        with T.sblock("sum"):
            v, r, s = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[v] = 0.0
            B[v] = B[v] + A[v, r, s]
"""


def program(body: str, parameters: str) -> str:
    """A program of the given statements."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"\n@T.prim_func\ndef f({parameters}):\n{lines}\n"


def on(text: str, *steps: str) -> str:
    """An example: a schedule of a program, and its steps."""
    uses_script = any("T." in step for step in steps)
    head = [
        "from verified_tir import Schedule",
        *(["from verified_tir.script import tir as T"] if uses_script else []),
        "",
    ]
    return "\n".join([*head, f's = Schedule("""{text}""")', *steps])
