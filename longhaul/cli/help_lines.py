"""The first paragraph of the help of each command, generated from its docstring: `make docs`."""

from __future__ import annotations

HELP_LINES = {
    "demo": "Run the demo: CUBIC against H-TCP over 622 Mbit/s and 300 ms, a few seconds, with a chart and a summary.",
    "new": "Write an experiment as a commented file that `longhaul run` accepts; on a terminal, it asks for values without an option.",
    "run": "Run an experiment, every point of its sweep and every repeat, on this machine or on a service.",
    "plan": "Show the resolved plan: topology, every number, the place of each impairment, cost, lint.",
    "compare": "Compare two runs or results, paired by point and seed; exit code 1 if a measure of --for is worse.",
    "reproduce": "Run a paper's experiments and compare the published values with the measured ones; exit code 1 if a gating claim differs.",
    "tune": "Search for the module parameters that maximise an objective and confirm the best on fresh seeds; exit code 1 if they are not better.",
    "search": "Search for the least severe condition that breaks a claim and confirm it on fresh seeds; exit code 1 if there is one.",
    "predict": "Predict how long a transfer takes on a path, by congestion control and number of streams, and print the settings for it.",
    "bisect": "Find the commit, the patch or the change of a module that made an experiment behave otherwise; exit code 1 if several are left.",
    "mininet": "Open the mininet> prompt on an experiment's network, or run a Mininet script (or mn itself, its arguments after --) in a guest.",
    "shell": "Open a shell with ss, tc, ping and tcpdump in a run whose virtual clock stands; `help` in it lists how to let it run.",
    "explain": "Explain a field of an experiment, a measure or a fidelity check; exit code 2 if there is none of that name.",
    "list": "List experiments, topologies, modules, presets, measures, series, backends, published values, kept runs or hosts.",
    "show": "Show a kept run: summary, chart, fidelity, or its moments.",
    "log": "Print the log of the guest's kernel and modules in a run, kept or failed.",
    "report": "Write a report of kept runs.",
    "query": "Ask kept runs a question in SQL: their experiments, measures, and every record of their traces, as tables.",
    "export": "Export a kept run: its trace as tables, its samples, its packets, or as iperf3, flent or qlog would have written it.",
    "rerun": "Run a kept run again from its manifest; print that it is identical, or what differs (exit code 1).",
    "verify": "Compare every file of kept runs with its hash; exit code 4 if a run is damaged and not repaired.",
    "pin": "Pin runs, so that `longhaul prune` keeps them.",
    "prune": "Remove old runs, except those that are pinned, part of a baseline or wanted by an experiment.",
    "backup": "Write the whole home, database and runs, into one file; the service may keep running.",
    "restore": "Restore a backup into an empty home.",
    "doctor": "Show what this machine can do, and how to get what is missing; exit code 3 if something needed is missing.",
    "completion": 'Print the script that completes commands in a shell, as in `eval "$(longhaul completion bash)"`.',
    "new-module": "Write a template of a congestion control, which compiles and runs, and an experiment that tests it.",
    "modules": "Congestion-control modules for the sandbox.",
    "kernel": "The sandbox kernel.",
    "agent": "The agent, which moves the data in guests and on hosts.",
    "hosts": "Physical hosts and the paths between them.",
    "recordings": "Recordings of links: their capacity, delay and losses over time, for `recording:` of an experiment.",
    "serve": "Start the service: the REST API, the page, and the dispatcher that runs what is queued.",
    "worker": "Run experiments on this machine for a service elsewhere, through a Dask scheduler, until stopped.",
    "token": "Tokens of the service: who may do what.",
    "baseline": "Baselines of the service: the experiments with which later ones are compared, by branch.",
}

# What `longhaul --help` prints on a terminal of 80 columns or more.
ROOT_HELP = """\
Usage: longhaul [OPTIONS] COMMAND [ARGS]...

  A congestion-control laboratory: real Linux TCP over long fast paths, in
  virtual time.

Options:
  --version             Print the version and exit.
  --install-completion  Install completion for the current shell.
  --show-completion     Show completion for the current shell, to copy it or
                        customize the installation.
  --help                Show this message and exit.

Commands:
  demo        Run the demo: CUBIC against H-TCP over 622 Mbit/s and 300...
  new         Write an experiment as a commented file that `longhaul run`...
  run         Run an experiment, every point of its sweep and every...
  plan        Show the resolved plan: topology, every number, the place...
  compare     Compare two runs or results, paired by point and seed; exit...
  reproduce   Run a paper's experiments and compare the published values...
  tune        Search for the module parameters that maximise an objective...
  search      Search for the least severe condition that breaks a claim...
  predict     Predict how long a transfer takes on a path, by congestion...
  bisect      Find the commit, the patch or the change of a module that...
  mininet     Open the mininet> prompt on an experiment's network, or run...
  shell       Open a shell with ss, tc, ping and tcpdump in a run whose...
  explain     Explain a field of an experiment, a measure or a fidelity...
  list        List experiments, topologies, modules, presets, measures,...
  show        Show a kept run: summary, chart, fidelity, or its moments.
  log         Print the log of the guest's kernel and modules in a run,...
  report      Write a report of kept runs.
  query       Ask kept runs a question in SQL: their experiments,...
  export      Export a kept run: its trace as tables, its samples, its...
  rerun       Run a kept run again from its manifest; print that it is...
  verify      Compare every file of kept runs with its hash; exit code 4...
  pin         Pin runs, so that `longhaul prune` keeps them.
  prune       Remove old runs, except those that are pinned, part of a...
  backup      Write the whole home, database and runs, into one file; the...
  restore     Restore a backup into an empty home.
  doctor      Show what this machine can do, and how to get what is...
  completion  Print the script that completes commands in a shell, as in...
  new-module  Write a template of a congestion control, which compiles...
  modules     Congestion-control modules for the sandbox.
  kernel      The sandbox kernel.
  agent       The agent, which moves the data in guests and on hosts.
  hosts       Physical hosts and the paths between them.
  recordings  Recordings of links: their capacity, delay and losses over...
  serve       Start the service: the REST API, the page, and the...
  worker      Run experiments on this machine for a service elsewhere,...
  token       Tokens of the service: who may do what.
  baseline    Baselines of the service: the experiments with which later...
"""
