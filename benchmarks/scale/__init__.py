"""Training by shards, on a cluster and at full size."""
