"""From a workload to the layout that reads the fewest bytes: candidates, simulated layouts, a ranking."""
