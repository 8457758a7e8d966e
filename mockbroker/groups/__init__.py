"""Groups and the offsets they have committed."""
