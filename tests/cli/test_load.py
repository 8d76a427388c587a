"""Which files are found, and how they are executed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED, invoke, write
from verified_tir.cli.discover import find_files
from verified_tir.cli.load import BadFileError, loaded


def names(path: Path) -> list[str]:
    with loaded(path, path.name) as functions:
        return [f.name for f in functions]


# -- finding ----------------------------------------------------------------------------------------------------------


def test_folders_are_searched_in_order_without_hidden_ones(tmp_path: Path) -> None:
    for folder in ("b", "a/deep", ".hidden", "__pycache__", "env"):
        write(tmp_path / folder, x="")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "a" / "notes.txt").write_text("")
    write(tmp_path, z="", _private="", test_it="")
    found = [f.shown.removeprefix(f"{tmp_path}/") for f in find_files([tmp_path])]
    assert found == ["_private.py", "test_it.py", "z.py", "a/deep/x.py", "b/x.py"]
    assert [f.path.parent.name for f in find_files([tmp_path / ".hidden"])] == [".hidden"]


def test_a_file_counts_once_and_as_named_if_it_was(tmp_path: Path) -> None:
    write(tmp_path, x="", y="")
    (tmp_path / "link.py").symlink_to(tmp_path / "x.py")
    found = find_files([tmp_path, tmp_path / "x.py", tmp_path / "x.py"])
    assert [(f.path.name, f.explicit) for f in found] == [("x.py", True), ("y.py", False)]


def test_folders_that_are_links_are_entered(tmp_path: Path) -> None:
    """Also one in a linked folder; but not those that lead back, and no file is found twice."""
    write(tmp_path / "real" / "deep", bad=REFUSED)
    write(tmp_path / "proj" / "own", good=GOOD)
    write(tmp_path / "else", more=GOOD)
    write(tmp_path, beside=REFUSED)
    for link, target in (
        ("proj/linked", "../real"), ("proj/again", "../real/deep"), ("proj/a", "own"),
        ("proj/own/around", "../../proj"), ("proj/self", "."),
        ("proj/up", ".."), ("real/deep/else", "../../else"), ("real/back", "../proj"),
        ("proj/.hidden", "../else"), ("proj/gone", "nowhere"),
    ):  # fmt: skip
        (tmp_path / link).symlink_to(target)
    found = [f.shown.removeprefix(f"{tmp_path}/") for f in find_files([tmp_path / "proj"])]
    assert found == ["proj/own/good.py", "proj/again/bad.py", "proj/again/else/more.py"]
    done = invoke("verify", "proj", cwd=tmp_path)
    assert done.returncode == 1 and "racy  REFUSED" in done.stdout


def test_a_missing_path_is_a_problem(tmp_path: Path) -> None:
    (found,) = find_files([tmp_path / "nowhere"])
    assert found.problem == "there is no such file or folder"


# -- loading ----------------------------------------------------------------------------------------------------------


def test_every_decorated_function_is_found_in_order(tmp_path: Path) -> None:
    text = GOOD + '@schedule(fill)\ndef good(s):\n    s.split("i", [2, 8])\n'
    text += "def make(n):\n    @schedule(fill)\n    def made(s):\n        s.split('i', [None, n])\n    return made\n"
    text += "for n in (2, 4):\n    make(n)\n"
    write(tmp_path, many=text)
    assert names(tmp_path / "many.py") == ["good", "good", "made", "made"]


def test_a_decorated_schedule_is_found(tmp_path: Path) -> None:
    helper = "import functools\n\n\ndef twice(f):\n    @functools.wraps(f)\n    def both(s):\n"
    helper += "        f(s)\n    return both\n"
    write(tmp_path, helper=helper, user=GOOD.replace("@schedule(fill)\n", "@schedule(fill)\n@twice\n"))
    path = tmp_path / "user.py"
    path.write_text("from helper import twice\n" + path.read_text())
    assert names(path) == ["good"]


def test_schedules_of_imported_modules_are_theirs(tmp_path: Path) -> None:
    maker = HEAD + "def make(n):\n    @schedule(fill)\n    def made(s):\n        pass\n    return made\n"
    write(tmp_path, other=GOOD, maker=maker, user="from other import good\nfrom maker import make\nmine = make(4)\n")
    assert names(tmp_path / "user.py") == ["made"]


OTHER = """\
def tile(s):
    s.parallel("i")


class Tiles:
    def rows(s):
        s.parallel("i")


same = lambda s: s.parallel("i")
"""


@pytest.mark.parametrize("function", ["other.tile", "other.Tiles.rows", "other.same"])
def test_a_function_of_another_module_that_is_a_schedule_here(function: str, tmp_path: Path) -> None:
    write(tmp_path, other=OTHER, user=f"import other\n{GOOD}\nwrong = schedule(total)({function})\n")
    assert names(tmp_path / "user.py") == ["good", function.rpartition(".")[2].replace("same", "<lambda>")]
    done = invoke("verify", "user.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 schedules in 1 file: 1 proved, 1 refused;" in done.stdout


def test_a_schedule_belongs_to_the_module_that_was_executed_when_it_was_made(tmp_path: Path) -> None:
    maker = HEAD + "def make(f):\n    return schedule(fill)(f)\n\n\ndef plain(s):\n    pass\n\n\nhere = make(plain)\n"
    user = "import concurrent.futures\nfrom maker import here, make, plain\n"
    user += "with concurrent.futures.ThreadPoolExecutor(1) as threads:\n    threads.submit(make, plain).result()\n"
    user += "exec('make(lambda s: None)', {'make': make})\nclass Inner:\n    made = make(plain)\n"
    write(tmp_path, maker=maker, user=user, again="__name__ = 'again'\nfrom maker import make, plain\nmake(plain)\n")
    assert names(tmp_path / "user.py") == ["plain", "<lambda>", "plain"]
    assert names(tmp_path / "maker.py") == ["plain"]
    assert names(tmp_path / "again.py") == ["plain"]


def test_a_file_that_imports_itself_has_each_schedule_once(tmp_path: Path) -> None:
    write(tmp_path, selfish="import selfish\n" + GOOD)
    assert names(tmp_path / "selfish.py") == ["good"]


def test_helpers_of_one_name_in_two_folders(tmp_path: Path) -> None:
    for folder, value in (("a", 2), ("b", 4)):
        user = f"from helper import n\nassert n == {value}\n" + GOOD
        user += "    from helper import n as later\n    assert later == n\n"
        write(tmp_path / folder, helper=f"n = {value}\n", user=user)
    done = invoke("verify", "a", "b", cwd=tmp_path)
    assert "2 schedules in 4 files: 2 proved" in done.stdout


def test_a_package_beside_the_file_is_forgotten_and_others_are_kept(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    write(tmp_path / "pack", __init__="", part="n = 1\n")
    write(tmp_path, user="import pack.part\nimport colorsys\n" + GOOD)
    sys.modules.pop("colorsys", None)
    path = list(sys.path)
    with loaded(tmp_path / "user.py", "user.py"):
        assert "pack.part" in sys.modules
        assert sys.path[0] == str(tmp_path)
    assert "pack" not in sys.modules
    assert "pack.part" not in sys.modules
    assert "colorsys" in sys.modules
    assert sys.path == path
    assert not any(name.startswith("vtir_schedule_file") for name in sys.modules)


def test_packages_installed_below_the_folder_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = write(tmp_path / "env" / "site-packages", vtir_test_installed="n = 1\n")
    monkeypatch.syspath_prepend(str(site))
    write(tmp_path, user="import vtir_test_installed\n")
    try:
        assert names(tmp_path / "user.py") == []
        assert "vtir_test_installed" in sys.modules
    finally:
        sys.modules.pop("vtir_test_installed", None)


def test_the_main_guard_is_false_and_no_bytecode_is_written(tmp_path: Path) -> None:
    write(tmp_path, user='if __name__ == "__main__":\n    raise ValueError\n')
    assert names(tmp_path / "user.py") == []
    assert not (tmp_path / "__pycache__").exists()


def test_everything_is_undone_after_a_bad_file(tmp_path: Path) -> None:
    write(tmp_path, bad="import helper\nraise ValueError\n", helper="")
    path = list(sys.path)
    with pytest.raises(BadFileError, match="no message") as caught, loaded(tmp_path / "bad.py", "shown.py"):
        pass
    assert (caught.value.report.at.file, caught.value.report.at.line) == ("shown.py", 2)
    assert sys.path == path
    assert "helper" not in sys.modules


def test_an_interrupt_is_not_the_file_s_error(tmp_path: Path) -> None:
    write(tmp_path, user="raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        names(tmp_path / "user.py")


@pytest.mark.parametrize("command", ["verify", "bench", "lower", "run"])
def test_a_schedule_that_calls_sys_exit_is_an_error(command: str, tmp_path: Path) -> None:
    write(tmp_path, exits=GOOD.replace("    s.split", "    import sys; sys.exit(0)\n    s.split"))
    done = invoke(command, "exits.py", cwd=tmp_path)
    assert done.returncode == (1 if command == "verify" else 2)
    (said,) = [line for line in (done.stdout + done.stderr).splitlines() if "sys.exit" in line and "error" in line]
    assert "exits.py:21: " in said and said.endswith("sys.exit(0) was called [VT0005]")
