"""Predictions: how long a transfer takes on a path, with which settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from longhaul.api.auth import Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.threads import takes_long
from longhaul.api.schemas.predictions import Prediction, PredictionAsked
from longhaul.orchestrator.analysis.prediction.question import USUAL_WITHIN, ask

router = APIRouter(route_class=Reading, prefix="/predictions", tags=["predictions"])


@router.get("", summary="Read a prediction", operation_id="read_prediction")
@takes_long
def read(
    lab: TheLab,
    caller: Reader,
    size: Annotated[str, Query(max_length=64, description="How much to transfer.", examples=["40 MB"])],
    path: Annotated[
        str, Query(max_length=300, description="The path in one line.", examples=["20 Mbit/s, 20 ms, buffer 1 BDP"])
    ],
    streams: Annotated[str, Query(max_length=100, description="Numbers of parallel streams.", examples=["1"])] = "1,4",
    cc: Annotated[str, Query(max_length=300, description="Congestion controls.", examples=["cubic"])] = "all",
    within: Annotated[
        float, Query(gt=0, lt=1, description="The wanted relative half width of the interval.", examples=[0.1])
    ] = USUAL_WITHIN,
) -> Prediction:
    """The prediction as far as its runs are kept; nothing is run."""
    return Prediction(**lab.predictions.look(ask(size, path, cc, streams), within))


@router.post("", summary="Predict a transfer", operation_id="predict")
@takes_long
def predict(asked: PredictionAsked, lab: TheLab, caller: Runner) -> Prediction:
    """Submit the runs of the next round and read the prediction so far. Each round follows from the runs before: send the same request
    again until `status` is `done`. Kept runs are not run again."""
    question = ask(asked.size, asked.path, asked.cc, asked.streams)
    return Prediction(**lab.predictions.submit(question, asked.within, caller.name))
