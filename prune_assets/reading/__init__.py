"""Read tables with a plan, through Spark or into Arrow, and measure the scans."""
