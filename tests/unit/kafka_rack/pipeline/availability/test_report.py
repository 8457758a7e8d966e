"""The page, the plots and the tables: well-formed, escaped, and with the figures that were found."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest

from kafka_rack.availability import availability_row
from kafka_rack.charts.availability import (
    HEIGHT,
    LEFT,
    MAX_PANELS,
    WIDTH,
    Panel,
    PlacerCurve,
    scale_end,
    sheet,
    sheets,
)
from kafka_rack.pipeline.availability import report
from kafka_rack.pipeline.availability.grid import Skipped, points_of
from kafka_rack.pipeline.output.staging import NotOurs

SVG = "{http://www.w3.org/2000/svg}"
GRID = {
    "brokers": (6, 9, 12),
    "partitions": (54,),
    "replication_factor": (3,),
    "placer": ("broker-replica", "random", "unaware"),
    "failures": (1, 2),
}
EMPTY_TAGS = {"meta"}


def survey(grid=GRID, more_skipped=()):
    points, skipped = points_of([grid])
    rows = [availability_row(point.question) for point in points]
    return report.survey_of(points, rows, [*skipped, *more_skipped], seed=0, trials=100)


@pytest.fixture(scope="module")
def found():
    return survey()


class Balanced(HTMLParser):
    """Refuses a page whose tags do not close as they opened; gives its text."""

    def __init__(self):
        super().__init__()
        self.open, self.said = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in EMPTY_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        """<line/> and its like open nothing."""

    def handle_data(self, data):
        self.said.append(data)


def read(page):
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return parser.said


def test_the_page_is_well_formed_and_has_every_figure(found):
    said = read(report.page(found, list(sheets(found.rows).values())))
    assert "18 rows, all exact; 0 combinations skipped." in said
    for figure in ("0.4", "0.25", "0.181818", "0.999994", "0.990892", "0.918901", "0.840909"):
        assert figure in said
    assert "KAFKA-1736" in said


def test_the_page_needs_nothing_beside_it(found):
    page = report.page(found, list(sheets(found.rows).values()))
    assert re.findall(r"\b(?:src|href)=|@import|<script", page) == []


def test_what_placers_say_is_escaped():
    point = points_of([GRID])[0][0]
    page = report.page(survey(more_skipped=[Skipped(point, "<script>'&\"</script>")]), [])
    assert "<script" not in page
    assert "<script>'&\"</script>" in "".join(read(page))


def test_more_rows_than_a_page_holds_are_counted(found, monkeypatch):
    monkeypatch.setattr(report, "MAX_HTML_ROWS", 5)
    assert "and 13 more, in the tables" in read(report.page(found, []))


def test_every_sheet_is_svg_with_a_curve_for_each_placer_in_each_case(found):
    made = sheets(found.rows)
    assert sorted(made) == [
        *("p_any_lost-by-brokers", "p_any_lost-by-failures"),
        *("p_any_unwritable-by-brokers", "p_any_unwritable-by-failures"),
    ]
    for name, svg in made.items():
        root = ET.fromstring(svg)
        cases = 2 if name.endswith("brokers") else 3
        assert len(root.findall(f".//{SVG}polyline")) == cases * 3
        assert len(root.findall(f".//{SVG}circle")) == len(found.rows)


def test_a_phone_gets_the_same_curves_below_each_other_and_nothing_is_wider_than_it(found):
    wide, narrow = sheets(found.rows), sheets(found.rows, narrow=True)
    assert list(narrow) == list(wide)
    for name, svg in narrow.items():
        root = ET.fromstring(svg)
        assert int(root.get("width")) <= 390
        assert {group.get("transform").split()[0] for group in root.iter(f"{SVG}g")} == {"translate(0"}
        assert len(root.findall(f".//{SVG}circle")) == len(ET.fromstring(wide[name]).findall(f".//{SVG}circle"))
        for text in root.iter(f"{SVG}text"):
            if text.get("text-anchor") is None:
                assert int(text.get("x")) + 5.5 * len(text.text) <= 390
    page = report.page(found, list(wide.values()), list(narrow.values()))
    assert page.count('<div class="wide">') == page.count('<div class="narrow">') == len(wide)
    assert ".wide{display:none}" in page
    assert ".wide{display:none}" not in report.page(found, list(wide.values()))


def test_curves_stand_at_the_chances_found(found):
    root = ET.fromstring(sheets(found.rows)["p_any_unwritable-by-brokers"])
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert {"broker-replica, 6: 0.4", "broker-replica, 9: 0.25", "random, 12: 0.918901"} <= set(titles)
    heights = {circle.find(f"{SVG}title").text: float(circle.get("cy")) for circle in root.iter(f"{SVG}circle")}
    bottom, top = heights["broker-replica, 6: 0"], heights["unaware, 6: 1"]
    assert heights["broker-replica, 6: 0.4"] == pytest.approx(bottom + 0.4 * (top - bottom), abs=0.11)


ROW = {"brokers": 6, "partitions": 54, "replication_factor": 3, "min_insync_replicas": 2, "racks": None}
ROW |= {"rack_failures": 0, "placer": "random", "error": 0.0, "p_any_unwritable": 0.5, "p_any_lost": 0.5}


def heights_of(chances):
    """Where chances of 6, 7, ... brokers stand: the tick labels by height, and the circles' heights."""
    rows = [{**ROW, "brokers": 6 + at, "failures": 1, "p_any_lost": chance} for at, chance in enumerate(chances)]
    root = ET.fromstring(sheets(rows)["p_any_lost-by-brokers"])
    labels = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    ticks = {text.text: float(text.get("y")) - 3 for text in labels}
    return ticks, [float(circle.get("cy")) for circle in root.iter(f"{SVG}circle")], root


def test_chances_of_several_powers_of_ten_stand_on_a_logarithmic_scale_and_0_below_it():
    ticks, circles, root = heights_of([0.5, 1e-2, 1e-3, 1e-4, 0.0])
    assert list(ticks) == ["0", "0.0001", "0.001", "0.01", "0.1", "1"]
    steps = [ticks["0.1"] - ticks["1"], ticks["0.001"] - ticks["0.01"], ticks["0"] - ticks["0.0001"]]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.11)
    assert circles[1:] == pytest.approx([ticks[tick] for tick in ("0.01", "0.001", "0.0001", "0")], abs=0.11)
    assert ticks["1"] < circles[0] < ticks["0.1"]
    assert "chance that any partition is lost, by number of brokers (logarithmic)" in [
        text.text for text in root.iter(f"{SVG}text")
    ]


def test_chances_of_one_size_stand_on_a_linear_scale():
    ticks, _, root = heights_of([0.5, 0.3, 0.1, 0.05, 0.0])
    assert list(ticks) == ["0", "0.125", "0.25", "0.375", "0.5"]
    assert "(logarithmic)" not in ET.tostring(root, encoding="unicode")


def test_a_logarithmic_scale_of_many_powers_of_ten_has_few_labels():
    ticks, circles, _ = heights_of([0.5, *(10.0**-power for power in range(1, 40))])
    assert 3 <= len(ticks) <= 8
    assert circles == sorted(circles)


def test_a_sheet_says_what_is_the_same_in_all_its_panels(found):
    said = [text.text for text in ET.fromstring(sheets(found.rows)["p_any_lost-by-brokers"]).iter(f"{SVG}text")]
    assert said[1] == "partitions 54, RF 3, min.insync 2, racks none, failed racks 0"
    assert {"failed brokers 1", "failed brokers 2"} <= set(said)


def test_panels_below_each_other_differ_in_one_thing():
    axes = [(failures, racks, brokers) for failures in (1, 2) for racks in (None, 3) for brokers in (6, 9, 12)]
    rows = [{**ROW, "failures": failures, "racks": racks, "brokers": brokers} for failures, racks, brokers in axes]
    root = ET.fromstring(sheets(rows)["p_any_lost-by-failures"])
    places = [panel.get("transform") for panel in root.iter(f"{SVG}g")]
    assert [place.split()[0] for place in places] == ["translate(0", f"translate({WIDTH}"] * 3


def test_a_legend_takes_more_rows_where_it_is_long():
    rows = [{**ROW, "placer": "copyset", "asked_scatter_width": width, "failures": 1} for width in range(2, 14)]
    rows = [{**row, "brokers": brokers} for row in rows for brokers in (6, 9)]
    root = ET.fromstring(sheets(rows)["p_any_lost-by-brokers"])
    named = [text for text in root.findall(f"{SVG}text") if text.text.startswith("copyset")]
    assert len(named) == 12
    assert all(float(text.get("x")) + 6 * len(text.text) <= float(root.get("width")) for text in named)
    lowest = max(float(text.get("y")) for text in named)
    assert lowest < min(float(panel.get("transform").split()[1][:-1]) for panel in root.iter(f"{SVG}g"))


def test_curves_on_top_of_each_other_can_be_told_apart(found):
    panel = next(ET.fromstring(sheets(found.rows)["p_any_unwritable-by-brokers"]).iter(f"{SVG}g"))
    widths = [float(curve.get("stroke-width")) for curve in panel.iter(f"{SVG}polyline")]
    assert widths == sorted(set(widths), reverse=True)
    assert len(widths) == 3


def test_curves_stay_inside_their_panel(found):
    for svg in sheets(found.rows).values():
        for circle in ET.fromstring(svg).iter(f"{SVG}circle"):
            assert LEFT <= float(circle.get("cx")) <= WIDTH
            assert 0 <= float(circle.get("cy")) <= HEIGHT


@pytest.mark.parametrize(("most", "step"), [(3, 1), (8, 1), (9, 2), (400, 50)])
def test_an_axis_of_failures_has_few_labels_however_long_it_is(most, step):
    line = {"placer": "random", "error": 0.0, "p_any_unwritable": 0.5, "p_any_lost": 0.0}
    sizes = {"brokers": 500, "partitions": 9, "replication_factor": 3, "min_insync_replicas": 2, "racks": None}
    rows = [{**line, **sizes, "rack_failures": 0, "failures": failures} for failures in range(1, most + 1)]
    root = ET.fromstring(sheets(rows)["p_any_unwritable-by-failures"])
    labels = [int(text.text) for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert labels == list(range(1, most + 1, step))


@pytest.mark.parametrize(
    ("highest", "end"), [(0, 1), (1e-9, 1e-9), (0.0021, 0.004), (0.41, 0.5), (0.81, 1), (1.0, 1), (0.2, 0.2)]
)
def test_a_scale_ends_at_a_round_number_just_above_the_curves(highest, end):
    assert scale_end(highest) == pytest.approx(end)


def test_tried_chances_have_bars_of_two_errors_and_exact_ones_none(found):
    exact = sheets(found.rows)["p_any_unwritable-by-brokers"]
    tried = sheets([{**row, "error": 0.01} for row in found.rows])["p_any_unwritable-by-brokers"]
    lines = [len(list(ET.fromstring(svg).iter(f"{SVG}line"))) for svg in (exact, tried)]
    assert lines[1] - lines[0] == len(found.rows)
    assert "± 0.01" in tried
    assert "±" not in exact


def test_more_cases_than_anyone_looks_at_are_counted():
    line = PlacerCurve("random", "random", "", ((3, 0.5, 0.0), (6, 0.25, 0.0)))
    svg = sheet([Panel(f"case {number} <&", (line,)) for number in range(MAX_PANELS + 7)], "brokers", "p_any_lost")
    said = [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]
    assert "case 0 <&" in said
    assert f"case {MAX_PANELS} <&" not in said
    assert "and 7 cases more, in the table" in said


def test_the_tables_hold_the_rows_and_the_json_all(found, tmp_path):
    report.write(found, tmp_path)
    assert pq.read_table(tmp_path / "availability").to_pylist() == found.rows
    assert pq.read_table(tmp_path / "skipped").to_pylist() == []
    assert [row["brokers"] for row in pq.read_table(tmp_path / "kafka_1736").to_pylist()] == [6, 9, 12]
    said = json.loads((tmp_path / "availability.json").read_text())
    assert (said["rows"], said["kafka_1736"]["rows"]) == (found.rows, found.kafka_1736)
    assert len(list((tmp_path / "plots").iterdir())) == 4


def test_the_page_fits_a_phone(found, tmp_path):
    report.write(found, tmp_path)
    page = (tmp_path / "availability.html").read_text()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert page.count("<svg ") == page.count('viewBox="0 0 ') > 0
    assert "svg{max-width:100%;height:auto}" in page


def test_a_survey_without_kafka_1736_takes_its_table_away(found, tmp_path):
    report.write(found, tmp_path)
    report.write(survey({**GRID, "brokers": (15,), "failures": (1,)}), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("availability", "availability.html", "availability.json", "skipped")
    ]


def test_a_folder_of_something_else_is_refused_before_any_work(tmp_path):
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "garden.png").write_text("")
    with pytest.raises(NotOurs, match=r"plots holds garden\.png"):
        report.check(tmp_path)


def test_refused_points_stand_among_the_skipped(tmp_path):
    points, _ = points_of([{**GRID, "brokers": (10,), "placer": ("broker-replica",), "failures": (1,)}])
    found = report.survey_of(points, [Skipped(points[0], "no multiple")], [], seed=0, trials=1)
    report.write(found, tmp_path)
    assert [(row["brokers"], row["reason"]) for row in pq.read_table(tmp_path / "skipped").to_pylist()] == [
        (10, "no multiple")
    ]
    assert "0 rows" in (tmp_path / "availability.html").read_text()
