"""An axis of personas as a user writes one, with first names."""

RELIGION = """
name = "religion"
title = "religion"
noun = "religion"
kind = "group"
source = "a test"
[[value]]
name = "muslim"
word = "Muslim"
first_names = ["Yusuf", "Amina", "Tariq"]
[[value]]
name = "jewish"
word = "Jewish"
first_names = ["Moshe", "Rivka", "Avi", "Miriam"]
"""
