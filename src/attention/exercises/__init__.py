"""A check for each exercise: one module a chapter."""
