"""An exchange of a SASL mechanism, token by token."""

from __future__ import annotations

from mockbroker.state.security.mechanisms import Exchange, Login


class Exchanged:
    """An exchange at one time."""

    def __init__(self, exchange: Exchange, now_ms: int = 0) -> None:
        self.exchange, self.now_ms = exchange, now_ms
        next(exchange)

    def answer(self, token: bytes) -> bytes | Login:
        """The broker's token, or the login once it is complete."""
        try:
            return self.exchange.send((token, self.now_ms))
        except StopIteration as complete:
            login: Login = complete.value
            return login
