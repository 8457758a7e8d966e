"""Whose settings a session begins with. No Spark here."""

from __future__ import annotations

import pytest

from kafka_rack.pipeline.spark.settings import (
    OURS,
    OURS_HERE,
    administrators_settings,
    fitted,
    has_logging_of_its_own,
    read_settings,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    return tmp_path


def test_without_a_word_spark_runs_here_with_all_of_ours(folder):
    assert fitted({}, administrators_settings()) == {"spark.master": "local[*]", **OURS, **OURS_HERE}


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host:443"])
def test_what_suits_one_machine_is_forced_on_no_cluster(folder, master):
    chosen = fitted({"spark.master": master}, {})
    assert not set(chosen) & set(OURS_HERE)
    (folder / "spark-defaults.conf").write_text(f"spark.master  {master}\n")
    assert not set(fitted({}, administrators_settings())) & {*OURS_HERE, "spark.master"}


@pytest.mark.parametrize("name", [*OURS, *OURS_HERE])
def test_the_administrators_word_counts_before_ours_and_the_users_before_both(folder, name):
    (folder / "spark-defaults.conf").write_text(f"# of this house\n{name}=theirs\n")
    already = administrators_settings()
    assert already == {name: "theirs"}
    assert name not in fitted({}, already)
    assert fitted({name: "mine"}, already)[name] == "mine"


def test_arguments_for_spark_submit_are_settings_too(folder, monkeypatch):
    (folder / "spark-defaults.conf").write_text("spark.master yarn\nspark.driver.memory 8g\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[3] --conf spark.ui.enabled=true pyspark-shell")
    already = administrators_settings()
    assert already == {"spark.master": "local[3]", "spark.driver.memory": "8g", "spark.ui.enabled": "true"}
    assert {"spark.driver.host", "spark.ui.enabled", "spark.driver.memory"} & set(fitted({}, already)) == {
        "spark.driver.host"
    }


def test_a_properties_file_named_to_spark_submit_takes_the_place_of_the_defaults(folder, monkeypatch):
    (folder / "spark-defaults.conf").write_text("spark.master yarn\n")
    (folder / "mine.conf").write_text("spark.executor.memory 4g\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {folder / 'mine.conf'} pyspark-shell")
    assert administrators_settings() == {"spark.executor.memory": "4g"}


def test_memory_said_in_the_environment_is_not_overridden(folder, monkeypatch):
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "6g")
    assert "spark.driver.memory" not in fitted({}, {})


def test_a_file_of_settings_is_read_as_java_reads_it(tmp_path):
    file = tmp_path / "spark.conf"
    file.write_text(
        "# comment\n! another\n\nspark.a   one two \nspark.b=x=y\nspark.c : z\nspark.d a\\\n   b\nspark.e\n"
        "spark.f caf\\u00e9\nspark.a last\n",
        encoding="utf-8",
    )
    assert read_settings(file) == {
        "spark.a": "last",
        "spark.b": "x=y",
        "spark.c": "z",
        "spark.d": "ab",
        "spark.e": "",
        "spark.f": "café",
    }


@pytest.mark.parametrize(("name", "has"), [("log4j2.properties", True), ("log4j2.properties.template", False)])
def test_a_log4j2_file_but_no_template_says_how_to_log(folder, name, has):
    (folder / name).write_text("")
    assert has_logging_of_its_own() is has
