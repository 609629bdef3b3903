"""HTML reports: pages, tables and charts in one self-contained file."""
