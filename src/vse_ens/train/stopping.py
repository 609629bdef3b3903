"""When to stop: logic only, with no model and no disk in it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """Stop after ``patience`` epochs without a better value; remember which epoch was best."""

    patience: int
    best_value: float = -math.inf
    best_epoch: int = 0
    waited: int = 0

    def update(self, epoch: int, value: float) -> bool:
        """Take in an epoch's value; whether it is the best so far."""
        if value > self.best_value:
            self.best_value, self.best_epoch, self.waited = value, epoch, 0
            return True
        self.waited += 1
        return False

    @property
    def exhausted(self) -> bool:
        """Whether it is time to stop."""
        return self.waited >= self.patience
