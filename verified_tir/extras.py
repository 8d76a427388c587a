"""What is optional, and how to install it from where this was installed.

pip records where a package came from (``direct_url.json``, PEP 610): an index, a folder, a wheel, or a repository.  An
extra has to come from the same place, or another version would replace this one.
"""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

NAME: Final = "verified_tir"

EXTRAS: Final = {
    "hypothesis": "testing",
    "threadpoolctl": "bench",
    "redis": "redis",
    "cvc5": "cvc5",
    "distributed": "dask",
    "optuna": "tune",
    "scipy": "graph",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "tvm": "tvm",
    "pygls": "editor",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""The extra that brings a module; of those that several bring, the smallest."""


CODE: Final = "VT0016"
"""The code of that message, as ``vtir help`` explains it; it stands before the command, so that this can be copied."""


def install(*extras: str) -> str:
    """The command that installs extras."""
    wanted = f"[{','.join(dict.fromkeys(extras))}]" if extras else ""
    return f"python -m pip install {_requirement(wanted)}"


def missing(what: str, extra: str) -> str:
    """One line: what needs an extra, and how to install it."""
    return f"{what} needs the extra {extra!r} [{CODE}]: {install(extra)}"


def elsewhere() -> str | None:
    """What pip takes for this package on another machine; ``None`` if it was installed from a local path."""
    if _checkout() is not None:
        return None
    origin = _origin()
    if not origin:
        return f"{NAME}=={version(NAME)}"
    return None if str(origin.get("url", "")).startswith("file:") else _requirement("")


def _checkout() -> Path | None:
    """The folder of the sources, if this runs from there, whether or not it is installed."""
    folder = Path(__file__).resolve().parent.parent
    return folder if (folder / "pyproject.toml").is_file() else None


def _requirement(wanted: str) -> str:
    """What pip takes for this package, with ``wanted`` behind its name."""
    folder = _checkout()
    if folder is not None:
        return f"--editable {shlex.quote(f'{folder}{wanted}')}"
    origin = _origin()
    url = origin.get("url", "")
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        below = f"#subdirectory={origin['subdirectory']}" if "subdirectory" in origin else ""
        return shlex.quote(f"{NAME}{wanted} @ {vcs['vcs']}+{url}@{vcs['commit_id']}{below}")
    if url.startswith("file:"):
        return shlex.quote(f"{unquote(urlsplit(url).path)}{wanted}")
    if url:
        return shlex.quote(f"{NAME}{wanted} @ {url}")
    return shlex.quote(f"{NAME}{wanted}")


def _origin() -> dict[str, Any]:
    """What pip recorded; nothing for a package from an index."""
    try:
        text = distribution(NAME).read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
