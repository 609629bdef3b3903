"""Export of suggestions and vectors to files for other programs."""
