"""A small museum of rack bugs that were released: each fails with one version and is mended in the next."""
