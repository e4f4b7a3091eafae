"""Lists of manifests and manifests: read, numbered, and skipped by what their list says of partitions."""
