"""One file per kind of evidence: a leaf and a batch of containers in, an array of outcome sets out."""
