"""Which files of a table need to be rewritten, from what their metadata say: nothing here reads rows or needs Spark."""
