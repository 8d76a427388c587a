"""The models by name, and layouts to plan them with."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.graph.whole_models import transformer
from tests.graph.whole_models.networks import network
from tests.graph.whole_models.quantise import Kind, quantised


def _network(large: bool, batch: int | str) -> Any:
    return network(batch, channels=32, size=64, stages=3) if large else network(batch, channels=8, size=8, stages=1)


FLOATS: dict[str, Callable[[bool], Any]] = {
    "encoder": lambda large: transformer.encoder(transformer.LARGE if large else transformer.SMALL),
    "gpt": lambda large: transformer.gpt(transformer.LARGE if large else transformer.SMALL),
    "llama": lambda large: transformer.llama(transformer.LARGE if large else transformer.SMALL, 2 if large else 1),
    "network": lambda large: _network(large, 2),
    "network_open": lambda large: _network(large, "batch"),
    "stem_open": lambda large: network("batch", channels=32 if large else 8, size=64 if large else 4, stages=0),
}
QUANTISED: dict[str, tuple[str, Kind]] = {
    f"{name}_{kind}": (name, kind)
    for name in ("encoder", "gpt", "network")
    for kind in ("pairs", "integers", "dynamic")
}
NAMES = (*FLOATS, *QUANTISED)


def made(name: str, large: bool = False) -> Any:
    """The model of that name (``onnx.ModelProto``)."""
    if name in FLOATS:
        return FLOATS[name](large)
    source, kind = QUANTISED[name]
    with tempfile.TemporaryDirectory() as folder:
        return quantised(FLOATS[source](large), kind, Path(folder))


def layout(name: str, large: bool = False) -> str:
    """What ``vtir plan --layout`` may be asked for."""
    tile = 16 if large else 8
    return f"conv2d=NCHW{tile}c" if name.startswith(("network", "stem")) else f"matmul=KM{tile}k"
