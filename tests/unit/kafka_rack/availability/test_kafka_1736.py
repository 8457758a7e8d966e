"""What is said beside KAFKA-1736's table is what the table has."""

from __future__ import annotations

from kafka_rack.availability.kafka_1736 import ISSUE_FIGURES, NOTE, kafka_1736_table


def test_the_note_has_the_figures_of_both_readings_of_the_issues_random_column():
    table = kafka_1736_table()
    uniform = [row.random_uniform for row in table]
    assert f"{uniform[0]:.5f}, {uniform[1]:.3f} and {uniform[2]:.3f}" in NOTE
    unaware = [row.unaware for row in table]
    assert f"{unaware[0]:.0f}, {unaware[1]:.0f} and {unaware[2]:.3f}" in NOTE
    assert f"({', '.join(str(random) for random, _ in ISSUE_FIGURES.values())})" in NOTE


def test_neither_reading_meets_the_issues_column():
    for row in kafka_1736_table():
        assert abs(row.random_uniform - row.issue_random) > 0.0005
        assert abs(row.unaware - row.issue_random) > 0.0005
