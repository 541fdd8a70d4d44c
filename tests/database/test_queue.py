"""The known results of tests/unit/database/test_work.py, test_queue_model.py, test_lists.py, test_annotations.py and test_deliveries.py, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.database.conftest import _NUMBERS
from tests.support.parts import Postgres
from tests.support.queue import Lab
from tests.unit.database import test_annotations, test_deliveries, test_lists, test_queue_model, test_work
from tests.unit.database.test_annotations import annotated as annotated
from tests.unit.database.test_lists import listed as listed

for _name, _test in {
    **vars(test_work),
    **vars(test_queue_model),
    **vars(test_lists),
    **vars(test_annotations),
    **vars(test_deliveries),
}.items():
    if _name.startswith("test_"):
        globals()[_name] = _test


@pytest.fixture(name="lab")
def on_postgres(postgres: Postgres) -> Iterator[Lab]:
    lab = Lab(postgres.create(f"queue{next(_NUMBERS)}"))
    yield lab
    lab.database.close()
