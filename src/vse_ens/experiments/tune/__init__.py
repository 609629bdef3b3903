"""Search for the settings of a preset with Optuna, on labels held out of the training data."""

from vse_ens.experiments.tune.result import TuneResult as TuneResult
from vse_ens.experiments.tune.run import Budget as Budget
from vse_ens.experiments.tune.run import TuneListener as TuneListener
from vse_ens.experiments.tune.run import tune as tune
from vse_ens.experiments.tune.space import SPACES as SPACES
from vse_ens.experiments.tune.space import Choices as Choices
from vse_ens.experiments.tune.space import Range as Range
from vse_ens.experiments.tune.space import read_space as read_space
from vse_ens.experiments.tune.study import TrialResult as TrialResult
