"""Evaluation on demand: programs too large to be executed as a whole, compared in chosen elements."""

from verified_tir.validate.demand.validator import MOST_ELEMENTS, compare_on_demand, replayed_in_part, too_long

__all__ = ["MOST_ELEMENTS", "compare_on_demand", "replayed_in_part", "too_long"]
