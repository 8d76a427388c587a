"""The files that a proof rests on: those of the kernel, and what these import, directly or indirectly."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

PACKAGE = "verified_tir"
KERNEL = f"{PACKAGE}/kernel"


def trusted_files(root: Path) -> list[Path]:
    """All of them, in order; a package's empty ``__init__.py``, too."""
    pending = sorted((root / KERNEL).rglob("*.py"))
    found: set[Path] = set()
    while pending:
        file = pending.pop()
        if file not in found:
            found.add(file)
            pending += [f for name in imports(file) if (f := module_file(root, name)) is not None]
    return sorted(found)


def kernel_digest(root: Path) -> str:
    """What identifies the code of the trusted files: a hash of their syntax trees, without comments and docstrings."""
    found = hashlib.sha256()
    for file in trusted_files(root):
        found.update(f"{file.relative_to(root).as_posix()}\n{_code(file)}\n".encode())
    return found.hexdigest()[:16]


def _code(file: Path) -> str:
    """The syntax tree of a file without its docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]  # type: ignore[attr-defined]
    return ast.dump(tree)


def module_file(root: Path, name: str) -> Path | None:
    """The file of a module of the package."""
    path = root.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.exists():
            return file
    return None


def imports(file: Path) -> set[str]:
    """The modules of the package that a file imports, also inside functions, but not for types only."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE):
            found.update(f"{node.module}.{a.name}" for a in node.names)
            if node.module != PACKAGE:  # of the package itself only its modules are imported
                found.add(node.module)
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names if a.name.startswith(PACKAGE))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(file.read_text(encoding="utf-8")))
    return found
