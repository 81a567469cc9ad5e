"""A small distribution as somebody else would publish it; found through its metadata when this folder is on the path."""
