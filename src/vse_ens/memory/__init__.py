"""Learning the label-label memory from pairs."""
