"""Select the files of a table to rewrite, from metadata alone.

Nothing here reads rows or needs Spark.
"""
