"""Rewrites of a parsed predicate into what lowering understands: one a file, one function of the same name."""
