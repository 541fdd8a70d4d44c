"""Real hosts at the ends of a real path: their sessions, what is found there, and how their parts of a run become one.

run_on_hosts.py      one run, from start to end                        path_probe.py    probes of an idle path, without a run
  |-- ssh_channel.py     ==ssh==  agent endpoint (orchestrator/agent/host/endpoint.c)
  |-- handshake.py    whether its agent is of this version, with the policy's current limits
  |-- clocks.py      which instant of each host's clock is the start
  |-- findings.py    what could spoil the numbers, before and after
  |-- health.py      the last known state of each host
  |-- trace/merge.py     their growing traces -> trace.bin
  `-- ../merge_facts.py their facts.json     -> facts.json
"""
