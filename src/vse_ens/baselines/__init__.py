"""What a model must beat: simple methods under the same contract as the models."""
