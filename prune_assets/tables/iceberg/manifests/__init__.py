"""Manifest lists and manifests, and skipping of manifests by partition summaries."""
