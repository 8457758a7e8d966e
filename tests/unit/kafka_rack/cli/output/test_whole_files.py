import pytest

from kafka_rack.cli import CommandError
from kafka_rack.cli.output.whole_files import write_whole


def test_a_file_that_cannot_be_put_in_its_place_leaves_nothing_beside_it(tmp_path):
    folder = tmp_path / "plan.json"
    (folder / "kept").mkdir(parents=True)
    with pytest.raises(CommandError, match=r"plan\.json: cannot be written: Is a directory"):
        write_whole(str(folder), "text")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_file_is_replaced_and_folders_are_made_only_where_asked(tmp_path):
    path = tmp_path / "new" / "plan.json"
    with pytest.raises(CommandError, match="No such file or directory"):
        write_whole(str(path), "first")
    for text in ("first", "second"):
        assert write_whole(str(path), text, make_folders=True).read_text() == text
    assert list(path.parent.iterdir()) == [path]
