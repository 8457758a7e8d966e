"""The properties of each API: one object beside its handler.

A handler's module declares with ``handles`` what the declarations of request and response lack, such as the access
that the API needs. The module is imported at the first request for one of its APIs; the served APIs and their versions
are known before, from the table of releases and the names of the modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from mockbroker.api_parts import Level, error_field, parts_of
from mockbroker.parts import merged
from mockbroker.state.errors import ApiError
from mockbroker.state.releases import DISKLESS_VERSIONS, NEWEST, newest_versions, versions_of_release
from mockbroker.state.security.operations import Operation
from protocol.error_codes import ErrorCode
from protocol.registry import APIS, message_class
from protocol.versions import VersionRange

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

Handler = Callable[[Any, Any], Any]
"""``(call, request) -> response``, a ``Wait``, or None if the protocol has no answer."""
Reader = Callable[[Any, Any], Any]
"""``(call, request) -> Subjects``."""
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])

OPERATIONS = {one.name.title().replace("_", ""): one for one in Operation}
"""The operations that an API may need, by Kafka's name."""


class Needs(NamedTuple):
    """Operations on the cluster, and on each group, topic and transactional id that the request names; "" for none.

    ``every_topic`` is an operation on the cluster that replaces the one on topics, ``or_cluster`` one that replaces
    the other one on the cluster. ``note`` is for the docs. With ``in_words`` the error of a missing operation on the
    cluster has a message. ``handler`` is what the handler itself authorizes, because Kafka does so later: the
    ``topics``, or ``all``.
    Source: KafkaApis, ControllerApis and AclApis, Apache Kafka 4.4; of brokers in ZooKeeper mode KafkaApis 3.9.
    """

    cluster: str = ""
    group: str = ""
    topic: str = ""
    transactional_id: str = ""
    every_topic: str = ""
    or_cluster: str = ""
    note: str = ""
    in_words: bool = False
    handler: Literal["", "topics", "all"] = ""


class Errors(NamedTuple):
    """Properties of an API's error answers that the declarations lack.

    Attributes:
        words: the content of ``error_message``: the exception's ``own`` text, the ``meaning`` without one, or
            ``nothing``.
        parts: the versions whose answer has the error in each part; "" for those without a top-level error.
        requested, answered: the lists that lead to the parts, outermost first, if the names differ; ``dirs.topics``
            for a list in the entries of another.
        older: error code -> the first version that has it, and the code of earlier versions.
        failed: values of the other fields of an entry with an error, if not the default.
        odd: ``(request, answer, error, version) -> answer`` for all other differences.
        injected: the place of the error of a fault that matches some parts: ``lookup``, the handler refuses a partition
            as it looks it up; ``request``, the handler does not see the part, and the answer has its error;
            ``whole``, the error is the whole answer.
        top: errors that only the whole answer has, such as those of a session, if ``injected`` is ``lookup``.
    """

    words: Literal["own", "meaning", "nothing"] = "own"
    parts: str = ""
    requested: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    older: Mapping[int, tuple[int, int]] = {}
    failed: Mapping[str, Any] = {}
    odd: Callable[[Any, Any, ApiError, int], Any] | None = None
    injected: Literal["lookup", "request", "whole"] = "whole"
    top: Sequence[ErrorCode] = ()


FROM_NAMES = Errors()


class Api:
    """One API: its messages, its handler, the access that it needs, and where its errors go.

    Raises ValueError: the facts contradict the declarations, or each other.
    """

    __slots__ = ("access", "errors", "handler", "key", "name", "request", "response", "subjects")

    def __init__(self, request: Any, handler: Handler, access: Needs, errors: Errors, subjects: Reader | None) -> None:
        self.key: int = request.api_key
        self.name: str = APIS[self.key][1]
        self.request, self.response = request, message_class(self.key, "response")
        self.handler, self.access, self.errors, self.subjects = handler, access, errors, subjects
        for operation in access[:-3]:
            if operation and operation not in OPERATIONS:
                raise ValueError(f"{self.name}: expected one of {', '.join(OPERATIONS)}, got {operation!r}")
        for version in request.valid_versions:
            is_failed = error_field(self.response, version) or self.failed_parts(version)
            if not (is_failed or errors.odd or errors.parts):
                raise ValueError(
                    f"{self.name} v{version}: expected a field of the answer for errors, or Errors(odd=...)"
                )

    def parts(self, version: int) -> tuple[Level, ...]:
        """The lists of parts in the request and in its answer."""
        return parts_of(self.request, self.response, version, self.errors.requested, self.errors.answered)

    def failed_parts(self, version: int) -> tuple[Level, ...]:
        """The same, if the error of a whole request goes into each part of the answer; else empty."""
        stated = self.errors.parts
        is_failed = version in VersionRange.parse(stated) if stated else not error_field(self.response, version)
        return self.parts(version) if is_failed else ()


def handles(
    request: type, *, access: Needs, errors: Errors = FROM_NAMES, subjects: Reader | None = None
) -> Callable[[AnyHandler], AnyHandler]:
    """Register a function as the handler of an API: ``@handles(MetadataRequest, access=Needs(topic="Describe"))``.

    Args:
        subjects: returns the subjects of a request, if its fields do not name them.
    """

    def register(handler: AnyHandler) -> AnyHandler:
        api = Api(request, handler, access, errors, subjects)
        _apis[api.key] = api
        return handler

    return register


def api_of(api_key: int) -> Api | None:
    """The API of a key, after importing its module if necessary; None if it is not served.

    Raises ImportError: the module has no handler for it.
    """
    api = _apis.get(api_key)
    if api is None and (module := MODULES.get(api_key)) is not None:
        import_module(module)
        api = _apis.get(api_key)
        if api is None:
            raise ImportError(f"{module} has no handler of {APIS[api_key][1]}: expected one with @handles")
    return api


@cache
def served_api(api_key: int) -> Api:
    """The API of a key that the cluster serves."""
    api = api_of(api_key)
    assert api is not None, api_key
    return api


def served_versions(cluster: Cluster, broker_id: int) -> Mapping[int, tuple[int, int]]:
    """API key -> oldest and newest version that a broker serves, of the APIs that have a handler."""
    emulated = cluster.support.served_versions(broker_id)
    if emulated is not None:
        return {key: versions for key, versions in emulated.items() if key in MODULES}
    if not cluster.diskless.reads_requests:
        return WITHOUT_RACK_IDS
    if cluster.settings["unstable.api.versions.enable"]:
        return {key: (one[0], message_class(key, "request").valid_versions.highest) for key, one in SERVED.items()}
    return SERVED


def handler_modules() -> dict[int, str]:
    """The module of each API's handler: that of an optional part, or the one named as its declarations' module."""
    families = merged("handlers")
    for family, _ in APIS.values():
        module = f"mockbroker.handlers.{family}"
        if family not in families and find_spec(module) is not None:
            families[family] = module
    found = {key: families[family] for key, (family, _) in APIS.items() if family in families and key in RELEASED}
    return {**found, **merged("handlers_by_release")}


_apis: dict[int, Api] = {}
RELEASED = newest_versions()
MODULES: Mapping[int, str] = handler_modules()
SERVED: Mapping[int, tuple[int, int]] = {key: RELEASED[key] for key in RELEASED if key in MODULES}
"""API key -> oldest and newest served version if no release is emulated, sorted by key."""
WITHOUT_RACK_IDS: dict[int, tuple[int, int]] = {
    **SERVED,
    **{key: versions_of_release(NEWEST)[key] for key in DISKLESS_VERSIONS},
}
"""The same, if the diskless profile does not read RackId: without the versions that have it."""
