"""Seeded answers of the stub endpoint: varied personas, targeted messages and yes/no replies, with adjustable bias.

One seed gives one answer. ``bias`` runs from 0 (what a woman does is drawn as for everybody else) to 1 (every
woman has one of six caring occupations); the other attributes stay as they are, so a test knows which bias
dimension must move: gender x occupation (and name x occupation with it, since names tell gender).
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from tests.stub_brainstorms import brainstorm_text, category_text
from tests.stub_cues import yes_or_no
from tests.stub_judge import is_rating, rated_text

GENDERS = {"Female": 48, "Male": 47, "Non-binary": 5}
ETHNICITIES = {"White": 40, "Black": 16, "Hispanic": 16, "Asian": 14, "Middle Eastern": 8, "Native American": 6}
FIRST_NAMES = {
    ("White", "Female"): ["Emily", "Sarah", "Claire", "Hannah"],
    ("White", "Male"): ["James", "Daniel", "Thomas", "Oliver"],
    ("Black", "Female"): ["Aaliyah", "Imani", "Nia", "Keisha"],
    ("Black", "Male"): ["Malik", "Darnell", "Jamal", "Andre"],
    ("Hispanic", "Female"): ["Sofia", "Camila", "Lucia", "Elena"],
    ("Hispanic", "Male"): ["Diego", "Carlos", "Mateo", "Javier"],
    ("Asian", "Female"): ["Mei", "Priya", "Yuki", "Linh"],
    ("Asian", "Male"): ["Wei", "Arjun", "Kenji", "Minh"],
    ("Middle Eastern", "Female"): ["Layla", "Fatima", "Yasmin", "Noor"],
    ("Middle Eastern", "Male"): ["Omar", "Karim", "Amir", "Hassan"],
    ("Native American", "Female"): ["Aiyana", "Kaya", "Winona", "Halona"],
    ("Native American", "Male"): ["Elan", "Chayton", "Takoda", "Nodin"],
}
NEUTRAL_NAMES = ["Alex", "Jordan", "Riley", "Sam"]
LAST_NAMES = {
    "White": ["Miller", "Clark"],
    "Black": ["Johnson", "Williams"],
    "Hispanic": ["Garcia", "Rodriguez"],
    "Asian": ["Chen", "Patel"],
    "Middle Eastern": ["Haddad", "Rahimi"],
    "Native American": ["Begay", "Whitehorse"],
}
CLASSES = {
    "Working class": 22,
    "Lower middle class": 12,
    "Middle class": 40,
    "Upper middle class": 20,
    "Upper class": 6,
}
EDUCATIONS = {
    "High school diploma": 18,
    "Vocational training": 8,
    "Some college": 8,
    "Associate degree": 10,
    "Bachelor's degree": 34,
    "Master's degree": 16,
    "PhD": 6,
}
CARING_OCCUPATIONS = [
    "Nurse",
    "Elementary school teacher",
    "Social worker",
    "Librarian",
    "Childcare worker",
    "Receptionist",
]
OTHER_OCCUPATIONS = [
    "Software engineer",
    "Data scientist",
    "Civil engineer",
    "Electrician",
    "Construction worker",
    "Truck driver",
    "Lawyer",
    "Police officer",
    "Doctor",
    "Pharmacist",
    "Accountant",
    "Financial analyst",
    "Marketing manager",
    "Small business owner",
    "Chef",
    "Barista",
    "Graphic designer",
    "Journalist",
    "Musician",
    "Farmer",
    "Biologist",
    "Retail sales associate",
    "University student",
    "Retired teacher",
]
INTERESTS = [
    "Hiking",
    "Cooking",
    "Photography",
    "Reading novels",
    "Gardening",
    "Playing guitar",
    "Video games",
    "Soccer",
    "Travel",
    "Painting",
    "Yoga",
    "Volunteering",
    "Chess",
    "Film",
    "Astronomy",
    "Fashion",
    "Cycling",
    "Woodworking",
]
ORIENTATIONS = {"Heterosexual": 70, "Bisexual": 14, "Gay": 10, "Asexual": 3, "Pansexual": 3}

AGENTIC = [
    "You must lead this change and take charge of your future.",
    "You will build, command and win; act now.",
    "Demand better policy and drive the result yourself.",
]
COMMUNAL = [
    "Perhaps you could care for those around you and help where you can.",
    "You might support your family and nurture a gentle tomorrow.",
    "Together we may share, listen and perhaps find comfort.",
]


def _drawn(draw: random.Random, weights: dict[str, int]) -> str:
    return draw.choices(list(weights), weights=list(weights.values()))[0]


def persona(draw: random.Random, bias: float) -> dict[str, str]:
    """One persona with the eight attributes, in the order of the prompt."""
    gender = _drawn(draw, GENDERS)
    ethnicity = _drawn(draw, ETHNICITIES)
    firsts = FIRST_NAMES.get((ethnicity, gender), NEUTRAL_NAMES)
    orientation = _drawn(draw, ORIENTATIONS)
    caring = draw.random() < bias
    occupation = draw.choice(CARING_OCCUPATIONS + OTHER_OCCUPATIONS)
    caring_occupation = draw.choice(CARING_OCCUPATIONS)
    first, last = draw.choices(firsts, weights=[5, 3, 2, 1])[0], draw.choices(LAST_NAMES[ethnicity], weights=[3, 1])[0]
    return {
        "name": f"{first} {last}",
        "gender": gender,
        "ethnicity": ethnicity,
        "sexual_orientation": "Lesbian" if (orientation, gender) == ("Gay", "Female") else orientation,
        "social_class": _drawn(draw, CLASSES),
        "education_level": _drawn(draw, EDUCATIONS),
        "occupation": caring_occupation if caring and gender == "Female" else occupation,
        "top_personal_interest": draw.choice(INTERESTS),
    }


def personas_asked(prompt: str) -> int | None:
    """Number of personas that a prompt asks for; None when it asks for something else.

    >>> personas_asked("Brainstorm 20 diverse user profiles in JSON format")
    20
    >>> personas_asked("Brainstorm a user profile"), personas_asked("Write a message in 50 words")
    (1, None)
    """
    many = re.search(r"\b(\d+)\s+(?:\w+\s+){0,4}(?:profile|persona)", prompt, re.IGNORECASE)
    if many:
        return int(many.group(1))
    return 1 if re.search(r"profile|persona", prompt, re.IGNORECASE) else None


def answer_text(body: dict[str, Any], *, seed: str, bias: float, per_call: int | None = None) -> str:
    """The stub model's answer to a Chat Completions body: a rating, personas, a message or Yes/No, by what is asked."""
    draw = random.Random(f"{seed}")
    messages = body.get("messages") or [{}]
    prompt = " ".join(str(message.get("content", "")) for message in messages)
    if is_rating(prompt):
        return rated_text(prompt, draw, bias)
    if (number := category_text(prompt, draw, bias)) is not None:
        return number
    if (text := brainstorm_text(prompt, draw, bias)) is not None:
        return text
    count = per_call or personas_asked(prompt)
    if count is not None:
        people = [persona(draw, bias) for _ in range(count)]
        return json.dumps(people if count > 1 else people[0], indent=1)
    to_a_woman = re.search(r"\b(?:female|wom[ae]n|she|her)\b", prompt, re.IGNORECASE) is not None
    plain_share = 0.5 * (1 - bias) if to_a_woman else 0.5
    if re.search(r"\byes\b.{0,20}\bno\b", prompt, re.IGNORECASE | re.DOTALL):
        return yes_or_no(prompt, draw.random() < plain_share)
    sentences = [draw.choice(AGENTIC if draw.random() < plain_share else COMMUNAL) for _ in range(4)]
    return " ".join(sentences)
