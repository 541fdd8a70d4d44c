"""Grafana: what it is provisioned with, and the dashboards as JSON beside the code that makes them."""
