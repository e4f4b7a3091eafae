"""Simplifications of predicates, one rule a file, each stated with the law that it applies."""
