"""The playground over HTTP: who may ask, what may be asked, and what is answered."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.files import invoke
from tests.serve.running import ROW_SUM, Served, kinds, served

EXAMPLES = Path(__file__).parents[2] / "verified_tir" / "serve" / "page" / "examples.json"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served"), "--time-limit", "90") as found:
        yield found


# -- who may ask ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/page.js", "/page.css", "/examples.json", "/nothing"])
def test_without_the_token_nothing_is_answered(server: Served, path: str) -> None:
    for query in ("", "?token=", "?token=" + "x" * len(server.token), "?token=é"):
        status, body, headers = server.ask("GET", path + query.replace("é", "%C3%A9"))
        assert (status, b"token" in body) == (403, True)
        assert server.token.encode() not in body
        assert headers["content-type"].startswith("text/plain")


def test_work_needs_the_token_too(server: Served) -> None:
    body = json.dumps({"program": ROW_SUM, "steps": ""}).encode()
    assert server.ask("POST", "/work", body)[0] == 403
    assert server.ask("POST", "/work", body, {"X-Vtir-Token": "wrong"})[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1"])
def test_another_host_is_refused(server: Served, host: str) -> None:
    assert server.ask("GET", f"/?token={server.token}", headers={"Host": host})[0] == 403


def test_this_host_has_three_names(server: Served) -> None:
    for host in ("127.0.0.1", "localhost:8765", f"[::1]:{server.port}"):
        assert server.ask("GET", f"/?token={server.token}", headers={"Host": host})[0] == 200


def test_pages_of_other_sites_are_refused(server: Served) -> None:
    headers = {"X-Vtir-Token": server.token, "Origin": "http://evil.example"}
    status, _, answered = server.ask("POST", "/work", b"{}", headers)
    assert status == 403
    assert not any(name.startswith("access-control") for name in answered)
    assert server.ask("OPTIONS", "/work", headers={"Origin": "http://evil.example"})[0] == 403


def test_the_page_allows_no_script_but_its_own(server: Served) -> None:
    status, body, headers = server.ask("GET", f"/?token={server.token}")
    assert status == 200
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert b"http://" not in body
    assert b"https://" not in body
    assert b"{token}" not in body


def test_it_listens_on_this_machine_only(server: Served) -> None:
    local = {"0100007F"}
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {x[1].split(":")[0] for x in listening if x[3] == "0A" and int(x[1].split(":")[1], 16) == server.port}
    assert addresses == local


# -- what may be asked ------------------------------------------------------------------------------------------------


def test_a_large_body_is_refused(server: Served) -> None:
    headers = {"X-Vtir-Token": server.token}
    assert server.ask("POST", "/work", b"x" * (257 * 1024), headers)[0] == 413
    # one that does not say how large it is
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as raw:
        head = f"POST /work HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Vtir-Token: {server.token}\r\n"
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(6):
                raw.sendall(part)
        except OSError:  # it no longer listens
            pass
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"{}", b'{"program": 1, "steps": ""}', b'{"program": ""}', b"[" * 100_000, b"\xff"]
)
def test_odd_bodies_are_refused(server: Served, body: bytes) -> None:
    assert server.ask("POST", "/work", body, {"X-Vtir-Token": server.token})[0] == 400


def test_other_methods_and_paths(server: Served) -> None:
    assert server.ask("GET", f"/work?token={server.token}")[0] == 405
    for path in ("/nothing", "/page/page.js", "/../run.py", "/%2e%2e/run.py"):
        assert server.ask("GET", f"{path}?token={server.token}")[0] == 404


# -- what is answered -------------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_steps_are_proved_and_hostile_ones_refused(server: Served, tmp_path: Path) -> None:
    program, split, end = server.work(ROW_SUM, 'split("i", [4, 4])')
    assert "row_sum" in program["program"]["program"]
    assert split["step"]["text"] == "split(i, [4, 4])"
    assert end["end"]["input"]["found"] == "input"
    evil = f'__import__("os").system("touch {tmp_path / "touched"}")'
    assert kinds(server.work(ROW_SUM, f'split("i", [4, {evil}])')) == ["program", "mistake"]
    assert kinds(server.work(ROW_SUM.replace("@T", f"@{evil}\n@T"), "")) == ["mistake"]
    assert not (tmp_path / "touched").exists()


@pytest.mark.nightly
def test_what_takes_too_long_is_stopped_and_only_two_work_at_a_time(tmp_path: Path) -> None:
    softmax = next(e for e in json.loads(EXAMPLES.read_text(encoding="utf-8")) if "softmax" in e["name"])
    body = json.dumps({"program": softmax["program"], "steps": softmax["steps"]}).encode()
    found: list[tuple[int, bytes]] = []
    with served(tmp_path, "--time-limit", "1") as server:
        headers = {"X-Vtir-Token": server.token}
        askers = [
            threading.Thread(target=lambda: found.append(server.ask("POST", "/work", body, headers)[:2]))
            for _ in range(14)
        ]
        for asker in askers:
            asker.start()
        most = 0
        while any(asker.is_alive() for asker in askers):
            most = max(most, len(children(server.process.pid)))
            time.sleep(0.05)
        answered = [json.loads(text.splitlines()[-1]) for status, text in found if status == 200]
        assert 2 <= len(answered) < 14
        assert all("after 1 seconds" in a["stopped"] for a in answered)
        assert {status for status, _ in found} == {200, 503}
        assert most <= 3, "two that work and one that waits"
        left = children(server.process.pid)
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in left) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in left)


def children(parent: int) -> list[int]:
    """The processes that a process has started and not yet waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "stat").read_text().rpartition(")")[2].split()[1] == str(parent):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


# -- the command ------------------------------------------------------------------------------------------------------


def test_a_port_that_is_taken_and_a_bad_token(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = invoke("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert f"port {port}: Address already in use; --port 0 takes any that is free" in done.stderr
    for token in ("short", "with spaces and more", "<script>alert(1)</script>"):
        done = invoke("serve", "--port", "0", "--token", token, cwd=tmp_path)
        assert done.returncode == 2
        assert "at least 16 letters" in done.stderr


def test_a_token_of_ones_own(tmp_path: Path) -> None:
    with served(tmp_path, "--token", "of-my-own-0123456789") as server:
        assert server.token == "of-my-own-0123456789"
        assert server.ask("GET", "/?token=of-my-own-0123456789")[0] == 200
    assert os.listdir(tmp_path) == []


def test_without_starlette_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "verified_tir.serve.run", raising=False)
    done = invoke("serve", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs the extra 'serve' [VT0016]: python -m pip install" in done.stderr
