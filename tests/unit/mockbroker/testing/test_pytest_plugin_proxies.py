"""The pytest plugin before a real cluster: its proxies, as users meet them."""

from __future__ import annotations

import pytest

from tests.unit.mockbroker.testing.plugin_project import text_of

pytest_plugins = ["pytester"]

UPSTREAM = """
    import pytest
    from mockbroker import MockCluster

    @pytest.fixture(scope="session")
    def kafka_proxy_upstream():
        with MockCluster(topics={"orders": 1}) as real:
            yield real.bootstrap_servers
"""


@pytest.mark.proxy
def test_tests_share_a_proxy_before_a_real_cluster_and_find_it_as_new(project):
    result = project(
        UPSTREAM
        + """
    seen = []

    def test_that_breaks_it(kafka_proxy):
        kafka_proxy.faults.add(
            match={"api": "Produce"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"}, when={"times": 1}
        )
        write(kafka_proxy.bootstrap_servers, "orders", b"one")
        assert kafka_proxy.journal.count(api="Produce") == 2
        assert kafka_proxy.stop_rack("b") == [1]
        seen.append(kafka_proxy.bootstrap_servers)

    def test_that_comes_next(kafka_proxy):
        assert seen == [kafka_proxy.bootstrap_servers]
        assert (len(kafka_proxy.journal.find(api="Produce")), len(kafka_proxy.faults)) == (0, 0)
        assert kafka_proxy.stop_rack("b") == [1]
        with pytest.raises(Exception, match="does not change the real cluster"):
            kafka_proxy.create_topic("mine")

    @pytest.mark.kafka_proxy(racks={0: "x"}, listener_per_rack=True)
    def test_with_racks_of_its_own(kafka_proxy):
        assert kafka_proxy.bootstrap_servers not in seen
        assert len(kafka_proxy.bootstrap_servers_for("x").split(",")) == 3
    """
    )
    result.assert_outcomes(passed=3)


@pytest.mark.proxy
def test_a_failure_before_a_real_cluster_shows_a_summary_of_the_proxy(project):
    result = project(
        UPSTREAM
        + """
    def test_it(kafka_proxy):
        write(kafka_proxy.bootstrap_servers, "orders", b"one")
        kafka_proxy.stop_rack("a")
        assert False
    """
    )
    result.assert_outcomes(failed=1)
    assert "rack a: 0 stopped here" in text_of(result)
    assert "Produce v" in text_of(result)


@pytest.mark.proxy
def test_a_proxy_without_a_real_cluster_fails_in_a_sentence(project, monkeypatch):
    monkeypatch.delenv("KAFKA_RACK_PROXY_BOOTSTRAP", raising=False)
    source = "def test_it(kafka_proxy): pass"
    nothing = project(source)
    nothing.assert_outcomes(errors=1)
    assert "expected to be told of a real cluster" in text_of(nothing)
    nobody = project(source, "--kafka-proxy-bootstrap", "127.0.0.1:1")
    nobody.assert_outcomes(errors=1)
    assert "127.0.0.1:1: cannot be reached" in text_of(nobody)
    monkeypatch.setenv("KAFKA_RACK_PROXY_BOOTSTRAP", "nowhere")
    assert "expected host:port, got 'nowhere'" in text_of(project(source))


def test_a_wrong_marker_of_a_proxy_is_a_usage_error(project):
    result = project("""
        @pytest.mark.kafka_proxy(bootstarp="staging:9092")
        def test_it(kafka_proxy): pass
    """)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "did you mean bootstrap?" in "\n".join([*result.outlines, *result.errlines])
