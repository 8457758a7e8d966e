"""StreamsGroupTopologyDescriptionUpdate (key 93): a Kafka Streams application tells the broker what its topology looks
like, for administrators to read (KIP-1331).
"""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, String


@record
class TopologyNode:
    """A node by its name, and the names of those that it hands records to."""

    name: str = field(String)
    node_type: int = field(Int8)  # 1: source; 2: processor; 3: sink
    source_topics: list[str] = field(Array(String))
    sink_topic: str | None = field(String, nullable="0+", default=None)
    stores: list[str] = field(Array(String))
    successors: list[str] = field(Array(String))


@record
class TopologyDescription:
    """A topology as people read it: its nodes by subtopology, and the global stores."""

    @record
    class Subtopology:
        subtopology_id: str = field(String)
        nodes: list[TopologyNode] = field(Array(TopologyNode))

    @record
    class GlobalStore:
        source: TopologyNode = field(TopologyNode)
        processor: TopologyNode = field(TopologyNode)

    subtopologies: list[Subtopology] = field(Array(Subtopology))
    global_stores: list[GlobalStore] = field(Array(GlobalStore))


@request(key=93, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateRequest:
    """The description of one topology epoch, from the member whose heartbeat was told that it is required."""

    group_id: str = field(String)
    member_id: str = field(String)
    topology_epoch: int = field(Int32)
    topology_description: TopologyDescription = field(TopologyDescription)


@response(key=93, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateResponse:
    """How that went."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
