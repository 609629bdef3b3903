"""Image features: reading, checking and attaching them."""
