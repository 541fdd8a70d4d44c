"""Real hosts at the ends of a real path: how they are spoken to, what is found there, and how their halves of a run become one.

controller                                      endpoint
channel.py  ==ssh==  agent endpoint (orchestrator/agent/endpoint.c)
  |-- clocks.py      which instant of each host's clock is the start
  |-- findings.py    what could spoil the numbers, before and after
  |-- merging.py     two growing traces -> trace.bin
  `-- accounts.py    two facts.json     -> facts.json
"""
