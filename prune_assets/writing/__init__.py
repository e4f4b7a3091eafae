"""Select the files of a table to rewrite, from metadata alone: without reading rows, and without Spark."""
