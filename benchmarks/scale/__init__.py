"""Training by shards and on a cluster, and data at full size."""
