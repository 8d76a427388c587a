"""A schedule file can neither pass for the command nor spoil what it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.files import GOOD, MAIN, vtir, write

ENDS = {
    "os._exit(0)": "with exit code 0",
    "os._exit(3)": "with exit code 3",
    "os.kill(os.getpid(), 9)": "by SIGKILL",
    "os.kill(os.getpid(), 15)": "by SIGTERM",
    "os.execv('/bin/true', ['true'])": "with exit code 0",
}


def ending(how: str) -> str:
    """A good schedule, and one that ends the process after a step."""
    return GOOD + f'\n\n@schedule(fill)\ndef bad(s):\n    import os\n    s.split("i", [4, 4])\n    {how}\n'


def ended_early(how: str, *options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """``vtir verify`` of the schedule that ends the process, of which one line tells."""
    write(folder, bad=ending(how))
    done = vtir("verify", *options, "bad.py", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"vtir: error: bad.py: the file ended the process {ENDS[how]} while bad ran (last step: split(i, [4, 4])), "
        "before the report was complete"
    )
    assert len(done.stderr.splitlines()) == 1
    return done


ALWAYS = ("os.kill(os.getpid(), 9)", "os.execv('/bin/true', ['true'])")


@pytest.mark.parametrize("how", [pytest.param(h, marks=() if h in ALWAYS else pytest.mark.nightly) for h in ENDS])
def test_a_file_that_ends_the_process_is_an_error(how: str, tmp_path: Path) -> None:
    ended_early(how, folder=tmp_path)


def test_the_json_document_says_so_too(tmp_path: Path) -> None:
    done = ended_early("os._exit(0)", "--json", folder=tmp_path)
    document = json.loads(done.stdout)
    assert document["exit_code"] == 2
    assert document["message"] in done.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("command", [("lower",), ("run",), ("run", "--check"), ("lower", "--json")])
def test_other_commands_that_execute_files_notice_it_too(command: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, bad="import verified_tir, os\nos._exit(0)\n")
    done = vtir(*command, "bad.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.py: the file ended the process with exit code 0" in done.stderr


@pytest.mark.nightly
def test_what_a_file_writes_to_descriptor_1_is_not_in_the_report(tmp_path: Path) -> None:
    loud = 'import os, subprocess, sys\n    os.write(1, b"raw\\n")\n    subprocess.run(["echo", "sub"])\n'
    loud += '    print("orig", file=sys.__stdout__, flush=True)\n'
    write(tmp_path, loud=GOOD.replace("    s.split", f"    {loud}    s.split"))
    done = vtir("verify", "--json", "loud.py", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"]["proved"] == 1
    assert done.stderr == "raw\nsub\norig\n"


@pytest.mark.nightly
def test_a_copy_that_a_file_makes_of_the_process_writes_no_report(tmp_path: Path) -> None:
    write(tmp_path, twice=GOOD.replace("    s.split", "    import os\n    os.fork()\n    s.split"))
    done = vtir("verify", "--json", "twice.py", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"]["proved"] == 1


SIDE_BY_SIDE = ("last.py", "--jobs", "2")


@pytest.mark.parametrize(
    ("dies", "more"),
    [
        (False, ()),
        (True, SIDE_BY_SIDE),
        pytest.param(True, (), marks=pytest.mark.nightly),
        pytest.param(False, SIDE_BY_SIDE, marks=pytest.mark.nightly),
    ],
)
def test_a_copy_that_lives_on_is_not_waited_for(dies: bool, more: tuple[str, ...], tmp_path: Path) -> None:
    copy = 'import os, time\nif os.fork() == 0:\n    open("copy", "w").write(str(os.getpid()))\n    time.sleep(600)\n'
    copy += 'while not os.path.exists("copy") or not open("copy").read():\n    time.sleep(0.01)\n'
    write(tmp_path, forks=copy + ("os._exit(3)\n" if dies else GOOD), last=GOOD)
    done = vtir("verify", "forks.py", *more, cwd=tmp_path)
    assert ("the file ended the process with exit code 3" in done.stderr + done.stdout) == dies
    assert done.returncode == (2 if dies else 0)
    assert ended(int((tmp_path / "copy").read_text()))


def running(folder: Path, *arguments: str, seconds: int) -> subprocess.Popen[str]:
    """``vtir verify`` of a schedule that sleeps; it has begun to."""
    sleeps = f'import os, time\n    print("waiting", os.getpid(), flush=True)\n    time.sleep({seconds})\n'
    write(folder, slow=GOOD.replace("    s.split", f"    {sleeps}    s.split"))
    heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    started = subprocess.Popen(
        [sys.executable, "-c", heeding, "verify", "slow.py", *arguments], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    return started


def ended(process: int) -> bool:
    """Whether a process is gone after a while."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("whole_group", [False, True])
def test_a_signal_ends_both_processes(number: signal.Signals, whole_group: bool, tmp_path: Path) -> None:
    process = running(tmp_path, seconds=60)
    assert process.stderr is not None
    child = int(process.stderr.readline().split()[1])
    (os.killpg if whole_group else os.kill)(process.pid, number)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert errors == ""
    assert ("1 file: interrupted; " in out) == (number == signal.SIGINT)
    assert ended(child)


@pytest.mark.nightly
@pytest.mark.parametrize("seconds", [1, 2.5])
def test_an_interrupt_ends_the_processes_of_check(seconds: float, tmp_path: Path) -> None:
    """A terminal interrupts all processes of a command at once; one line is enough."""
    write(tmp_path, good=GOOD)
    assert vtir("verify", "good.py", "--certify", "certificates", cwd=tmp_path).returncode == 0
    many = json.loads((tmp_path / "certificates" / "manifest.json").read_text())
    assert many["certificates"]
    heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    command = [sys.executable, "-c", heeding, "check", "certificates", "--jobs", "2", "--regenerate"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    if process.returncode == 0:  # it was faster
        assert "proved" in out
        return
    assert (process.returncode, out, errors) == (130, "", "vtir: interrupted\n")
    ended_all = [p for p in os.listdir("/proc") if p.isdigit() and _group(p) == process.pid]
    assert all(ended(int(p)) for p in ended_all)


def _group(process: str) -> int:
    try:
        return os.getpgid(int(process))
    except ProcessLookupError:
        return 0


@pytest.mark.nightly
def test_a_long_run_says_in_a_pipe_what_it_does(tmp_path: Path) -> None:
    process, quiet = running(tmp_path, seconds=11), running(tmp_path, "-q", seconds=11)
    assert process.communicate(timeout=50)[1].splitlines()[1:] == [
        "vtir: after 10 s: slow.py, good, the program itself"
    ]
    assert len(quiet.communicate(timeout=50)[1].splitlines()) == 1
