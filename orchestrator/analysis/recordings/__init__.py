"""Recordings: what iperf3, flent or a packet capture measured elsewhere, such as on a real path, to be compared with a run."""
