"""``vse data``: generate the built-in data set or convert published ones."""
