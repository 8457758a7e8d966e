"""A broker as KIP-36 writes it: ``Broker.writeTo`` and ``Broker.readFrom`` of Kafka 0.9 and 0.10."""

from ..declare import data, field, record
from ..wire import Array, Int16, Int32, String


@data(versions="0")
class Broker:
    """Id, endpoints and rack of a broker. It has one version, here 0."""

    @record
    class Endpoint:
        port: int = field(Int32)
        host: str = field(String)
        protocol: int = field(Int16)  # 0: PLAINTEXT; 1: SSL; 2: SASL_PLAINTEXT; 3: SASL_SSL

    id: int = field(Int32)
    endpoints: list[Endpoint] = field(Array(Endpoint))
    rack: str | None = field(String, nullable="0+", default=None)  # null, a length of -1, for none
