"""Writes the models."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx

from tests.graph.whole_models import __doc__ as text
from tests.graph.whole_models.models import NAMES, layout, made
from tests.graph.whole_models.operands import operands


def main() -> None:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true", help="four blocks, or three stages, with more channels")
    parser.add_argument("--model", action="append", choices=NAMES, help="only these")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.model or NAMES:
        model = made(name, options.large)
        onnx.save(model, options.folder / f"{name}.onnx")
        for operand, array in operands(model).items():
            np.save(options.folder / f"{name}.{operand}.npy", array)
        print(f"{name}.onnx: {len(model.graph.node)} nodes, to plan it: --layout {layout(name, options.large)}")


if __name__ == "__main__":
    main()
