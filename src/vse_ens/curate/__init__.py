"""What a curator asks of a model and its pairs: why a label, which labels look wrong, missing or double."""
