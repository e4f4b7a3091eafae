"""Forms of an inspection: JSON of schema `inspection/1`, and console output."""
