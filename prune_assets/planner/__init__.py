"""Planning of reads: evaluates levels of metadata in order; the result is plain data."""
