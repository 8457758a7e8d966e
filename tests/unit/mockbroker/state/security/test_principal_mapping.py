"""Rules for names; interop/test_tls_beside_java.py gives the same to Kafka's own class."""

from __future__ import annotations

import pytest

from mockbroker.state.security.principal_mapping import mapped_name, parse_rules

NAME = "CN=Duke,OU=JavaSoft,O=Sun Microsystems,C=US"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("DEFAULT", NAME),
        ("RULE:^CN=([^,]+),.*$/$1/", "Duke"),
        ("RULE:^CN=([^,]+),OU=([^,]+),.*$/$1@$2/L", "duke@javasoft"),
        ("RULE:^CN=([^,]+),.*$/$1/U, DEFAULT", "DUKE"),
        ("RULE:^CN=nobody$/x/,RULE:^.*C=(..)$/$1/", "US"),
        (r"RULE:^CN=([^,]+),.*$/a\/$1/", "a/Duke"),
        ("RULE:^CN=([^,]+),.*$/$12/", "Duke2"),
        ("RULE:^CN=([^,]+),.*$/$2/", "$2"),
        (r"RULE:^CN=([^,]+),.*$/\$1/", "$1"),
        ("RULE:.*/x/", "xx"),  # once for the name, once for the nothing behind it, as in Java
    ],
)
def test_the_first_rule_that_applies_makes_the_name(rules, said):
    assert mapped_name(parse_rules(rules), NAME) == said


def test_without_a_rule_that_applies_there_is_no_name():
    with pytest.raises(ValueError, match="none applies to CN=Duke"):
        mapped_name(parse_rules("RULE:^CN=nobody$/x/"), NAME)


@pytest.mark.parametrize("rules", ["RULE:^CN=/", "default", "RULE:a/b/X", "RULE:a/b", "RULE:(a/b/"])
def test_what_is_no_rule_is_refused(rules):
    with pytest.raises(ValueError, match=r"ssl\.principal\.mapping\.rules"):
        parse_rules(rules)
