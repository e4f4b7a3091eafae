"""Find, decompress and read Spark's event logs."""
