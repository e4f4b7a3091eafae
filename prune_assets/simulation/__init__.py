"""Simulate candidate layouts on a sample, to evaluate which of their pages a plan would keep.

The sample contains rows that were read, for the advisor, or rows spread between bounds, for hints and forecasts.
"""
