"""Rules proposed from pairs: implications and aliases, for a person to accept."""
