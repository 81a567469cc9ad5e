"""Makes the table of first names that name cues draw from, out of two packages of public tables."""
