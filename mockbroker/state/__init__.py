"""The cluster's state and rules: no protocol messages, no clock, no sockets."""
