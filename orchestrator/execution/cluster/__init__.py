"""The lab on more than one machine: the workers of a Dask cluster run the runs.

    dispatcher process                       scheduler               worker process, on any machine
    DaskCluster (executor.py) -- scheduler_link.py --- dask scheduler --- run_remote.py, started by worker.py
    kernels/artefacts.py                                       kernels/artefacts.py

The database and the kept runs stay with the dispatcher; a worker has only a staging folder and a cache, so no result is lost with it.
"""

from longhaul.orchestrator.system.extras import need

need("cluster")
