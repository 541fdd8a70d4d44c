"""What people look at: dashboards of Grafana, made from code by `make dashboards`; nothing here is imported by the program."""
