"""Reading and writing (image, label) pairs."""

from vse_ens.data.io.frames import from_frame as from_frame
from vse_ens.data.io.frames import from_matrix as from_matrix
from vse_ens.data.io.frames import to_frame as to_frame
from vse_ens.data.io.ingest import ingest as ingest
from vse_ens.data.io.read import read as read
from vse_ens.data.io.source import Batch as Batch
from vse_ens.data.io.source import Source as Source
from vse_ens.data.io.write import write_pairs as write_pairs
from vse_ens.data.io.write import write_parquet as write_parquet
