"""One real service for all tests of the API, with the experiment `quick` run in a guest."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.service import Service, served


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start schemathesis first: it takes longest, and mostly waits."""
    items.sort(key=lambda item: "schemathesis" not in item.nodeid)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    # Everything that an operator may allow is on, so that the tests can attack all of it.
    with served(tmp_path_factory.mktemp("service") / "home", LONGHAUL_USER_CODE="on") as running:
        ended = running.wait(running.submit({"shipped": "quick"})["id"])
        assert ended["status"] == "done", ended
        running.experiment = ended["id"]
        running.run = ended["runs"][0].rpartition("/")[2]
        yield running


@pytest.fixture(scope="module")
def admin(service: Service) -> Iterator[httpx.Client]:
    """A client with the scope admin."""
    with service.client() as client:
        yield client


@pytest.fixture
def still_ready(admin: httpx.Client) -> Iterator[None]:
    """Check after each test that the service is still ready."""
    yield
    assert admin.get("/readyz").status_code == 200
