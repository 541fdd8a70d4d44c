"""One real service for all tests of the API, with the experiment `quick` run in a guest."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.service import Service, served


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest, and mostly waits, begins first."""
    items.sort(key=lambda item: "schemathesis" not in item.nodeid)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    # With all that an operator may allow, so that there is all of it to be attacked.
    with served(tmp_path_factory.mktemp("service") / "home", LONGHAUL_USER_CODE="on") as running:
        ended = running.wait(running.submit({"shipped": "quick"})["id"])
        assert ended["status"] == "done", ended
        running.experiment = ended["id"]
        running.run = ended["runs"][0].rpartition("/")[2]
        yield running


@pytest.fixture(scope="module")
def admin(service: Service) -> Iterator[httpx.Client]:
    """Who may do everything."""
    with service.client() as client:
        yield client


@pytest.fixture
def still_well(admin: httpx.Client) -> Iterator[None]:
    """Whatever was sent, the service goes on."""
    yield
    assert admin.get("/readyz").status_code == 200
