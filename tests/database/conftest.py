"""Both kinds of database: SQLite in a file, and a PostgreSQL that the session starts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.parts import Postgres

NewDatabase = Callable[[], str]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.stop()


_NUMBERS = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalogue.sqlite'}"
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.create(f"record{next(_NUMBERS)}")
