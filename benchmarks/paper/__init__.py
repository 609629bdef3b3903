"""The experiments of the paper: section 4 rerun on real or synthetic data, with a report: ``vse reproduce``."""
