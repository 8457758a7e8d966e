"""Access control: authorization by ACLs, and authentication by OAUTHBEARER tokens."""

from __future__ import annotations

from mockbroker.parts import OptionalPart

PART = OptionalPart(
    settings={
        "allow.everyone.if.no.acl.found": False,
        "super.users": "",
    },
    effective_settings="mockbroker.access_control.settings:EFFECTIVE",
    handlers={"acls": "mockbroker.access_control.acl_apis"},
    records={"protocol.embedded.metadata_acls": "mockbroker.access_control.acls"},
    sasl_mechanisms={"OAUTHBEARER": "mockbroker.access_control.token_settings:maker_of"},
    access_of="mockbroker.access_control.authorizer:access_of",
    access_check="mockbroker.access_control.access:check_access",
    read_oauthbearer="mockbroker.access_control.oauthbearer:token_in",
)
