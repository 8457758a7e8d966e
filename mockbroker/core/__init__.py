"""The path of a call from bytes to bytes, without a clock or a socket."""
