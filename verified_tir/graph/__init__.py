"""Graphs of operators on tensors: the level at which layouts of whole models are planned."""

from __future__ import annotations

from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node, TensorType, Value

__all__ = ["Graph", "GraphBuilder", "GraphError", "Node", "TensorType", "Value"]
