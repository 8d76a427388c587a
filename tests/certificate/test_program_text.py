"""Programs of files of schedules, which are not executed; and constants that are never read wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from verified_tir import Schedule, script
from verified_tir.certificate.program_text import program_text
from verified_tir.certificate.sources import BadSource, attributes_apart, other_program, programs
from verified_tir.ir.script import parse_func

HEAD = """from verified_tir import Schedule, schedule
from verified_tir.script import tir as T
"""

FILL = """
@T.prim_func
def fill(A: T.Buffer((N,), "int32")):
    for i in range(N):
        A[i] = M
"""

TAIL = """

@schedule(fill)
def halves(s: Schedule) -> None:
    N = 77
    s.split("i", [2, None])


if __name__ == "__main__":
    raise SystemExit("executed")
"""


def read(folder: Path, text: str) -> list[str]:
    path = folder / "schedules.py"
    path.write_text(text, encoding="utf-8")
    return [script(f) for f in programs(str(path))]


@pytest.mark.parametrize(
    "constants",
    ["N = 8\nM = 3\n", "N, M = 8, 3\n", "HALF: int = 4; N = 2 * HALF; M = -HALF + 7\n", "import os; N = 8; M = 3\n"],
)
def test_a_file_of_schedules(tmp_path: Path, constants: str) -> None:
    expected = read(tmp_path, HEAD + FILL.replace("N", "8").replace("M", "3"))
    assert read(tmp_path, HEAD + constants + FILL + TAIL) == expected and len(expected) == 1


@pytest.mark.parametrize(
    "elsewhere",
    [
        "N = 4",
        "N += 1",
        "for N in (1, 2):\n    pass",
        "if input():\n    N = 4",
        "def grow():\n    global N\n    N = 4",
        "class N:\n    pass",
        "def N():\n    pass",
        "from sizes import N",
        "from sizes import other as N",
        "from sizes import *",
        "import N.more",
        "with open('sizes') as N:\n    pass",
        "try:\n    pass\nexcept ValueError as N:\n    pass",
        "print(N := 4)",
        "del N",
        "match 4:\n    case N:\n        pass",
        "match [4]:\n    case [*N]:\n        pass",
        "match {}:\n    case {**N}:\n        pass",
        "_, N = 1, 2",
        "[N] = [4]",
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_a_constant_that_may_be_another_is_unknown(tmp_path: Path, elsewhere: str, before: bool) -> None:
    constants = "N, M = 8, 3\n"
    text = HEAD + (f"{elsewhere}\n{constants}" if before else f"{constants}{elsewhere}\n") + FILL + TAIL
    with pytest.raises(BadSource, match="unknown name N"):
        read(tmp_path, text)


@pytest.mark.parametrize("value", ["len('abcdefgh')", "int(input())", "[8][0]", "8 if M else 4", "2 ** 3", "UNKNOWN"])
def test_a_constant_that_is_computed_is_unknown(tmp_path: Path, value: str) -> None:
    with pytest.raises(BadSource, match="unknown name N"):
        read(tmp_path, f"{HEAD}M = 3\nN = {value}\n{FILL}{TAIL}")


@pytest.mark.parametrize(
    "more", ["fill = wrapped(fill)", "def fill():\n    pass", "from other import fill", "del fill"]
)
def test_a_program_that_may_be_another(tmp_path: Path, more: str) -> None:
    with pytest.raises(BadSource, match=r"schedules\.py: line 6: fill is given a meaning more than once"):
        read(tmp_path, f"{HEAD}N, M = 8, 3\n{FILL}\n{more}\n")


def test_other_decorators_make_other_programs(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match="there is no program in it, no function decorated with"):
        read(tmp_path, HEAD + "N, M = 8, 3\n" + FILL.replace("@T.prim_func", "@changed\n@T.prim_func"))


def test_what_stays_is_where_it_was() -> None:
    text = HEAD + "N, M = 8, 3\n" + FILL + TAIL
    old, new = text.split("\n"), program_text(text).split("\n")
    k = old.index("@T.prim_func")
    assert new[k : k + 4] == old[k : k + 4] and new[2] == "N = 8; M = 3; "
    assert not any(new[k + 4 :])
    assert program_text("def f(:") == "def f(:"
    assert program_text("\0") == "\0"


def test_only_attributes_apart_is_said() -> None:
    head = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")):\n'
    attribute, sums = '    T.func_attr({"contracted": ["C"]})\n', "    for k in range(4):\n        C[0] = "
    made = Schedule(f"{head}{sums}C[0] + A[k] * A[k]\n", contract="C")
    certificate = {"before": {"text": script(made.theorem.start).split("\n")}}
    by_hand, plain = parse_func(f"{head}{sums}T.fma(A[k], A[k], C[0])\n"), parse_func(f"{head}{sums}C[0] + A[k]\n")
    same = parse_func(f"{head}{attribute}{sums}T.fma(A[k], A[k], C[0])\n")
    assert other_program(certificate, "before", [same]) == ""
    assert other_program(certificate, "before", [by_hand]) == "the program of the certificate is not f"
    said = 'only attributes differ: the certificate has T.func_attr({"contracted": ["C"]}), f has none'
    assert attributes_apart(certificate, "before", [plain, by_hand]) == said
    assert attributes_apart(certificate, "before", [plain]) == ""
