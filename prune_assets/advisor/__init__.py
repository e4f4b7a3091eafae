"""Advise the layout that reads the fewest bytes for a workload: candidates, simulation, ranking."""
