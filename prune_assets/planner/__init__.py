"""Planning of reads: evaluates levels of metadata in order.

The planned read is plain data.
"""
