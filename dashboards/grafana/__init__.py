"""Grafana: its provisioning, and the dashboards as JSON with the code that generates them."""
