"""Learning the label-label matrix (EASE or its sparse form)."""
