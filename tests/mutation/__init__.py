"""Mutation testing of the trusted base: each obligation and each side condition must be missed when it is gone."""
