"""Baselines: simple methods that implement the same scoring interface as the models."""

from vse_ens.baselines.als import Als as Als
from vse_ens.baselines.base import Baseline as Baseline
from vse_ens.baselines.base import FittedBaseline as FittedBaseline
from vse_ens.baselines.base import Popularity as Popularity
from vse_ens.baselines.cooccurrence import Cooccurrence as Cooccurrence
from vse_ens.baselines.ease import Ease as Ease
from vse_ens.baselines.image_knn import ImageKnn as ImageKnn
from vse_ens.baselines.registry import BASELINES as BASELINES
from vse_ens.baselines.registry import make_baseline as make_baseline
