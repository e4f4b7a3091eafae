"""Write tables with a layout: stage, check and commit files, and complete interrupted writes."""
