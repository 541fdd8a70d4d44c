"""The gallery: every shipped experiment is in a group, with its cost and picture."""

from __future__ import annotations

from longhaul.orchestrator.preview.gallery import gallery, read_groups
from longhaul.orchestrator.spec.load import shipped_experiments


def test_every_shipped_experiment_is_in_a_group() -> None:
    groups = read_groups()
    named = [name for group in groups for name in group.experiments]
    assert set(named) == set(shipped_experiments())
    assert all(len(group.experiments) == len(set(group.experiments)) for group in groups)
    first = groups[0]
    assert first.title == "Start here"
    assert 5 <= len(first.experiments) <= 8


def test_an_experiment_has_its_cost_and_its_picture() -> None:
    shipped = {one.experiment: one for one in gallery().experiments}
    demo, change = shipped["demo"], shipped["path-change"]
    assert (demo.runs, demo.duration) == (1, "30 s")
    assert (demo.miniature.senders, demo.miniature.hops, demo.miniature.receivers) == (1, 1, 1)
    assert [(round(lane.begin, 1), lane.end) for lane in demo.miniature.flows] == [(0, 1), (0, 1)]
    assert change.miniature.changes
    assert shipped["sweep-1000"].wall_s > shipped["quick"].wall_s > 0
    for one in shipped.values():
        assert 0 < len(one.miniature.flows) <= 8
        assert all(0 <= lane.begin < lane.end <= 1 for lane in one.miniature.flows)
