"""The lab on more than one machine: runs are carried out by the workers of a Dask cluster.

    dispatcher process                       scheduler               worker process, on any machine
    DaskCluster (executor.py) -- scheduler_link.py --- dask scheduler --- run_remote.py, started by worker.py
    kernels/artefacts.py                                       kernels/artefacts.py

The record and the kept runs stay with the dispatcher; a worker has a staging folder, a cache, and nothing that could be lost.
"""
