"""A result object is a mapping: its keys and values are those of the JSON document that the command line and the REST API print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Documented(Mapping[str, Any]):
    """An object around a JSON document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = dict(document)

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON document."""
        return self._document

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)
