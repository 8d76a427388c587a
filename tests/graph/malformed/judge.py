"""One malformed model, through the commands, in a process with limits."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import resource
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx.reference
import onnxruntime

from tests.graph.malformed.case import BASES, Case, model_of
from verified_tir.cli import check, plan, run_model
from verified_tir.cli.arrays import input_arrays
from verified_tir.cli.models import load_model
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import convert

SECONDS = 40
"""Of the processor; and of the wall, since others may use the machine:"""
PATIENCE = 240
MEMORY = 3 * 2**30
IMPORTED = (onnx.reference, convert)
"""What each process would import otherwise."""

COMMANDS = ("run", "plan", "check")


@dataclass(frozen=True)
class Verdict:
    """What came of a case: the exit code, what was said, and what is wrong with it (nothing, if ``wrong`` is empty)."""

    code: int
    said: str
    wrong: str
    seconds: float


def prepare() -> None:
    """Prove here what all processes need."""
    here = Path.cwd()
    for base in BASES:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "m.onnx").write_bytes(model_of(base).SerializeToString())
            for command in COMMANDS:
                _command(Path(folder), command)
        os.chdir(here)


def judged(case: Case, command: str) -> Verdict:
    """The verdict of a case, which is run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        case.write(Path(folder))
        start = time.perf_counter()
        found = _apart(lambda: _command(Path(folder), command))
        seconds = time.perf_counter() - start
        if isinstance(found, str):
            return Verdict(-1, "", found, seconds)
        code, out, err, results = found
        if case.unseen:
            (Path(folder) / "m.onnx").write_bytes(model_of(case.unseen).SerializeToString())
        wrong = _wrong(case, code, err) or (_compared(Path(folder), results) if not code and command == "run" else "")
        return Verdict(code, err.strip() or out.strip(), wrong, seconds)


def _wrong(case: Case, code: int, err: str) -> str:
    if code == 0:
        return ""
    lines = err.strip().splitlines()
    if code not in (1, 2):
        return f"exit code {code}"
    if len(lines) != 1 or not lines[0].startswith("vtir: "):
        return f"not one line: {lines[:3]}"
    if any(c < " " or c in "\x7f\u202e" for c in lines[0]):
        return "control characters in the message"
    if len(lines[0]) > 1000:
        return f"a message of {len(lines[0])} characters"
    if "makes no sense" in lines[0]:
        return f"a message that does not say what: {lines[0]}"
    if case.node and case.node not in lines[0]:
        return f"the node {case.node} is not named: {lines[0]}"
    return ""


def _command(folder: Path, command: str) -> tuple[int, str, str, Any]:
    """The exit code, both outputs, and results of ``run``."""
    os.chdir(folder)
    out, err, results = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if command == "run":
            code, results = _run()
        elif command == "plan":
            code = plan.run(plan.Options(Path("m.onnx"), ("conv2d=NCHW2c",), quiet=True))
        else:
            code = check.run(check.Options(Path("nowhere"), jobs=1, before="m.onnx"))
            code = 0 if "nowhere/manifest.json" in err.getvalue() else code  # the model was read
    return code, out.getvalue(), err.getvalue(), results


def _run() -> tuple[int, Any]:
    code = run_model.run(run_model.Options(Path("m.onnx")))
    if code:
        return code, None
    graph, _ = load_model(Path("m.onnx"))
    arrays, _ = input_arrays(graph, (), 0)
    arrays = {n: a % 40 if a.dtype == np.int64 else a for n, a in arrays.items()}  # words
    return code, ([arrays[v.name] for v in graph.inputs], build(graph).run(arrays))


def _compared(folder: Path, results: Any) -> str:
    """What is wrong with results, by onnxruntime, which must take the model then."""
    found = _apart(lambda: _onnxruntime(folder, results))
    return found if isinstance(found, str) else found[0]


def _onnxruntime(folder: Path, results: Any) -> tuple[str]:
    given, got = results
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(folder / "m.onnx"), settings, ["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        want = session.run(None, dict(zip(names, given, strict=True)))
    except Exception as problem:
        return (f"accepted, and onnxruntime says: {str(problem).strip().splitlines()[0][:300]}",)
    for a, b in zip(got, want, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return (f"{a.dtype}{a.shape} here, {b.dtype}{b.shape} there",)
        if not np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True):
            return (f"other results than onnxruntime's, by {np.nanmax(np.abs(a - b))}",)
    return ("",)


def _apart(work: Callable[[], Any]) -> Any:
    """What a function gives in a process of its own, with limits; a text if it gives nothing."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(ours)
            resource.setrlimit(resource.RLIMIT_AS, (_size() + MEMORY, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
            try:
                found = work()
            except BaseException:
                found = "a traceback: " + " | ".join(traceback.format_exc().strip().splitlines()[-5:])
            with os.fdopen(theirs, "wb") as pipe:
                pickle.dump(found, pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    data = b""
    deadline = time.monotonic() + PATIENCE
    while True:
        ready, _, _ = select.select([ours], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        part = os.read(ours, 1 << 16)
        if not part:
            break
        data += part
    os.close(ours)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by {signal.Signals(number).name}" if data or number != signal.SIGKILL else "it hangs"
    return pickle.loads(data) if data else f"nothing, exit code {os.WEXITSTATUS(status)}"


def _size() -> int:
    """Of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
