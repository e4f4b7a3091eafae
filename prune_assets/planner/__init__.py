"""Planning of reads: evaluates levels of metadata in order; the planned read is plain data."""
