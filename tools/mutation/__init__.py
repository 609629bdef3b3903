"""Mutation testing: change one line, run the tests that execute it, and count the changes that no test notices."""
