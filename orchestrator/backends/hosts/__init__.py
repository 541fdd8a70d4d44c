"""Real hosts at the ends of a real path: how they are spoken to, what is found there, and how their halves of a run become one.

run_on_hosts.py      one run, from the first word to the last          path_probe.py    a look at an idle path, without a run
  |-- ssh_channel.py     ==ssh==  agent endpoint (orchestrator/agent/host/endpoint.c)
  |-- handshake.py    whether its agent is of this version, under the limits of today
  |-- clocks.py      which instant of each host's clock is the start
  |-- findings.py    what could spoil the numbers, before and after
  |-- health.py      what was last known of each host
  |-- trace/merge.py     their growing traces -> trace.bin
  `-- merge_facts.py    their facts.json     -> facts.json
"""
