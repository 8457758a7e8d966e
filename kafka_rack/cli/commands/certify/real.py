"""``certify --bootstrap-server``: how a real cluster is reached, and what programs learn of the proxy."""

from __future__ import annotations

from pathlib import Path

from kafka_rack.cli.command import Arguments
from kafka_rack.cli.commands.certify.security import copy_for_programs
from kafka_rack.cli.options.command_config import settings_with_notes
from kafka_rack.cli.serving.upstream import upstream_settings
from mockbroker.adapters.real_cluster.cluster import addresses_of
from mockbroker.state.security.protocols import WITH_TLS
from mockbroker.testing.certify.plan import NO_SECURITY, CertifySecurity, UpstreamPlan


def real_cluster_from(arguments: Arguments, folder: Path) -> tuple[UpstreamPlan, CertifySecurity]:
    """The real cluster, and what programs learn of the proxy.

    Args:
        folder: for the proxy's test authority and the file that trusts it, where the cluster speaks TLS.

    Raises: UsageError: options or files that contradict themselves.
    """
    path, settings = arguments.command_config, settings_with_notes(arguments)
    servers = addresses_of(arguments.bootstrap_server)
    speaks_tls = settings.protocol in WITH_TLS
    plan = UpstreamPlan(
        upstream_settings(servers, path, settings),
        arguments.broker_racks or {},
        feeds_named=arguments.feed,
        security_dir=folder if speaks_tls else None,
    )
    if not path:
        return plan, NO_SECURITY
    config = copy_for_programs(path, folder) if speaks_tls else Path(path).absolute()
    return plan, CertifySecurity(settings.protocol, str(config), {}, {})
