"""Recorded links: readers of their files, and the tables that a kernel replays (kmod/recording.h).

file --readers--> chunks of rows --window--> rows of one run --tables--> $LONGHAUL_CACHE/recordings/<hash>
"""
