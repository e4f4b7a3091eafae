"""What engines do with the same files and predicate: a room for each, which holds its profile (`profile.py`).

The rules of parquet-java, which several readers share, stand beside the rooms.
"""
