"""Tables read through Spark as a plan has it, and what their scans really read."""
