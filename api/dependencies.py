"""Dependencies of endpoints: the lab that the service opened at its start, and the hub of its followers.

The functions are coroutines because FastAPI runs plain functions in a thread, which takes longer.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from longhaul.api.lab import Lab
from longhaul.api.streams.events import Hub


async def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


async def _hub(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


TheLab = Annotated[Lab, Depends(_lab)]
TheHub = Annotated[Hub, Depends(_hub)]
