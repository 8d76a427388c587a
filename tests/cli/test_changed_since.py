"""``vtir verify --changed-since``: what a change may have broken, by the imports among the files of a repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED, invoke, write

HELPER = "from inner.sizes import FOUR\n"
USES = "from helper import FOUR\n" + HEAD + '@schedule(fill)\ndef uses(s):\n    s.split("i", [FOUR, 4])\n'
_QUIET = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True, env=_QUIET)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """``uses.py`` imports ``helper.py``, which imports ``inner/sizes.py``; ``good.py`` imports neither."""
    write(tmp_path / "s", good=GOOD, uses=USES, helper=HELPER)
    write(tmp_path / "s" / "inner", sizes="FOUR = 4\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


@pytest.fixture
def verified(repository: Path) -> Callable[..., tuple[int, set[str]]]:
    """The exit code, and the files of which something is said."""

    def verified(*arguments: str, since: str = "main") -> tuple[int, set[str]]:
        done = invoke("verify", "--changed-since", since, *(arguments or ("s",)), cwd=repository)
        said = (line.strip().partition(":")[0] for line in done.stdout.splitlines())
        return done.returncode, {file for file in said if file.endswith(".py")}

    return verified


def test_nothing_changed(repository: Path) -> None:
    done = invoke("verify", "--changed-since", "main", "s", cwd=repository)
    assert done.returncode == 0
    assert done.stderr == "no schedule file, and nothing that one imports, changed since main\n"
    assert done.stdout.startswith("0 schedules in 0 files")


def test_a_changed_file(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    (repository / "s" / "good.py").write_text(REFUSED)
    assert verified() == (1, {"s/good.py"})


def test_a_changed_import_of_an_import(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    (repository / "s" / "inner" / "sizes.py").write_text("FOUR = 3\n")
    assert verified() == (1, {"s/uses.py"})  # by 3 * 4, 16 iterations are not covered


def test_what_is_staged_and_what_is_committed(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    git(repository, "checkout", "-qb", "branch")
    (repository / "s" / "good.py").write_text(GOOD + "\n# changed\n")
    git(repository, "add", ".")
    assert verified() == (0, {"s/good.py"})
    git(repository, "commit", "-qm", "second")
    assert verified() == (0, {"s/good.py"})
    assert verified(since="HEAD") == (0, set())
    assert verified(since="HEAD~1") == (0, {"s/good.py"})


def test_what_changed_on_the_other_branch_does_not_count(
    repository: Path, verified: Callable[..., tuple[int, set[str]]]
) -> None:
    git(repository, "branch", "mine")
    (repository / "s" / "good.py").write_text(GOOD + "\n# changed\n")
    git(repository, "commit", "-qam", "theirs")
    git(repository, "checkout", "-q", "mine")
    assert verified(since="main") == (0, set())


def test_an_untracked_file(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    (repository / "s" / "größe neu.py").write_text(GOOD)
    assert verified() == (0, {"s/größe neu.py"})


def test_a_file_that_git_ignores_is_always_verified(
    repository: Path, verified: Callable[..., tuple[int, set[str]]]
) -> None:
    (repository / ".gitignore").write_text("generated.py\n")
    (repository / "s" / "generated.py").write_text(GOOD)
    assert verified() == (0, {"s/generated.py"})


def test_a_deleted_schedule_is_not_missed(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    (repository / "s" / "good.py").unlink()
    assert verified() == (0, set())
    assert verified("s/good.py") == (0, set())  # as `git diff --name-only` would name it
    assert verified("s/never.py") == (2, {"s/never.py"})


def test_a_deleted_import(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    (repository / "s" / "inner" / "sizes.py").unlink()
    code, files = verified()
    assert code == 2
    assert "s/uses.py" in files


def test_a_renamed_import(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    git(repository, "mv", "s/helper.py", "s/helpers.py")
    assert verified()[0] == 2
    (repository / "s" / "uses.py").write_text(USES.replace("from helper ", "from helpers "))
    assert verified() == (0, {"s/uses.py"})


def test_changed_settings_concern_all(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    (repository / "pyproject.toml").write_text("[tool.vtir]\nvalidate = false\n")
    assert verified() == (0, {"s/good.py", "s/uses.py"})


def test_relative_and_dotted_imports(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    write(repository / "s" / "inner", __init__="", more="from .sizes import FOUR\n")
    (repository / "s" / "helper.py").write_text("import inner.more\nFOUR = inner.more.FOUR\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    (repository / "s" / "inner" / "sizes.py").write_text("FOUR = 2 + 2\n")
    assert verified("s/uses.py", "s/good.py") == (0, {"s/uses.py"})


def test_an_import_with_more_dots_than_there_are_folders(
    repository: Path, verified: Callable[..., tuple[int, set[str]]]
) -> None:
    (repository / "s" / "good.py").write_text(
        f"if 0:\n    from {'.' * 99} import x\n    from {'.' * 99}a import x\n{GOOD}"
    )
    assert verified() == (0, {"s/good.py"})


def test_from_another_folder(repository: Path) -> None:
    (repository / "s" / "inner" / "sizes.py").write_text("FOUR = 2 + 2\n")
    done = invoke("verify", "--changed-since", "main", ".", cwd=repository / "s")
    assert done.returncode == 0
    assert "1 schedule in 1 file" not in done.stderr
    assert done.stdout.startswith("uses.py\n")


@pytest.mark.parametrize("line", ["from pack import *", "from outer.pack import *", "from .pack import *"])
def test_all_that_a_package_has(repository: Path, verified: Callable[..., tuple[int, set[str]]], line: str) -> None:
    write(repository / "outer" / "pack", __init__='__all__ = ["sizes", "more"]\n', sizes="", more="", other="")
    write(repository / "outer" / "pack" / "deep", __init__="")
    write(repository / "outer", helper=line + "\n", user="from helper import sizes\n" + GOOD)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    for inner in ("sizes.py", "deep/__init__.py"):
        assert verified("outer/user.py") == (0, set())
        (repository / "outer" / "pack" / inner).write_text("n = 1\n")
        assert verified("outer/user.py")[1] == {"outer/user.py"}  # whether or not the package is found there
        git(repository, "checkout", "-q", ".")
    (repository / "s" / "good.py").write_text(GOOD + "\n# changed\n")
    assert verified("outer/user.py") == (0, set())


def test_an_import_that_git_ignores_may_have_changed(
    repository: Path, verified: Callable[..., tuple[int, set[str]]]
) -> None:
    (repository / ".gitignore").write_text("generated\nvenv\n.hidden\n")
    (repository / "s" / "helper.py").write_text("from generated.sizes import FOUR\n")
    write(repository / "s" / "generated", sizes="FOUR = 4\n")
    for folder in ("venv", ".hidden"):  # what is installed there is no part of the project
        write(repository / folder / "verified_tir", script="")
    (repository / "venv" / "pyvenv.cfg").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    assert verified() == (0, {"s/uses.py"})


def test_links_that_lead_elsewhere(repository: Path, verified: Callable[..., tuple[int, set[str]]]) -> None:
    """A file, a folder, and an import that are links; and what a link that stays leads to."""
    write(repository / "a", one=GOOD, sizes="FOUR = 4\n")
    write(repository / "b", one=GOOD, sizes="FOUR = 4\n")
    (repository / "link").symlink_to("a")
    (repository / "s" / "one.py").symlink_to("../a/one.py")
    (repository / "s" / "inner" / "sizes.py").unlink()
    (repository / "s" / "inner" / "sizes.py").symlink_to("../../a/sizes.py")
    (repository / "s" / "from_link.py").write_text("import link.sizes\n" + GOOD)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    assert verified("s", "link") == (0, set())
    (repository / "a" / "sizes.py").write_text("FOUR = 2 + 2\n")
    assert verified("s/uses.py", "s/good.py", "link/one.py", "s/from_link.py")[1] == {"s/uses.py", "s/from_link.py"}
    git(repository, "checkout", "-q", ".")
    for link, target in (("link", "b"), ("s/one.py", "../b/one.py"), ("s/inner/sizes.py", "../../b/sizes.py")):
        (repository / link).unlink()
        (repository / link).symlink_to(target)
    found = {"s/uses.py", "link/one.py", "s/from_link.py"}
    assert verified("s/uses.py", "s/good.py", "link/one.py", "s/from_link.py")[1] == found
    assert verified("s/one.py", "s/good.py") == (0, {"s/one.py"})


def test_what_selects_nothing_is_a_mistake_also_then(repository: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = invoke("verify", "--changed-since", "main", *arguments, cwd=repository)
        return done.returncode, done.stdout + done.stderr

    for _ in range(2):
        code, said = run("-k", "typo", "s")
        assert code == 2 and "no schedule's name contains 'typo'" in said
        assert run("-k", "uses", "s")[0] == 0  # there is one, in a file that did not change
        assert run("s/uses.py:uses")[0] == 0
        code, said = run("s/uses.py:typo")
        assert code == 2 and "there is no schedule typo in this file" in said
        (repository / "s" / "good.py").write_text(GOOD + "\n# changed\n")


@pytest.mark.parametrize("revision", ["nowhere", "-x", "--output=x", "main..main", ""])
def test_an_unknown_revision(repository: Path, revision: str) -> None:
    done = invoke("verify", f"--changed-since={revision}", "s", cwd=repository)
    assert done.returncode == 2
    assert f"there is no revision {revision!r} here; in a shallow clone, fetch it first" in done.stderr
    assert (done.stderr.count("\n"), done.stdout) == (1, "")


def test_outside_of_a_repository(tmp_path: Path) -> None:
    done = invoke("verify", "--changed-since", "main", ".", cwd=write(tmp_path, good=GOOD))
    assert done.returncode == 2
    assert done.stderr.startswith(f"vtir: error: {tmp_path} is in no Git repository")
    assert done.stderr.count("\n") == 1


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(write(tmp_path, good=GOOD), "init", "-q")
    done = invoke("verify", "--changed-since", "HEAD", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no revision 'HEAD' here" in done.stderr


def test_without_git(repository: Path) -> None:
    done = invoke("verify", "--changed-since", "main", "s", cwd=repository, PATH="/nowhere")
    assert done.returncode == 2
    assert "needs git, which cannot be run" in done.stderr


# -- submodules --------------------------------------------------------------------------------------------------------

FILES = "-c", "protocol.file.allow=always"


@pytest.fixture
def module(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``s/inner`` is a submodule, which Git is told not to look at; gives its folder."""
    other = write(tmp_path_factory.mktemp("other"), sizes="FOUR = 4\n", unused="")
    (other / ".gitignore").write_text("generated.py\n")
    git(other, "init", "-q", "-b", "main")
    git(other, "add", ".")
    git(other, "commit", "-qm", "first")
    git(repository, "rm", "-q", "s/inner/sizes.py")
    git(repository, *FILES, "submodule", "add", "-q", str(other), "s/inner")
    git(repository, "config", "-f", ".gitmodules", "submodule.s/inner.ignore", "all")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    return repository / "s" / "inner"


@pytest.mark.parametrize("ignored", [True, False])
def test_a_change_in_a_submodule(
    repository: Path, verified: Callable[..., tuple[int, set[str]]], module: Path, ignored: bool
) -> None:
    if not ignored:
        git(repository, "config", "submodule.s/inner.ignore", "none")
    git(repository, "config", "status.showUntrackedFiles", "no")
    assert verified() == (0, set())
    (module / "sizes.py").write_text("FOUR = 3\n")
    assert verified() == (1, {"s/uses.py"})
    git(module, "commit", "-qam", "three")
    assert verified() == (1, {"s/uses.py"})
    git(repository, "add", "-f", "s/inner")
    git(repository, "commit", "-qm", "third")
    assert verified() == (0, set())
    assert verified(since="HEAD~1") == (1, {"s/uses.py"})


def test_what_a_submodule_has_no_more(
    repository: Path, verified: Callable[..., tuple[int, set[str]]], module: Path
) -> None:
    (module / "sizes.py").unlink()
    assert verified("s/uses.py", "s/good.py") == (2, {"s/uses.py"})
    git(module, "rm", "-q", "sizes.py")
    git(module, "commit", "-qm", "nothing")
    assert verified("s/uses.py", "s/good.py") == (2, {"s/uses.py"})
    git(repository, "rm", "-qf", "s/inner")
    assert verified("s/uses.py", "s/good.py") == (
        2,
        {"s/uses.py", "s/good.py"},
    )  # which files it had is not known any more


@pytest.mark.parametrize("name", ["new", "generated"])
def test_a_new_file_in_a_submodule(
    repository: Path, verified: Callable[..., tuple[int, set[str]]], module: Path, name: str
) -> None:
    (repository / "s" / "helper.py").write_text(f"from inner.{name} import FOUR\n")
    (module / f"{name}.py").write_text("FOUR = 4\n")
    git(repository, "commit", "-qam", "third")
    assert verified() == (0, {"s/uses.py"})


def test_submodules_of_submodules(
    repository: Path, verified: Callable[..., tuple[int, set[str]]], module: Path
) -> None:
    git(module, *FILES, "submodule", "add", "-q", str(module), "deep")
    git(module, "config", "-f", ".gitmodules", "submodule.deep.ignore", "all")
    git(module, "add", ".")
    git(module, "commit", "-qm", "deep")
    (repository / "s" / "helper.py").write_text("from inner.deep.sizes import FOUR\n")
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "third")
    assert verified() == (0, set())
    (module / "deep" / "sizes.py").write_text("FOUR = 3\n")
    assert verified()[0] == 1


def test_a_submodule_that_was_not_fetched(
    repository: Path, verified: Callable[..., tuple[int, set[str]]], module: Path
) -> None:
    (repository / "s" / "helper.py").write_text("FOUR = 4\n")
    git(repository, "commit", "-qam", "third")
    git(repository, "submodule", "deinit", "-f", "s/inner")
    assert verified() == (0, set())
    (repository / "s" / "helper.py").write_text("from inner.sizes import FOUR\n")
    git(repository, "commit", "-qam", "fourth")
    (module / "sizes.py").write_text("FOUR = 3\n")
    assert verified() == (1, {"s/uses.py"})


def test_a_repository_of_its_own_that_git_ignores(
    repository: Path, verified: Callable[..., tuple[int, set[str]]]
) -> None:
    (repository / ".gitignore").write_text("s/third\n")
    (repository / "s" / "helper.py").write_text("from third.sizes import FOUR\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    git(write(repository / "s" / "third", sizes="FOUR = 4\n"), "init", "-q")
    assert verified() == (0, {"s/uses.py"})
