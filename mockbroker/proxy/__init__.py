"""A proxy before a real cluster: the path of a call whose answer somebody else gives, without a clock or a socket."""
