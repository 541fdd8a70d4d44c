"""Journeys through the web page, in Chromium, against the real service."""
