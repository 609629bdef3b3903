"""Experiments: models compared on one split, and settings tuned."""

from vse_ens.experiments.machine import describe_machine as describe_machine
