"""Lower conditions on bound operands to predicate leaves: comparisons, lists, texts and times."""
