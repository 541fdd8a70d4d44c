"""The notebook of the documentation, run from top to bottom by a Jupyter kernel."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from longhaul.orchestrator.system.settings import load_settings
from tests.support.folders import REPOSITORY

NOTEBOOK = REPOSITORY / "docs/notebook.ipynb"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of code."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LONGHAUL_CACHE", str(load_settings().cache))
        patched.setenv("LONGHAUL_HOME", str(folder / "home"))
        patched.setenv("IPYTHONDIR", str(folder / "ipython"))
        patched.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def _html(shown: list[dict[str, Any]]) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in shown)


def test_it_is_committed_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_a_result_shows_a_table_and_a_chart(outputs: list[list[dict[str, Any]]]) -> None:
    shown = _html(outputs[0])
    assert "<table>" in shown
    assert "9.59 Mbit/s" in shown
    assert '<img alt="Windows, goodput, round trips and queue of run' in shown
    assert "data:image/svg+xml;base64," in shown
    assert "<script" not in shown


def test_a_sweep_shows_its_points_and_a_comparison_its_verdict(outputs: list[list[dict[str, Any]]]) -> None:
    assert "app.cc=bbr, rtt=80 ms" in _html(outputs[2])
    assert "goodput(app)" in _html(outputs[4])
    assert any("image/png" in output.get("data", {}) for output in outputs[3])


def test_a_rerun_is_identical(outputs: list[list[dict[str, Any]]]) -> None:
    assert any("identical" in output.get("data", {}).get("text/plain", "") for output in outputs[5])
