"""Vectors of pictures by an ONNX network: `vse embed`."""

from vse_ens.pixels.encoder import EXTERNAL as EXTERNAL
from vse_ens.pixels.encoder import NETWORKS as NETWORKS
from vse_ens.pixels.encoder import Encoder as Encoder
from vse_ens.pixels.vectors import VectorCache as VectorCache
from vse_ens.pixels.vectors import Vectors as Vectors
from vse_ens.pixels.vectors import embed as embed
