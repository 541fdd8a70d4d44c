"""Runs as samples, while they go on and afterwards: one road from records to samples for Prometheus and for pages.

    trace.bin, as it grows --following--.                       .-> spool -> exporter -> Prometheus      live
    Parquet of a kept run -------replay-+-> downsampling ------+-> Prometheus                           `longhaul export --to prometheus`
                                               |               '-> a file of OpenMetrics                 `longhaul export --to openmetrics`
                                               '---> told -> pages that look at a run (api/streams/live_run.py)

What is exported never decides anything about a run: it goes beside it, and what goes wrong here is said and no more.
"""
