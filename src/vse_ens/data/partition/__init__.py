"""Pairs partitioned by shard, on disk."""
