"""What a Delta table says about its files: the log read, replayed and asked, without Spark."""
