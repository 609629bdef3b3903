"""Label weights: the label-label matrix of EASE, or its sparse form, learnt from known pairs."""
