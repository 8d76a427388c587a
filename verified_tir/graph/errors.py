"""What the graph layer says when something cannot be done."""

from __future__ import annotations


class GraphError(Exception):
    """A mistake in a graph, or an operator that is not known; the message names the node and the remedy."""


class NoCopy(GraphError):
    """A program that is not a rewrite of a layout; the message says why."""
