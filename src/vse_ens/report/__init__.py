"""What was measured, as one HTML page that needs nothing but itself.

`html` has the page and its text blocks, `tables` the tables, `lines` and `bars` the charts; the rest serves these.
"""
