"""A proxy in front of a real cluster: the path of a call that a real broker answers, without a clock or a socket."""
