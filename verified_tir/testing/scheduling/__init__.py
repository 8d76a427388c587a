"""Steps of schedules for property tests: strategies over all primitives, and programs worth trying them on."""

from verified_tir.testing.scheduling.seeds import seeds
from verified_tir.testing.scheduling.step import Plan, Step, primitives
from verified_tir.testing.scheduling.strategies import Draft, Taken, plans, schedules, steps

__all__ = ["Draft", "Plan", "Step", "Taken", "plans", "primitives", "schedules", "seeds", "steps"]
