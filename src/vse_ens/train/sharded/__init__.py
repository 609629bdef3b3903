"""Training by shards, for clusters and for data larger than memory."""
