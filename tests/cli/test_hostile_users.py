"""What a nasty user tries around a file: its name, its project, the environment, models, documents, revisions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import NamedTuple

import pytest

from tests.cli.files import GOOD, MAIN, REFUSED, invoke, vtir, write

NAMES = (
    "new\nline.py", "quo\"te's.py", "größe.py", "-dash.py", "sp ace.py", "a:b.py", "[bold]x.py", "%s.py", "tab\t.py",
    "esc\x1b[31m.py", "🙂.py", "#hash.py", "x" * 240 + ".py", os.fsdecode(b"latin\xff.py"), "$(id).py", " .py",
)  # fmt: skip
GRAPH = '@R.function\ndef net(x: R.Tensor({}, "{}")):\n    y = {}\n    return y\n'
GRAPHS = {
    "net": GRAPH.format("(1, 8, 4, 4)", "float32", "R.nn.relu(x)"),
    "conv": GRAPH.format('(1, 8, 4, 4), "float32"), w: R.Tensor((8, 8, 3, 3)', "float32", "R.nn.conv2d(x, w)"),
    "empty": "",
    "deep": GRAPH.format("(1,)", "float32", "R.nn.relu(" * 3000 + "x" + ")" * 3000),
    "huge": GRAPH.format("(99999999999999999999999,)", "float32", "R.nn.relu(x)"),
    "large": GRAPH.format("(1000000, 1000000)", "float32", "R.nn.relu(x)"),
    "negative": GRAPH.format("(-1,)", "float32", "R.nn.relu(x)"),
    "type": GRAPH.format("(1,)", "float99", "R.nn.relu(x)"),
    "itself": GRAPH.format("(1,)", "float32", "R.add(y, x)"),
    "null": "@R.function\0",
}
MANIFESTS = {
    "empty": b"", "null": b"null",
    "list": b"[]", "object": b"{}", "schema": b'{"schema": 99}', "nan": b'{"schema": NaN}',
    "deep": b"[" * 100_000, "digits": b'{"schema": ' + b"9" * 5000 + b"}", "latin": b"\xff\xfe{}",
    "twice": b'{"schema": 4, "schema": 4}', "outside": b'{"certificates": {"../../x": "0"}, "schema": 4}\n',
}  # fmt: skip
PROJECTS = {
    "paths = 3": 2, "paths = [3]": 2, "nonsense = 1": 2, 'budget = "x"': 2, "budget = -1": 2, "budget = 1e9": 2,
    'format = "xml"': 2, 'validate = "yes"': 2, 'paths = ["nowhere"]': 2, 'exclude = "x"': 2, "most-operations = 0": 2,
    "paths = []": 2, 'paths = ["\\u0000"]': 2, 'paths = ["good.py"]\nexclude = ["*"]': 0, 'paths = ["good.py"]': 0,
    'paths = ["good.py"]\nbudget = 99999999999999999999999999': 2, "[": 2, "vtir = 3": 2, 'paths = ["good.py", ""]': 2,
}  # fmt: skip
"""Settings in ``[tool.vtir]``, and the exit code of ``vtir verify``."""
ENVIRONMENTS = (
    {"NO_COLOR": "1"}, {"FORCE_COLOR": "1", "TERM": "dumb"}, {"COLUMNS": "1"}, {"COLUMNS": "x"}, {"COLUMNS": "-5"},
    {"COLUMNS": "0"}, {"COLUMNS": "99999"}, {"LINES": "x"}, {"VTIR_CACHE_DIR": "/proc/cpuinfo"}, {"TMPDIR": "/nowhere"},
    {"VTIR_CACHE_DIR": ""}, {"VTIR_VERDICT_CACHE": "nonsense"}, {"XDG_CACHE_HOME": "good.py"}, {"TZ": "No/Where"},
    {"HOME": "/nowhere"}, {"GITHUB_ACTIONS": "true"},
)  # fmt: skip
PROCESSES = (
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}, {"PYTHONOPTIMIZE": "2"},
    {"PYTHONWARNINGS": "error"}, {"PYTHONDEVMODE": "1"}, {"PYTHONSAFEPATH": "1"}, {"PYTHONHASHSEED": "0"},
    {"HOME": "", "XDG_CACHE_HOME": ""},
)  # fmt: skip
REVISIONS = ("", "nope", "--help", "HEAD~99999", "$(touch x)", "a..b", "\n", "-1", "@{u}", "x" * 9999)


class Case(NamedTuple):
    arguments: tuple[str, ...]
    code: int
    said: str = ""
    folder: str = "."
    environment: Mapping[str, str] = MappingProxyType({})


def _cases() -> Iterator[Case]:
    yield from (Case(("verify", f"./{name}"), 0, "good  proved") for name in NAMES)
    yield from (Case(("verify", "refused.py"), 1, "racy  REFUSED", environment=e) for e in ENVIRONMENTS)
    yield from (Case(("--help",), 0, "verify", environment=e) for e in ENVIRONMENTS[:7])
    yield from (Case(("verify",), code, folder=f"project-{k}") for k, code in enumerate(PROJECTS.values()))
    yield from (Case(("verify", "good.py", "--changed-since", r), 2, "there is no revision", "git") for r in REVISIONS)
    yield Case(("verify", "good.py", "--changed-since", "HEAD"), 0, "changed since HEAD", "git")
    yield Case(("verify", "-dash.py"), 2, "No such option")
    yield Case(("verify", "--", "-dash.py"), 0)
    for form in ("json", "junit", "sarif", "github"):
        yield from (Case(("verify", NAMES[k], "--format", form), 0) for k in (0, 9, 13))
    yield from (Case(("check", f"manifest-{name}"), 2, "[VT0801]") for name in MANIFESTS)
    yield from (Case(("run", f"{name}.graph"), 2) for name in GRAPHS if name not in ("net", "conv"))
    yield from (Case(("plan", f"{n}.graph", "--layout", "conv2d=NCHW4c"), 2) for n in ("deep", "huge", "null"))
    for layout in ("", "NCHW0c", "NCHW" + "9" * 20 + "c", "NCHW-4c", "🙂", "N" * 5000, "NCHW4c4c4c"):
        yield Case(("plan", "conv.graph", "--layout", f"conv2d={layout}"), 2, "--layout")
    yield Case(("plan", "conv.graph", "--layout", "=NCHW"), 2, "--layout")
    for shape in ("x=1x8x4x4", "n=4", "=", "n=", "n=1e3", "n=-1", "n=0", "n=" + "9" * 99):
        yield Case(("run", "net.graph", "--shape", shape), 2, "--shape")
    for given in ("x=", "x=/dev/zero", "x=good.py", "x=..", "=x.npy", "x=nowhere.npy"):
        yield Case(("run", "net.graph", "--input", given), 2, "[VT0710]")
    for name in ("good.py", "good.py/x", "/proc/x", "x" * 300):
        yield Case(("init", name), 2, "vtir: error: ")
    yield Case(("init", "a\0b"), 2, "null byte")
    yield Case(("init", ""), 2, "the name of the folder is empty")
    yield from (Case(("help", code), 2, "there is no code") for code in ("VT", "VT99999", "😀", "a" * 5000))
    yield Case(("doctor", "x"), 2)
    for where in ("", "nowhere.py", "good.py:", "good.py:nope", ".", "good.py:good:good"):
        yield Case(("explain", where), 2, "vtir: error: ")
    for page in ("", ".", "/dev/full", "nowhere/x.html", "./good.py"):
        yield Case(("explain", "good.py", "--html", page), 2, "vtir: error: ")
    yield from (Case(("explain", "good.py", "--svg", folder), 2, "File exists") for folder in ("good.py", "/dev/null"))
    for option in ("--port -1", "--port 99999", "--port x", "--time-limit -1", "--time-limit nan"):
        yield Case(("serve", *option.split()), 2, "Invalid value")
    for command in ("verify", "explain", "lower", "check"):
        yield Case((command, "good.py", "--budget", str(2**32 + 1)), 2, "Invalid value")


CASES = list(_cases())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write(tmp_path_factory.mktemp("users"), good=GOOD, refused=REFUSED)
    for name in NAMES:
        (made / name).write_text(GOOD)
    for name, text in GRAPHS.items():
        (made / f"{name}.graph").write_text(text)
    for name, content in MANIFESTS.items():
        (made / f"manifest-{name}").mkdir()
        (made / f"manifest-{name}" / "manifest.json").write_bytes(content)
    for k, settings in enumerate(PROJECTS):
        write(made / f"project-{k}", good=GOOD)
        head = "[tool]\n" if settings.startswith("vtir") else "[tool.vtir]\n"
        (made / f"project-{k}" / "pyproject.toml").write_text(f"{head}{settings}\n")
    write(made / "git", good=GOOD)
    for command in ("init -q", "add good.py", "-c user.name=a -c user.email=a@b commit -qm x"):
        subprocess.run(["git", *command.split()], cwd=made / "git", check=True)
    return made


@pytest.fixture
def _patience() -> Iterator[None]:
    """Half a minute: ten seconds on a machine that has other work."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _named(case: Case) -> str:
    where = "" if case.folder == "." else f" in {case.folder}"
    return ascii(" ".join([*case.arguments, *map("=".join, case.environment.items())]))[1:60] + where


def test_there_are_as_many_as_were_meant() -> None:
    assert len(CASES) + len(PROCESSES) >= 130


@pytest.mark.usefixtures("_patience")
@pytest.mark.sample(20)
@pytest.mark.parametrize("case", CASES, ids=_named)
def test_it_ends_as_it_should(case: Case, folder: Path) -> None:
    done = invoke(*case.arguments, cwd=folder / case.folder, **case.environment)
    shown = done.stdout + done.stderr
    assert done.returncode == case.code, shown
    assert "Traceback" not in shown and shown.strip()
    assert case.said in shown
    if case.arguments[0] == "verify" and "--format" not in case.arguments:
        assert "\x1b[31m" not in shown and "new\n" not in shown  # a name is shown, and not obeyed
    assert (folder / "good.py").read_text() == GOOD


@pytest.mark.nightly
@pytest.mark.parametrize("environment", PROCESSES, ids=str)
def test_environments_of_the_process(environment: dict[str, str], folder: Path) -> None:
    done = vtir("verify", "refused.py", cwd=folder, **environment)
    assert done.returncode == 1
    assert "racy  REFUSED" in done.stdout
    assert "Traceback" not in done.stderr and "Warning" not in done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"", 0),
        (b"nonsense\n" * 100, 0),
        (b"Content-Length: 5\r\n\r\n[1,2]", 0),
        (b"Content-Length: -1\r\n\r\n", 0),
        (b"Content-Length: 99999999999\r\n\r\n{}", 2),
    ],
    ids=["nothing", "nonsense", "a list", "negative", "large"],
)
def test_what_no_editor_says(message: bytes, code: int, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "lsp"], cwd=folder, input=message, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.nightly
def test_many_at_once_on_one_cache(folder: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "VTIR_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", MAIN, "verify", "good.py", "refused.py"]
    runs = [
        subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True
        )
        for _ in range(4)
    ]
    for run in runs:
        shown, errors = run.communicate(timeout=120)
        assert (run.returncode, "Traceback" in errors) == (1, False)
        assert "good  proved" in shown and "racy  REFUSED" in shown


@pytest.mark.nightly
def test_without_an_input(folder: Path) -> None:
    line = f"{sys.executable} -c '{MAIN}' verify good.py <&-"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr
