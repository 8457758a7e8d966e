"""Every picture that is a file of its own: partitions by rack, members' reads, curves of availability.

They are SVG text, made by hand: a picture takes milliseconds and no package, where altair with vl-convert brings 60 MB
of them for the same rectangles and lines. ``svg`` has what the pictures share. Those of the page of locality take their
colours from its style, and so stand with it (``kafka_rack.locality.svg``).
"""
