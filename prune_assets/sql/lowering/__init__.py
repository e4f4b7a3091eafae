"""From conditions on bound operands to the leaves of the owned predicate: comparisons, lists, texts and times."""
