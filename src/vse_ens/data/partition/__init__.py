"""Pairs partitioned by shard, on disk."""

from vse_ens.data.partition.build import partition as partition
from vse_ens.data.partition.build import without_pairs as without_pairs
from vse_ens.data.partition.parts import PartFiles as PartFiles
from vse_ens.data.partition.parts import shard_images as shard_images
from vse_ens.data.partition.store import Partition as Partition
