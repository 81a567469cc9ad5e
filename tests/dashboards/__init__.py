"""Tests of the model card: what it says, what it refuses, and what hostile answers cannot do to it."""
