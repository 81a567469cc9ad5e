"""Tests of registry.audits."""
