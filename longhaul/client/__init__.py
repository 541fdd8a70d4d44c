"""The client of the REST API: submit, follow, read results."""

from longhaul.client.client import Client, Event, LiveEvent
from longhaul.orchestrator.system.errors import LonghaulError

__all__ = ["Client", "Event", "LiveEvent", "LonghaulError"]
