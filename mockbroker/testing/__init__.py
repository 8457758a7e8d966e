"""For those who test against a cluster: the pytest plugin, and certify."""
