"""Rules on labels: aliases, renamed labels and implications, stored as events and applied to pairs."""
