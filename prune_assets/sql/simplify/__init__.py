"""Simplifications of predicates: one rule per file, with the law that it applies."""
