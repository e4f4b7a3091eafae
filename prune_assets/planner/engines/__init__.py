"""What other readers, left alone, would read of the same files for the same predicate."""
