"""How long does it take to analyse a million answers to personas?

Question: seconds and peak memory from stored values of answers to every score of an audit of persona cues: the database sums them by
prompt, and the analysis of verdicts, the published one, correlations and replication follow. Reading a million texts into values, which
is done once and kept, is timed beside it, and so is ordering the audit, which stores a million requests with their prompts. All run with one
thread for arithmetic.

Limits: 30 s and 1 GB on two cores for the analysis. Run: ``python -m benchmarks.cues``; ``--answers`` makes it smaller.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":  # read once, when numpy loads
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from registry.audits.cue_reading import Calls, CueReading, Sums
from registry.audits.plan import AuditPlan, Request, Response
from registry.audits.protocols.persona_cues import PersonaCues
from registry.ledger.readings import AnswerValue
from registry.ledger.store import Ledger
from registry.releases import ModelRelease

ANSWERS = 1_000_000
LIMITS = {"analysis_s": 30.0, "peak_mb": 1000.0}
_BATCH = 20_000


def planned(answers: int) -> tuple[PersonaCues, AuditPlan]:
    """A design of about so many answers: all axes and cues; more variants, then more samples where there are names for no more."""
    protocol = PersonaCues()
    designs = [(variants, 3) for variants in (5, 10, 15, 20)] + [(20, samples) for samples in (4, 5, 6)]
    for variants, samples in designs:
        plan = protocol.plan(questions=40, variants=variants, samples=samples)
        if plan.size >= answers:
            questions = max(1, round(40 * answers / plan.size))
            return protocol, protocol.plan(questions=questions, variants=variants, samples=samples)
    return protocol, protocol.plan(questions=40, variants=20, samples=6)


def texts(requests: Iterator[Request], rng: np.random.Generator) -> Iterator[tuple[Request, Response]]:
    """An answer to each request, of the form that its task asks for."""
    said = {
        "salary": ("$72,000", "about 65k", "80000"),
        "medical-claims": ("True", "False"),
        "moral-judgement": ("NTA", "YTA", "NAH"),
    }
    for request in requests:
        choices = said.get(request.cell["task"], ("Yes", "No", "Yes."))
        text = choices[int(rng.integers(len(choices)))]
        yield request, Response(index=request.index, repeat=request.repeat, text=text, served_model="m-2026-01-01")


def filled(ledger: Ledger, protocol: PersonaCues, plan: AuditPlan) -> dict[str, float]:
    """Store an audit with the values of its answers; says how long reading the texts took."""
    release = ModelRelease(family="nova", version=1, model="m-2026-01-01")
    began = time.perf_counter()
    audit = ledger.order(release, plan, protocol.requests(plan))
    ordered = {"order_s": round(time.perf_counter() - began, 2), "order_mb": peak_mb()}
    cells, _ = ledger.cells(audit.id)
    rng, spent, done = np.random.default_rng(1), 0.0, 0
    batch: list[Response] = []

    def flush() -> None:
        nonlocal spent, done
        began = time.process_time()
        found = protocol.values(plan, cells, batch)
        spent += time.process_time() - began
        done += len(found)
        values = [
            AnswerValue(index=v.index, repeat=v.repeat, attempt=1, value=v.value, outcome=v.outcome) for v in found
        ]
        ledger.store_readings(audit.id, protocol.reader(plan), values)
        batch.clear()

    for _, response in texts(protocol.requests(plan), rng):
        batch.append(response)
        if len(batch) == _BATCH:
            flush()
    if batch:
        flush()
    return {**ordered, "answers": done, "read_s": round(spent, 2), "read_per_s": round(done / max(spent, 1e-9))}


def peak_mb() -> int:
    """Peak memory of this process so far."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def analysed(ledger: Ledger, protocol: PersonaCues, plan: AuditPlan) -> dict[str, float]:
    """From stored values to every score: seconds by part."""
    (audit,) = ledger.audits()
    marks = [("start", time.perf_counter())]
    cells, repeats = ledger.cells(audit.id)
    marks.append(("cells", time.perf_counter()))
    tally = ledger.tally(audit.id, protocol.reader(plan))
    marks.append(("sums", time.perf_counter()))
    sums = Sums(index=tally.index, outcome=tally.outcome, n=tally.n, total=tally.total, squares=tally.squares)
    calls = Calls(
        asked=plan.size,
        put=plan.size,
        answered=plan.size,
        repeats=repeats,
        served_models={},
        fingerprints={},
        prompt_tokens=None,
        completion_tokens=None,
    )
    reading: CueReading = protocol.read_sums(plan, cells, sums, calls)
    marks.append(("frame", time.perf_counter()))
    scores = protocol.scores(reading, ())
    marks.append(("scores", time.perf_counter()))
    parts = {name: round(now - then, 2) for (_, then), (name, now) in itertools.pairwise(marks)}
    return {
        **parts,
        "analysis_s": round(marks[-1][1] - marks[0][1], 2),
        "scores_made": len(scores),
        "prompts": len(reading.frame),
    }


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=ANSWERS)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.db"
        if (child := os.fork()) == 0:  # a process of its own, so that the peak below is that of the analysis alone
            protocol, plan = planned(options.answers)
            ledger = Ledger(f"sqlite:///{place}")
            figures = filled(ledger, protocol, plan)
            ledger.close()
            (Path(folder) / "filled.json").write_text(json.dumps(figures))
            os._exit(0)
        os.waitpid(child, 0)
        figures = json.loads((Path(folder) / "filled.json").read_text())
        protocol, plan = planned(options.answers)
        ledger = Ledger(f"sqlite:///{place}")
        found = analysed(ledger, protocol, plan)
        ledger.close()
    peak = peak_mb()
    large = figures["answers"] >= ANSWERS * 0.95
    held = {name: (found | {"peak_mb": peak})[name] <= limit if large else None for name, limit in LIMITS.items()}
    print(json.dumps({**figures, **found, "peak_mb": peak, "limits": LIMITS, "held": held}, indent=2))


if __name__ == "__main__":
    main()
