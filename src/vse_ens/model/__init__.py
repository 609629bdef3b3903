"""Hold, score, save and load embeddings. Does not train."""
