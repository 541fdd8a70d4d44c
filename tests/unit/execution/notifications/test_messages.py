"""The content of messages: counts, missed expectations and errors in words, links where the service knows its address, no folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.database.access.deliveries import Deliveries, Delivery
from longhaul.orchestrator.database.access.subscriptions import Subscriptions, Wish
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.database.statuses import EXPECTATION_MISSED, EXPERIMENT_FINISHED
from longhaul.orchestrator.execution.notifications.messages import compose, text_of
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.queue import RUN, Lab, document


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(load_settings(), home=tmp_path / "secret-place", database="", url="https://lab.example")


def _composed(settings: Settings, event: str, runs: dict[str, Any]) -> tuple[Lab, Delivery, Any]:
    """The message about an experiment with these runs, by the errors or texts of missed expectations."""
    store = Store(settings)
    lab = Lab(store.database)
    Subscriptions(lab.database).add(Caller("", "ada", "run"), Wish("email", "ada@uni.example", (event,)))
    lab.submit("0123456789abcdef", list(runs))
    for claim in lab.claim(len(runs)):
        found = runs[claim.run_id]
        if isinstance(found, dict):
            identity = {"run": claim.run_id, "seed": 1, "point": {"path.rtt": "80 ms"}}
            lab.work.end(claim.run_id, claim.fence, "failed", {**identity, "error": found})  # type: ignore[arg-type]
        else:
            kept = document(claim.run_id, "missed" if found else "done") | {"point": {"path.rtt": "80 ms"}}
            kept["expect"] = [{"ok": False, "text": text, "value": 1.0} for text in found]
            lab.catalog.add(claim.run_id, kept, RUN)
    delivery = Deliveries(lab.database).claim("one", 60)
    assert delivery is not None
    return lab, delivery, compose(settings, store, delivery)


def test_an_error_names_no_folder_of_the_machine(settings: Settings) -> None:
    error = {
        "error": "GuestDied", "attempting": "running guest", "subject": "x", "what": "the guest died",
        "hint": f"see {settings.home}/runs/log.txt",
    }  # fmt: skip
    lab, _, message = _composed(settings, EXPERIMENT_FINISHED, {"a" * 20: error, "b" * 20: []})
    (failed,) = message["data"]["failed"]
    assert failed["text"] == "running guest x: the guest died; see LONGHAUL_HOME/runs/log.txt"
    assert failed["conditions"] == "path.rtt=80 ms, seed 1"
    subject, text = text_of(message, "ada", settings.url)
    assert subject == "[Longhaul] x: failed (1 done, 1 failed of 2 runs)"
    assert "secret-place" not in text + str(message)
    assert f"https://lab.example/#/runs/{'a' * 20}" in str(message)
    lab.database.close()


def test_long_lists_are_cut_and_say_so(settings: Settings) -> None:
    texts = [f"goodput(app) at least {number} Mbit/s: 1 Mbit/s" for number in range(30)]
    lab, _, message = _composed(settings, EXPERIMENT_FINISHED, {"a" * 20: texts})
    assert [one["text"] for one in message["data"]["missed"]] == texts[:20]
    _, text = text_of(message, "ada", "")
    assert "- and perhaps more, on the page of the experiment" in text
    assert text.count("\n- goodput(app)") == 20
    assert "delete it in Lab > Notifications" in text
    lab.database.close()


def test_a_service_without_an_address_gives_no_links(settings: Settings) -> None:
    lab, _, message = _composed(replace(settings, url=""), EXPECTATION_MISSED, {"a" * 20: ["goodput too low"]})
    assert (message["type"], message["data"]["experiment"]["url"], message["data"]["missed"][0]["url"]) == (
        EXPECTATION_MISSED, None, None,
    )  # fmt: skip
    assert "http" not in str(message)
    lab.database.close()


def test_the_end_of_an_experiment_that_was_deleted_meanwhile_is_still_reported(settings: Settings) -> None:
    lab, delivery, before = _composed(settings, EXPERIMENT_FINISHED, {"a" * 20: []})
    lab.experiments.remove("0123456789abcdef")
    after = compose(settings, Store(settings), delivery)
    assert after is not None
    assert after["data"]["title"] == before["data"]["title"] == "x: done (1 done of 1 run)"
    lab.database.close()
