"""The cluster's memory and rules: no protocol messages, no clock, no sockets."""
