"""Label weights: the label-label matrix of EASE, or its sparse form, learned from known pairs."""
