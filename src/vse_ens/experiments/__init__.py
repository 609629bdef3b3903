"""Experiments: the comparison of models on one split, and the experiments of the paper."""

from vse_ens.experiments.machine import describe_machine as describe_machine
