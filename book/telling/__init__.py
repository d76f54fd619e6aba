"""Telling of results: nothing here makes a number."""
