"""Manifest lists and manifests: reading, numbering of files, and skipping of manifests by partition summaries."""
