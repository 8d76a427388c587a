"""Schedules that released systems accepted and that change the result, each beside its nearest legal neighbour."""
