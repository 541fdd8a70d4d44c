"""Runs as samples, while they run and afterwards: one path from records to samples for Prometheus and for pages.

    trace.bin, as it grows --following--.                       .-> spool -> exporter -> Prometheus      live
    Parquet of a kept run -------replay-+-> downsampling ------+-> Prometheus                           `longhaul export --to prometheus`
                                               |               '-> a file of OpenMetrics                 `longhaul export --to openmetrics`
                                               '---> SettledSamples -> pages that show a run (api/streams/live_run.py)

The export never affects a run: its errors are only reported.
"""
