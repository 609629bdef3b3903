"""Every claim about speed, memory and accuracy, as code that measures it."""
