"""Comparison of models and baselines on one split of a data set."""

from vse_ens.experiments.compare.entries import Entry as Entry
from vse_ens.experiments.compare.entries import parse_entries as parse_entries
from vse_ens.experiments.compare.page import comparison_page as comparison_page
from vse_ens.experiments.compare.results import METRICS as METRICS
from vse_ens.experiments.compare.results import Comparison as Comparison
from vse_ens.experiments.compare.results import EntryRun as EntryRun
from vse_ens.experiments.compare.results import Result as Result
from vse_ens.experiments.compare.results import RunStore as RunStore
from vse_ens.experiments.compare.run import ProgressListener as ProgressListener
from vse_ens.experiments.compare.run import compare as compare
from vse_ens.experiments.compare.run import warm_up as warm_up
