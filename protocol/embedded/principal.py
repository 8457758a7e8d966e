"""The principal of a request, as a broker sends it to the controller inside Envelope (KIP-590)."""

from ..declare import data, field
from ..wire import Bool, String


@data(versions="0", flexible="0+")
class DefaultPrincipalData:
    """The name of a user, as Kafka's own authenticators give it."""

    type: str = field(String)
    name: str = field(String)
    token_authenticated: bool = field(Bool)
