"""Plans a read: which levels of metadata are evaluated, in which order, and what is left to read, as plain data."""
