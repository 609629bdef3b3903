"""The experiments of the paper: section 4 rerun on real or synthetic data, with a report."""

from vse_ens.experiments.paper.data_sets import DataSet as DataSet
from vse_ens.experiments.paper.findings import Finding as Finding
from vse_ens.experiments.paper.findings import findings_of as findings_of
from vse_ens.experiments.paper.learning_curve import Limits as Limits
from vse_ens.experiments.paper.numbers import KNOWN_NUMBERS as KNOWN_NUMBERS
from vse_ens.experiments.paper.numbers import PaperNumbers as PaperNumbers
from vse_ens.experiments.paper.page import reproduction_page as reproduction_page
from vse_ens.experiments.paper.run import FULL as FULL
from vse_ens.experiments.paper.run import QUICK as QUICK
from vse_ens.experiments.paper.run import Effort as Effort
from vse_ens.experiments.paper.run import ProgressListener as ProgressListener
from vse_ens.experiments.paper.run import reproduce as reproduce
from vse_ens.experiments.paper.stand_ins import Shape as Shape
from vse_ens.experiments.paper.stand_ins import stand_in as stand_in
