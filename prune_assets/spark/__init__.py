"""Spark's side: finding a Java, writing the layout, reading what survives."""
