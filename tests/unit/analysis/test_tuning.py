"""Tuning over made-up runs: the best is found, confirmed on other seeds, and written as an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

from longhaul.orchestrator.analysis.objective import read_objective
from longhaul.orchestrator.analysis.search.surface import as_svg, as_text, surface_of
from longhaul.orchestrator.analysis.search.tuning import Tuned, read_knob, tune
from longhaul.orchestrator.plan.compile import Plan
from longhaul.orchestrator.spec.load import Experiment
from longhaul.orchestrator.system.errors import PlanError
from tests.support.guests import experiment


def one_flow(**changes: Any) -> Experiment:
    return experiment(**{"flows": [{"name": "app", "cc": "ccpd"}]} | changes)


class Lab:
    """Runs whose goodput is known: highest at kp = 3, less on long paths; the seed adds the same to every candidate."""

    def __init__(self, lucky: float | None = None, luck: Mapping[int, float] | None = None) -> None:
        self.lucky = lucky
        self.luck = luck or {}
        self.seeds: set[int] = set()

    def __call__(self, plan: Plan) -> list[Any]:
        return [self._document(run) for run in plan.runs]

    def _document(self, run: Any) -> Any:
        self.seeds.add(run.seed)
        kp = int(run.modules[0].params.get("kp", 4000)) / 1000
        goodput = 100 - (kp - 3) ** 2 + run.seed
        if kp == 3:
            goodput += self.luck.get(run.seed, 0.0)
        if kp == self.lucky and run.seed == 1:
            goodput += 1000
        if run.point.get("path.rtt") == "200 ms":
            goodput -= 10 * kp
        return {"status": "done", "run": "0" * 20, "flows": [{"name": "app", "goodput_bps": goodput}], "path": {}}


def tuned(lab: Lab, *params: str, on: Experiment | None = None, **options: Any) -> Tuned:
    on = on or one_flow()
    knobs = [read_knob(text, on) for text in params]
    return tune(on, knobs, read_objective("goodput(app)", ["app"]), lab, **options)


def test_a_grid_finds_the_best_and_confirms_it_on_other_seeds() -> None:
    lab = Lab()
    found = tuned(lab, "app.kp=1,2,3,8", on=one_flow(repeats=2))
    assert found.best.params == {"app.kp": 3}
    assert found.confirmation is not None
    assert found.confirmation.seeds == (3, 4, 5, 6, 7)
    assert (found.confirmation.difference, found.confirmation.better) == (1.0, True)
    assert found.experiment["flows"][0]["params"] == {"kp": 3}
    assert lab.seeds == set(range(1, 8))


def test_luck_is_not_confirmed() -> None:
    found = tuned(Lab(lucky=8), "app.kp=1,3,8")
    assert found.best.params == {"app.kp": 8}
    assert found.confirmation is not None
    assert (found.confirmation.difference, found.confirmation.better) == (-24.0, False)


def test_one_lucky_seed_of_five_confirms_nothing() -> None:
    """All five differences are above 0, and so is the bootstrap's interval; as few as five are not significant."""
    luck = {1: 9.0, 2: -0.9, 3: -0.8, 4: 3.0, 5: -0.9, 6: -0.8}
    found = tuned(Lab(luck=luck), "app.kp=3").confirmation
    assert found is not None
    assert found.difference == pytest.approx(0.92)
    assert found.low < 0 < found.high
    assert not found.better


def test_of_one_fresh_seed_the_difference_counts_as_it_is() -> None:
    found = tuned(Lab(), "app.kp=3", confirm=1).confirmation
    assert found is not None
    assert (found.low, found.difference, found.high, found.better) == (1.0, 1.0, 1.0, True)


def test_the_experiment_stays_where_nothing_is_better() -> None:
    found = tuned(Lab(), "app.kp=1,8")
    assert found.confirmation is None
    assert "params" not in found.experiment["flows"][0]


def test_over_a_sweep_the_mean_and_the_worst_differ() -> None:
    on = one_flow(sweep={"path.rtt": ["20 ms", "200 ms"]})
    # Points are 101 - (kp - 3)^2 and the same less 10 kp: means 97 - 5, 101 - 15; worst 97 - 10, 101 - 30, 100 - 20.
    best = {over: tuned(Lab(), "app.kp=1,2,3", on=on, over=over).best for over in ("mean", "worst")}
    assert {over: (trial.params["app.kp"], trial.value) for over, trial in best.items()} == {
        "mean": (1, 92.0),
        "worst": (1, 87.0),
    }
    assert best["mean"].points == (97.0, 87.0)


@pytest.mark.parametrize("sampler", ["tpe", "random", "cmaes"])
def test_a_sampler_comes_close_and_does_the_same_twice(sampler: str) -> None:
    found, again = (tuned(Lab(), "app.kp=0.5..32", "app.kd=100us..8ms", sampler=sampler, trials=32) for _ in range(2))
    assert found.trials == again.trials
    assert 2 < found.best.params["app.kp"] < 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kp=1", "as in app.kp=1,2,4"),
        ("web.kp=1", "known: app"),
        ("app.kq=1", "kp, kd, deriv_us"),
        ("app.kp=100", "0 to 64"),
        ("app.kd=5", "allowed"),
        ("app.kp=4..1", "from the lower value to the higher"),
    ],
)
def test_an_invalid_parameter_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError, match="reading --param") as refused:
        read_knob(text, one_flow())
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("params", "options", "message"),
    [
        (["app.kp=1..4"], {}, "a grid needs the values"),
        (["app.kp=1", "app.kp=2"], {}, "given twice"),
        (["app.kp=1"], {"sampler": "luck"}, "known: grid, tpe"),
        (["app.kp=1"], {"over": "best"}, "known: mean, worst"),
        ([], {}, "no parameter"),
    ],
)
def test_an_invalid_search_is_refused(params: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as refused:
        tuned(Lab(), *params, **options)
    assert message in str(refused.value)


def test_a_surface_has_its_best_darkest() -> None:
    trials = [({"x": x, "y": y}, float(x * y) if (x, y) != (2, 1) else None) for x in (1, 2) for y in (1, 3)]
    numbers = {name: {str(value): float(value) for value in values} for name, values in (("x", (2, 1)), ("y", (1, 3)))}
    surface = surface_of(trials, numbers)
    assert (surface.columns, surface.rows, surface.cells) == (("1", "2"), ("1", "3"), ((1.0, None), (3.0, 6.0)))
    assert as_text(surface).splitlines()[2].split()[-2:] == ["@", "6"]
    assert "·" in as_text(surface)
    drawn = as_svg(surface, "a < $b$")
    assert drawn == as_svg(surface, "a < $b$")
    texts = ["".join(one.itertext()) for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if "." in text][:3] == ["1.00", "3.00", "6.00"]
    assert {"x", "y", "a < $b$"} <= set(texts)
