"""Training by shards, for clusters and for data larger than memory.

An image belongs to shard ``number % shards``. Between two exchanges every shard trains with the same engine as on one
machine, on its own copy of the shared tables; then the updates of all shards are merged. Shards are part of the model,
the machines they run on are not.
"""
