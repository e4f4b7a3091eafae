"""Plan reads: evaluate metadata level by level, and return the result as plain data."""
