"""Reading and writing (image, label) pairs."""
