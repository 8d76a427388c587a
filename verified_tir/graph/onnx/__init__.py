"""ONNX models as graphs (extra ``onnx``)."""

from __future__ import annotations

from verified_tir.graph.onnx.load import from_onnx, load_onnx

__all__ = ["from_onnx", "load_onnx"]
