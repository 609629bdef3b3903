"""Training: `Trainer` runs epochs on a `Backend`, whose engines call the kernels. Never prints."""

from vse_ens.train.backend import Backend as Backend
from vse_ens.train.backend import LocalBackend as LocalBackend
from vse_ens.train.checkpoint import Checkpoints as Checkpoints
from vse_ens.train.fold_in import FoldIn as FoldIn
from vse_ens.train.incremental import IncrementalTrainer as IncrementalTrainer
from vse_ens.train.progress import EpochReport as EpochReport
from vse_ens.train.progress import Progress as Progress
from vse_ens.train.ram_estimate import RamEstimate as RamEstimate
from vse_ens.train.ram_estimate import estimate_ram as estimate_ram
from vse_ens.train.trainer import Trainer as Trainer
