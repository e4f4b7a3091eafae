"""What is wrong with a table whatever layout it should have: files, statistics, the Delta log."""
