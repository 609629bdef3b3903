"""Speed of training, of reading and of evaluation."""
