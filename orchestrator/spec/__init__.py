"""Experiments as users write them: text, fields, rules, sweeps, presets, topologies, host policy."""
