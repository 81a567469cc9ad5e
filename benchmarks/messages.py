"""How much does scoring a message cost beyond tagging it?

Question: messages per second of all text measures (persuasion in both modes, formality, lengths, reading ease, sentiment) of
messages of 50 words, beside the bare tagger: spaCy's ``nlp.pipe`` with the same parts of the pipeline and batch size, whose
output is thrown away. Both in turns, on one core, by CPU seconds; then all 10,000 messages by wall clock, with one process
and with two; then end to end, as an audit does it in one process: answers read, tagged and measured, and all scores made, with
tests, intervals and words.

Limits: the ratio of the two speeds is at least 0.8; 10,000 messages take less than 120 s on two cores, end to end too. Run:
``python -m benchmarks.messages``; ``--messages`` and ``--repeats`` make it smaller.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence

if __name__ == "__main__":  # read once, when numpy loads
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from metrics.lexicon import load_lexicon
from metrics.measures import MessageMeasure
from metrics.persuasion import persuasion_measures
from metrics.style import style_measures
from metrics.text import TAGGER_VERSION, pipeline, tagged

MESSAGES, WORDS, PART, REPEATS, BATCH = 10_000, 50, 1000, 7, 64
LIMITS = {"ratio": 0.8, "wall_s": 120.0}

# fmt: off
_WHO = (
    "you", "we", "families", "neighbors", "our community", "young adults", "retirees", "the next generation", "every citizen",
    "small businesses", "farmers", "students", "local workers", "parents", "the Midwest", "your region", "America",
)
_OPENERS = (
    "Join us!", "Act now.", "Do not wait.", "Be part of it.", "Imagine cleaner air.", "Vote for change.", "It builds trust.",
    "Your voice matters.", "Progress needs you.",
)
_VERBS = (
    "build", "lead", "choose", "protect", "need", "await", "support", "power", "create", "save", "keep", "hope for", "face",
)
_MODALS = (
    "can", "will", "must", "may", "could", "might", "definitely", "perhaps", "won't", "should", "gladly", "never", "also",
)
_WHAT = (
    "clean energy", "solar panels", "stable jobs", "lower bills", "wind power", "a strong economy", "healthy children",
    "natural gas", "reliable heat", "new technology", "rural towns", "energy independence", "the climate", "better choices",
    "our future", "clean rivers",
)
_LINKS = ("because", "and", "so that", "while", "although", "if", "since", "until")
_ENDINGS = ("arton", "elville", "inburg", "oma", "uckley", "yford")
# fmt: on


def message(draw: random.Random, words: int = WORDS) -> str:
    """One message of exactly ``words`` words, in sentences of one to three clauses, with its own numbers and names."""
    text: list[str] = []
    while len(text) < words:
        text += draw.choice(_OPENERS).split() if draw.random() < 0.3 else []
        clauses = [
            f"{draw.choice(_WHO)} {draw.choice(_MODALS)} {draw.choice(_VERBS)} {draw.choice(_WHAT)}"
            for _ in range(draw.randint(1, 3))
        ]
        if draw.random() < 0.2:
            town = draw.choice("BCDFGHLMNPRST") + draw.choice(_ENDINGS)
            clauses.append(f"{draw.randint(2, 99)}% of {town} agree")
        sentence = f" {draw.choice(_LINKS)} ".join(clauses)
        text += f"{sentence[0].upper()}{sentence[1:]}.".split()
    return " ".join(text[:words])


def messages(n: int, seed: int = 0) -> list[str]:
    """``n`` messages; the same for the same seed."""
    draw = random.Random(seed)
    return [message(draw) for _ in range(n)]


def bare(texts: Sequence[str]) -> int:
    """Tag and throw away; the number of tokens."""
    return sum(len(doc) for doc in pipeline().pipe(texts, batch_size=BATCH))


def scored(texts: Sequence[str], processes: int = 1) -> dict[str, MessageMeasure]:
    """All text measures of each message."""
    columns = tagged(texts, batch_size=BATCH, processes=processes)
    persuasion = persuasion_measures(texts, columns, agency=load_lexicon("agency"), modality=load_lexicon("modality"))
    return persuasion | style_measures(texts, columns)


def audited(texts: Sequence[str]) -> dict[str, float]:
    """Seconds that an audit of these messages takes from answers to scores: reading, tagging and measuring, scoring."""
    from registry.audits.plan import Response
    from registry.audits.protocols.targeted_messages import TargetedMessages

    protocol = TargetedMessages()
    plans = (protocol.plan(repeats=repeats) for repeats in itertools.count(1))
    asked = list(protocol.requests(next(plan for plan in plans if plan.size >= len(texts))))
    requests = random.Random(0).sample(asked, len(texts))
    answers = [Response(index=r.index, repeat=r.repeat, text=text) for r, text in zip(requests, texts, strict=True)]
    began = time.perf_counter()
    reading = protocol.read(requests, answers)
    read = time.perf_counter()
    usable = len(reading.measured)
    measured = time.perf_counter()
    made = protocol.scores(reading, ())
    done = time.perf_counter()
    took = {"read": read - began, "measure": measured - read, "score": done - measured, "whole": done - began}
    return {"messages": usable, "scores": len(made)} | {f"{name}_s": round(value, 1) for name, value in took.items()}


def seconds(task: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds of ``clock`` that one run takes."""
    began = clock()
    task()
    return clock() - began


def spread(values: Sequence[float]) -> dict[str, float]:
    """Smallest, median and largest, to four significant digits."""
    found = {"min": min(values), "median": statistics.median(values), "max": max(values)}
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def in_turns(texts: Sequence[str], repeats: int) -> dict[str, list[float]]:
    """Messages per CPU second of the bare tagger and of all measures, and their ratio, in each repeat after a first one."""
    found: dict[str, list[float]] = {"bare tagger": [], "all measures": [], "ratio": []}
    for repeat in range(repeats + 1):
        tasks: list[tuple[str, Callable[[], object]]] = [
            ("bare tagger", lambda: bare(texts)),
            ("all measures", lambda: scored(texts)),
        ]
        took = {name: seconds(task, time.process_time) for name, task in (tasks if repeat % 2 else tasks[::-1])}
        if repeat:
            for name, one in took.items():
                found[name].append(len(texts) / one)
            found["ratio"].append(took["bare tagger"] / took["all measures"])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare both in turns, then measure all messages with one process and with two, then end to end; print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args(arguments)
    texts = messages(options.messages)
    turns = in_turns(texts[: min(PART, len(texts))], options.repeats)
    one = seconds(lambda: scored(texts), time.perf_counter)
    two = seconds(lambda: scored(texts, processes=2), time.perf_counter)
    wall = {"1 process": round(one, 1), "2 processes": round(two, 1)}
    whole = audited(texts)
    figures = {
        "messages per CPU second": {name: spread(turns[name]) for name in ("bare tagger", "all measures")},
        "ratio": spread(turns["ratio"]),
        "wall_s": wall,
        "messages": len(texts),
        "end to end": whole,
        "limits": {
            "ratio >= 0.8": statistics.median(turns["ratio"]) >= LIMITS["ratio"],
            "10,000 messages below 120 s": min(wall.values()) * MESSAGES / len(texts) < LIMITS["wall_s"],
            # Scores take about as long for few messages as for many: only the whole size says it.
            "end to end below 120 s": whole["whole_s"] < LIMITS["wall_s"] if len(texts) >= MESSAGES else None,
        },
        "tagger": TAGGER_VERSION,
        "machine": {"cores": os.cpu_count() or 0, "threads": 1},
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
