"""Simulate candidate layouts on a sample, to evaluate plans on their pages.

The sample contains rows that were read, for the advisor, or rows spread between bounds, for hints and forecasts.
"""
