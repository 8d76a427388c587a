"""Mutation testing of the trusted rules: each obligation and each side condition must be missed when it is gone."""
