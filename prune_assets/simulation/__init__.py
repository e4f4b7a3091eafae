"""Layouts to come, simulated on a sample: what the evaluator of plans would keep of their pages.

The sample has rows that were read, for the advisor, or rows spread between bounds, for hints and forecasts.
"""
