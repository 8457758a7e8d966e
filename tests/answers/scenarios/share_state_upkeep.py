"""What keeps ``__share_group_state`` small: old states are written once more, what nobody needs any more is deleted."""

from __future__ import annotations

from tests.answers.scenarios import scenario, share_state_log
from tests.answers.scenarios.share_state import initial, written
from tests.answers.scenarios.share_state_log import EARLIEST, Log
from tests.answers.story import Story

INTERVAL_MS = 3000
SETTINGS = {
    **share_state_log.SETTINGS,
    "share.coordinator.state.topic.prune.interval.ms": str(INTERVAL_MS),
    "share.coordinator.cold.partition.snapshot.interval.ms": str(INTERVAL_MS),
}


@scenario("share state upkeep")
def kept_small(story: Story) -> None:
    log = Log(story)
    log.ask("begun", "InitializeShareGroupState", initial(start=2, epoch=1))
    log.ask("written", "WriteShareGroupState", written((2, 5, 2, 1), epoch=1, leader_epoch=3, start=2))
    log.until(EARLIEST, 2)
    log.read("written once more, and what is before it is gone")
    story.wait(3 * INTERVAL_MS)
    log.read("not written a third time")
    log.ask("written, later", "WriteShareGroupState", written((6, 6, 2, 1), epoch=1, leader_epoch=3, start=2))
    log.ask("a snapshot", "WriteShareGroupState", written((7, 7, 2, 1), epoch=1, leader_epoch=3, start=2))
    log.until(EARLIEST, 5)
    log.read("the same after a snapshot")
    log.ask("deleted", "DeleteShareGroupState", {"partition": 0})
    log.until(EARLIEST, 6)
    log.read("deleted")
