"""Results as Python objects, the same for runs in this process and runs of a service: documents, tables, charts and frames."""

from longhaul.results.comparison import Comparison
from longhaul.results.plan import Plan
from longhaul.results.reproduction import Reproduction
from longhaul.results.result import Result
from longhaul.results.run import Run, Series
from longhaul.results.search import Search

__all__ = ["Comparison", "Plan", "Reproduction", "Result", "Run", "Search", "Series"]
