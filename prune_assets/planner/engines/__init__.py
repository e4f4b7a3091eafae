"""What readers do with the same files and predicate: a room for each, with a profile; a new one is an entry in ENGINES.

The rules of parquet-java, which several readers share, stand beside the rooms.
"""
