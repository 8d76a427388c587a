"""VT00 files and commands, VT01 texts, VT05 index maps, VT06 machine code, and the rest, to VT10."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import COPY, Page, on

_FILE = "$ cat wrong.py\nfrom verified_tir import Schedule, schedule\n{}\n$ vtir verify wrong.py"
_FILE_OF = """$ cat schedules.py
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    {}
    for k in range(16):
        B[k] = 0.0


@schedule(f{})
def parts(s):
    s.split("k", [4, 4])
$ vtir verify schedules.py"""

_FILL = """from verified_tir.script import tir as T


@T.prim_func
def fill(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = {}
"""

PAGES: Final = (
    Page(
        "VT0001",
        "A file cannot be read",
        "It does not exist, is a folder, or may not be read.",
        "$ vtir verify missing.py",
        "Look at the path; it is relative to the folder in which the command runs.",
    ),
    Page(
        "VT0002",
        "There is no such function in the file",
        "The name after the colon is that of a function decorated with `@schedule(program)`, or of a program.",
        "$ cat empty.py\nimport verified_tir\n$ vtir lower empty.py",
        "Name one of those that the message lists.",
    ),
    Page(
        "VT0003",
        "A file is not Python",
        "Schedule files are ordinary Python; this one cannot be compiled.",
        _FILE.format("def f(:"),
        "Correct the line; `python -m py_compile FILE` says the same.",
    ),
    Page(
        "VT0004",
        "A file or a schedule raised an exception",
        "What the file does itself went wrong. With `-v` the traceback is shown.",
        _FILE.format("1 / 0"),
        "Correct the line that is shown.",
    ),
    Page(
        "VT0005",
        "A file ended the process",
        "It, or a schedule function in it, called `sys.exit`, as scripts do at their end.",
        _FILE.format("import sys; sys.exit()"),
        'Put it under `if __name__ == "__main__":`.',
    ),
    Page(
        "VT0006",
        "A file calls itself without end",
        "Python's recursion limit was reached.",
        _FILE.format("def f(): f()\nf()"),
        "Look for a function that calls itself; or raise the limit with `sys.setrecursionlimit`.",
    ),
    Page(
        "VT0007",
        "A module is not installed",
        "An `import` of the file found nothing. Helpers beside the file are found.",
        _FILE.format("import no_such_module"),
        "Install it in the environment in which `vtir` runs.",
    ),
    Page(
        "VT0008",
        "That is not a pipeline",
        "A pipeline is `default`, or passes joined by `>>`.",
        "$ cat program.py\nfrom verified_tir.script import tir as T\n$ vtir lower program.py --pipeline Fast",
        "Use a name that `vtir lower --help` lists, as in `RemoveAssume() >> Simplify()`.",
    ),
    Page(
        "VT0009",
        "A trace cannot be applied",
        "A trace is a list of instructions, as TVM writes them; this one is none, or does not fit the program.",
        "from verified_tir.schedule.trace import Trace\n\nTrace.from_json('{}')",
        "Take the trace from the schedule of the same program.",
    ),
    Page(
        "VT0010",
        "There is no such primitive",
        "The schedule has no method of that name.",
        on(COPY, 's.splt("i", [4, 4])'),
        "`help(Schedule)` lists the primitives.",
    ),
    Page(
        "VT0011",
        "An option of a command cannot be used",
        "The value of an option is not one that the command takes.",
        "$ vtir check proofs --solver z4",
        "`vtir COMMAND --help` says what each option takes.",
    ),
    Page(
        "VT0012",
        "A primitive is called with arguments that it does not take",
        "An argument is missing, too much, or has another name; or `contract=` names no buffer in which something is "
        "contracted.",
        on(COPY, 's.split("i", factor=[4, 4])'),
        "The message shows what the parameters are.",
    ),
    Page(
        "VT0013",
        "A schedule that must be refused was accepted",
        'It is marked `expect="refused"`, and every step of it was proved.',
        _FILE_OF.format("pass", ', expect="refused"'),
        "Look whether the fault that the schedule was to show is still in it; else remove the mark.",
    ),
    Page(
        "VT0014",
        "The assumptions contradict each other",
        "All steps were proved, but of no input: what is assumed has no example.",
        _FILE_OF.format(
            "for i in range(4):\n        T.assume(A[12 + i] == 5.0)\n    for j in range(6):\n        T.assume(A[10 + "
            "j] == 6.0)",
            "",
        ),
        "Change or remove one of the assumptions that the message names.",
    ),
    Page(
        "VT0015",
        "No input is known that satisfies the assumptions",
        "All steps were proved, but the search found no input that they are about: the assumptions may contradict each "
        "other.",
        _FILE_OF.format(
            "for i in range(16):\n        B[i] = A[i]\n    for j in range(16):\n        T.assume(B[j] > A[j])", ""
        ),
        "Check the assumptions, or assume less.",
    ),
    Page(
        "VT0016",
        "An extra is not installed",
        "The command needs a package that a base installation does not have.",
        "",
        "Run the command that the message shows: it installs the extra from where verified_tir came from.",
    ),
    Page(
        "VT0017",
        "A file was not verified to its end",
        "In an editor a file is given limited time and memory; it took more, or ended its process.",
        "",
        "Verify it on the command line, or raise the limits in the settings of the server.",
    ),
    Page(
        "VT0099",
        "A mistake of this tool",
        "Something happened that must not happen, whatever the input: the validator disagrees with the kernel, or an "
        "internal error.",
        "",
        "Please report it, with the files that the message names. Do not rely on the result.",
    ),
    Page(
        "VT0101",
        "A text cannot be read as a program",
        "The text is not TVMScript, or says something that the dialect does not have.",
        'from verified_tir import parse_func\n\nparse_func("@T.prim_func\\ndef f():\\n    return 1 +\\n")',
        "Look at the place that is marked.",
    ),
    Page(
        "VT0102",
        "A program or an expression cannot be built so",
        "Types, shapes or names do not fit.",
        "from verified_tir.script import tir as T\n\nT.Ramp(0, 1, -4)",
        "Correct the types; `T.cast` converts values.",
    ),
    Page(
        "VT0103",
        "A tensor expression cannot be lowered",
        "What `verified_tir.te` was asked to do with stages or axes does not fit.",
        "from verified_tir import te\n\nte.reduce_axis((0, 4, 8))",
        "Look at the call that the message quotes.",
    ),
    Page(
        "VT0901",
        "A record of pairs cannot be read",
        "A file for `vtir validate` holds one JSON object a line; this one does not.",
        "$ cat pairs.jsonl\n{\n$ vtir validate pairs.jsonl",
        "Look at the line that the message names.",
    ),
    Page(
        "VT0902",
        "The programs differ",
        "On some input the two programs end with different bits, or one of them does what has no meaning.",
        "$ cat one.py\n"
        + _FILL.format("0.0")
        + "$ cat two.py\n"
        + _FILL.format("1.0")
        + "$ vtir validate one.py two.py",
        "Run both on the input that is shown.",
    ),
    Page(
        "VT0903",
        "Whether the programs are equal was not decided",
        "The comparison was too large for the limits, or something in the programs is not known to it; or the first "
        "program has undefined behaviour on all inputs that were tried, so that any other one would do.",
        "$ cat one.py\n"
        + _FILL.format("0.0")
        + "$ cat two.py\n"
        + _FILL.format('T.call_extern("float32", "g", A[i])')
        + "$ vtir validate one.py two.py",
        "Give smaller sizes with `--shape`, or a greater `--most-operations`; where the verdict is vacuous, sizes that "
        "the first program allows.",
    ),
    Page(
        "VT1001",
        "There is no such target of campaigns",
        "A target is one of those that `vtir fuzz --list-targets` shows, or `module:ATTRIBUTE`.",
        "$ vtir fuzz --target kernl --examples 1",
        "Use a name that the message lists.",
    ),
    Page(
        "VT1002",
        "A target of campaigns cannot be loaded",
        "Its module is not there, fails when it is imported, or does not have the attribute.",
        "$ vtir fuzz --target nowhere:TARGET --examples 1",
        "Run `python -c 'import MODULE'` in the same folder, and correct what it says.",
    ),
)
