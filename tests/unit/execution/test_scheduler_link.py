"""The connection to a scheduler is renewed after any error; tests/guest tests a cluster of real processes."""

from __future__ import annotations

from typing import Any, Self

import pytest
from distributed.client import ClosedClientError

from longhaul.orchestrator.execution.cluster import scheduler_link
from longhaul.orchestrator.execution.cluster.scheduler_link import SchedulerLink
from tests.support.waiting import wait_for


class Client:
    """Dask's client of a scheduler that is lost during its first set-up."""

    opened = 0
    status = "running"

    def __init__(self, address: str, **options: Any) -> None:
        Client.opened += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        pass

    def subscribe_topic(self, topic: str, heard: object) -> None:
        pass

    def run_on_scheduler(self, call: object) -> int:
        if Client.opened == 1:
            raise ClosedClientError("the scheduler is gone")
        return 0

    def scheduler_info(self) -> dict[str, Any]:
        return {"id": "one", "workers": {}}


def test_a_scheduler_that_is_lost_during_set_up_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_link, "Client", Client)
    lost: list[int] = []
    one = SchedulerLink("tcp://nowhere:1", "topic", lambda message: None, lambda: lost.append(Client.opened))
    one.open()
    wait_for(lambda: one.client is not None, 10)
    one.close()
    assert lost == [1, 2]
