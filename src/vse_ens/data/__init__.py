"""Pairs of images and labels: reading, splitting, filtering, and the built-in and published data sets."""

from vse_ens.data.annotations import Annotations as Annotations
from vse_ens.data.annotations import NewImagesSplit as NewImagesSplit
from vse_ens.data.annotations import Split as Split
from vse_ens.data.filters import keep_frequent as keep_frequent
from vse_ens.data.summary import Summary as Summary
from vse_ens.data.vocabulary import Vocabulary as Vocabulary
