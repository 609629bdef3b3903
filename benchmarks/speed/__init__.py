"""Speed of training, reading and evaluation."""
