"""Draws the sheet of drawings that the service paints pictures from: ``python -m tools.illustrations``.

Each label of the built-in data set has a function that draws it on a canvas, which records shapes. They are written as
SVG to ``src/vse_ens/service/pictures/drawings.svg``; the module ``sheet`` beside that file describes and reads it.
"""
