"""Client processes: one library each, a producer and a consumer; the demo and the rolling upgrade run them."""
