"""Links from a run to its dashboard and back, and their settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from longhaul.orchestrator.database.prometheus_spans import Span, Spans
from longhaul.orchestrator.live.export_run import grafana_link, with_grafana
from longhaul.orchestrator.live.grafana_links import RUN_BOARD, experiment_on_service, run_in_grafana, run_on_service
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import Grafana, load_settings

RUN_ID = "0123456789abcdef0123"
BEGIN_MS, END_MS = 1_700_000_000_000, 1_700_000_060_010


def test_known_addresses() -> None:
    link = run_in_grafana("https://lab.example/grafana", "path-change", RUN_ID, BEGIN_MS, END_MS)
    assert link == (
        f"https://lab.example/grafana/d/{RUN_BOARD}?from={BEGIN_MS}&to={END_MS}&var-experiment=path-change&var-run={RUN_ID}"
    )
    assert run_on_service("http://127.0.0.1:8080/", RUN_ID) == f"http://127.0.0.1:8080/#/runs/{RUN_ID}"

    assert (
        experiment_on_service("https://lab.example/some/lab", "e1") == "https://lab.example/some/lab/#/experiments/e1"
    )


def test_a_name_is_unchanged_in_a_link() -> None:
    link = run_in_grafana("https://lab.example", "a&var-run=b #c", RUN_ID, BEGIN_MS, END_MS)
    assert parse_qs(urlsplit(link).query)["var-experiment"] == ["a&var-run=b #c"]


def test_a_run_links_to_grafana_if_one_is_set_and_the_run_has_a_time(tmp_path: Path) -> None:
    settings = replace(load_settings(), home=tmp_path, database="", grafana=None)
    of_grafana = replace(settings, grafana=Grafana("https://lab.example"))
    link = run_in_grafana("https://lab.example", "path-change", RUN_ID, BEGIN_MS, END_MS)
    store = Store(settings)
    assert grafana_link(of_grafana, store, "path-change", RUN_ID) is None
    Spans(store.database).put(RUN_ID, Span(BEGIN_MS, END_MS, 10))
    assert grafana_link(settings, store, "path-change", RUN_ID) is None
    assert grafana_link(of_grafana, store, "path-change", RUN_ID) == link
    store.database.close()
    document: Any = {"run": RUN_ID, "experiment": "path-change"}
    assert with_grafana(of_grafana, document) == document
    document |= {"prometheus": {"begin_ms": BEGIN_MS, "end_ms": END_MS}}
    assert with_grafana(settings, document) == document
    assert with_grafana(of_grafana, document) == document | {"grafana": link}


def test_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().grafana is None
    assert load_settings().url == ""
    monkeypatch.setenv("LONGHAUL_GRAFANA_URL", "https://lab.example/grafana/")
    monkeypatch.setenv("LONGHAUL_URL", "http://127.0.0.1:8080")
    assert load_settings().grafana == Grafana("https://lab.example/grafana", "")
    monkeypatch.setenv("LONGHAUL_GRAFANA_TOKEN", "glsa_secret\n")
    settings = load_settings()
    assert settings.grafana == Grafana("https://lab.example/grafana", "glsa_secret")
    assert settings.url == "http://127.0.0.1:8080"
    assert "glsa_secret" not in str(settings)


@pytest.mark.parametrize(
    ("variables", "what"),
    [
        ({"LONGHAUL_GRAFANA_URL": "lab.example"}, "it is not an address"),
        ({"LONGHAUL_GRAFANA_URL": "https://user:secret@lab.example"}, "it is not an address"),
        ({"LONGHAUL_URL": "https://lab.example?x"}, "it is not an address"),
        ({"LONGHAUL_GRAFANA_TOKEN": "secret"}, "LONGHAUL_GRAFANA_URL is not set"),
        ({"LONGHAUL_GRAFANA_URL": "https://lab.example", "LONGHAUL_GRAFANA_TOKEN": "a secret"}, "it is not a token"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], what: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PlanError, match=what) as raised:
        load_settings()
    assert raised.value.subject in variables
    assert "secret" not in str(raised.value)
