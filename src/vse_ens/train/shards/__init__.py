"""Training by shards: parts of the images that train apart, each on its own copy of the label tables.

An image belongs to shard ``number % shards``. From one exchange to the next every shard trains with the engine as it is
on one machine; then the changes of all shards to the shared tables are combined. Shards are part of the model, where
they run is not.
"""
