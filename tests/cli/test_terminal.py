"""Output to a terminal and to a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, MAIN, invoke, vtir, write

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "row_summation.py"
SLOW = GOOD + '\n\n@schedule(fill)\ndef slow(s):\n    import time\n    print("waiting")\n    time.sleep({})\n'


def terminal(*arguments: str, cwd: Path, **environment: str) -> str:
    """The raw output of ``vtir`` on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    # a job in the background of a shell inherits that interrupts are ignored
    heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    process = subprocess.Popen(
        [sys.executable, "-c", heeding, *arguments], cwd=cwd, stdout=theirs, stderr=theirs, stdin=theirs,
        env={**env, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(theirs)
    found = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # what Linux says at the end
            break
        if not part:
            break
        found += part
    process.wait(timeout=60)
    os.close(ours)
    return found.decode()


def screen(raw: str) -> list[str]:
    """What is left to read: the escapes that the bar uses (erase the line, go up) are obeyed, colours dropped."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]", raw):
        match part:
            case "\r":
                column = 0
            case "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            case "\x1b[2K":
                lines[row] = ""
            case _ if part.startswith("\x1b"):
                row -= int(part[2:-1] or 1) if part.endswith("A") else 0
            case _:
                lines[row] = f"{lines[row]:<{column}}"[:column] + part + lines[row][column + 1 :]
                column += 1
    return lines


@pytest.mark.nightly
def test_lines_fit_the_terminal_and_lose_no_word(tmp_path: Path) -> None:
    wide = invoke("verify", "-v", str(EXAMPLE), cwd=tmp_path).stdout
    narrow = screen(terminal("verify", "-v", str(EXAMPLE), cwd=tmp_path))
    assert max(len(line) for line in wide.splitlines()) > 80
    assert max(len(line) for line in narrow) <= 80

    def words(text: str) -> str:
        return re.sub(r"\s+", "", re.sub(r"[\d.]+ [mµ]?s\b", "", text))

    assert words("".join(narrow)) == words(wide)


@pytest.mark.nightly
def test_colours_only_on_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    assert "\x1b[1;32mproved" in terminal("verify", "good.py", cwd=tmp_path)
    assert "32m" not in terminal("verify", "good.py", cwd=tmp_path, NO_COLOR="1")
    piped = invoke("verify", "good.py", cwd=tmp_path)
    assert "\x1b" not in piped.stdout + piped.stderr


@pytest.mark.nightly
def test_forced_colours_draw_no_bar_in_a_pipe(tmp_path: Path) -> None:
    write(tmp_path, slow=SLOW.format(1))
    done = vtir("verify", "slow.py", cwd=tmp_path, FORCE_COLOR="1")
    assert "\x1b[1;32mproved" in done.stdout
    assert "━" not in done.stdout + done.stderr
    assert "\x1b[2K" not in done.stdout + done.stderr


@pytest.mark.nightly
def test_a_bar_is_shown_when_a_run_is_long_and_is_gone_afterwards(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD, slow=SLOW.format(1.5))
    assert "━" not in terminal("verify", "good.py", cwd=tmp_path)
    raw = terminal("verify", "good.py", "slow.py", cwd=tmp_path)
    assert re.search(r"━.*1/2.*slow", raw)
    left = "\n".join(screen(raw))
    assert "━" not in left
    assert "waiting\n" in left
    assert "3 schedules in 2 files: 3 proved" in left


@pytest.mark.nightly
def test_a_locale_without_unicode(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD.replace("def good", "def größe"))
    done = vtir("verify", "good.py", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "gr\\xf6\\xdfe  proved" in done.stdout


def interrupted(*arguments: str, cwd: Path) -> tuple[int, str, str]:
    """Exit code, output and errors of a run that is interrupted soon after a schedule has printed ``waiting``."""
    # a job in the background of a shell inherits that interrupts are ignored
    heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    process = subprocess.Popen(
        [sys.executable, "-c", heeding, *arguments], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "waiting\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=50)
    return process.returncode, shown, errors


@pytest.mark.nightly
def test_an_interrupt_ends_the_run_with_a_report(tmp_path: Path) -> None:
    write(tmp_path, slow=SLOW.format(60))
    code, shown, errors = interrupted("verify", "slow.py", cwd=tmp_path)
    assert code == 130
    assert "  good  proved" in shown
    assert "1 schedule in 1 file: 1 proved, interrupted" in shown.splitlines()[-1]
    assert "Traceback" not in errors


@pytest.mark.nightly
def test_an_interrupt_during_a_query_is_not_an_answer_of_the_solver(tmp_path: Path) -> None:
    question = """
    from verified_tir.logic import formula as f
    a, b, c = (f.var(name, f.INT) for name in "abc")
    cubes = f.add(f.add(f.mul(a, f.mul(a, a)), f.mul(b, f.mul(b, b))), f.mul(c, f.mul(c, c)))
    print("waiting")
    s.solver.prove((f.lt(f.integer(1000), a),), f.ne(cubes, f.integer(114)))
"""
    write(tmp_path, hard=GOOD + question)
    code, shown, errors = interrupted("verify", "hard.py", "--budget", "10000000", cwd=tmp_path)
    assert code == 130
    assert shown.startswith("0 schedules in 1 file: interrupted; ")
    assert "Traceback" not in errors


@pytest.mark.nightly
def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD, racy=HEAD + '@schedule(total)\ndef racy(s):\n    s.parallel("i")\n')
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "verify", "good.py", "racy.py"], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    assert process.wait(timeout=30) != 0
    assert "Traceback" not in errors


_HEAVY = {"z3", "numpy", "islpy", "hypothesis", "networkx", "llvmlite", "tvm", "sphinx", "verified_tir.kernel"}
_NOT_FOR_A_LIST = {
    "verified_tir.cli.commands_prove",
    "verified_tir.schedule",
    "typer.rich_utils",
    "rich.markdown",
    "attr",
}
"""Imported for the help of one command, or for nobody's."""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], _HEAVY | _NOT_FOR_A_LIST),
        pytest.param(["-h"], _HEAVY | _NOT_FOR_A_LIST, marks=pytest.mark.nightly),
        pytest.param(["--version"], _HEAVY | _NOT_FOR_A_LIST | {"rich"}, marks=pytest.mark.nightly),
        pytest.param(["verify", "--help"], _HEAVY | {"verified_tir.ir.script"}, marks=pytest.mark.nightly),
        pytest.param(["bench", "--help"], _HEAVY | {"verified_tir.ir.script"}, marks=pytest.mark.nightly),
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str], unwanted: set[str], tmp_path: Path) -> None:
    code = f"""
import sys
sys.argv = ["vtir", *{arguments}]
from verified_tir.cli.main import main
try:
    main()
except SystemExit as done:
    sys.exit(f"{{done.code}} {{sorted({unwanted} & set(sys.modules))}}")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == "0 []\n"


def test_help_lists_the_commands_with_their_first_line(tmp_path: Path) -> None:
    from typer.main import get_command

    from verified_tir.cli.main import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    for arguments in (["--help"], ["-h"]):
        shown = invoke(*arguments, cwd=tmp_path, COLUMNS="100")
        assert shown.returncode == 0
        assert shown.stdout.split("\n")[1].startswith(" Usage: vtir [OPTIONS] COMMAND [ARGS]...")
        listed = shown.stdout.partition("─ Commands ─")[2].strip().splitlines()[1:-1]
        rows = [line.strip("│ ").split(maxsplit=1) for line in listed]
        assert rows == [[name, command.short_help] for name, command in commands.items()]
        assert "│ --help                -h  Show this message and exit." in shown.stdout


def test_help_in_colour_and_on_a_narrow_terminal(tmp_path: Path) -> None:
    shown = vtir("--help", cwd=tmp_path, FORCE_COLOR="1", TERM="xterm-256color", COLUMNS="60").stdout
    assert "\x1b[1;36mverify" in shown
    assert max(map(len, vtir("--help", cwd=tmp_path, COLUMNS="40").stdout.splitlines())) == 40


def test_help_of_a_command_shows_examples(tmp_path: Path) -> None:
    shown = invoke("verify", "--help", cwd=tmp_path).stdout
    assert "Usage: vtir verify" in shown
    assert "vtir verify schedules/" in shown
    assert "Exit code: 0" in shown


def test_a_misspelt_command(tmp_path: Path) -> None:
    done = invoke("verfy", cwd=tmp_path)
    assert done.returncode == 2
    assert "No such command 'verfy'. Did you mean 'verify'?" in done.stderr


def test_version(tmp_path: Path) -> None:
    from verified_tir import __version__

    assert vtir("--version", cwd=tmp_path).stdout == f"vtir {__version__}\n"


def test_the_command_is_installed() -> None:
    from importlib.metadata import entry_points

    (command,) = entry_points(group="console_scripts", name="vtir")
    assert command.value == "verified_tir.cli.main:main"
