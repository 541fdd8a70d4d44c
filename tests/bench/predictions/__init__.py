"""Predictions of transfers, compared with whole transfers."""
