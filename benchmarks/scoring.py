"""How long do scoring 10,000 personas from the ledger and comparing two releases take?

Question: wall and CPU seconds, beyond the imports, from stored answers to stored scores and a stored comparison.
Limit: 5 s on two cores. Run: ``python -m benchmarks.scoring``.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from pathlib import Path

PERSONAS, PER_CALL = 10_000, 20
NAMES = [
    f"{first} {last}"
    for first in ["Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo"]
    for last in ["Ames", "Burr", "Cole", "Dorn", "Ives", "Kane", "Lowe"]
]
TERMS = {
    "gender": ["Female", "Male", "Non-binary"],
    "ethnicity": ["Asian", "Black", "Hispanic", "White", "Middle Eastern", "Mixed", "Korean American", "Afro-Latina"],
    "sexual_orientation": ["Heterosexual", "Gay", "Lesbian", "Bisexual", "Pansexual"],
    "social_class": ["Working class", "Middle class", "Upper-middle class", "Upper class"],
    "education_level": ["High school", "Some college", "Bachelor's degree", "Master's degree", "PhD in Physics"],
    "occupation": ["Nurse", "Software engineer", "Teacher", "Chef", "Lawyer", "Electrician", "Graphic designer", "Sales manager"],
    "top_personal_interest": ["Hiking", "Cooking", "Chess", "Painting", "Football", "Yoga", "Gardening", "Travel"],
}  # fmt: skip


def answer(seed: int) -> str:
    """A well-formed answer of 20 personas."""
    draw = random.Random(seed)
    people = [{"name": draw.choice(NAMES)} | {k: draw.choice(v) for k, v in TERMS.items()} for _ in range(PER_CALL)]
    return json.dumps(people)


def main() -> None:
    """Import, then measure scoring and comparison."""
    from flows.judging import judged
    from flows.scoring import read_answers, scored
    from flows.settings import Home
    from flows.workspace import opened
    from registry.audits.plan import Response
    from registry.ledger.bundles import work_for
    from registry.releases import ModelRelease

    with tempfile.TemporaryDirectory() as folder, opened(Home(Path(folder))) as workspace:
        protocol = workspace.protocol("persona-brainstorm")
        audits = []
        for version in (1, 2):
            answers = [Response(index=i, text=answer(version * 100_000 + i)) for i in range(PERSONAS // PER_CALL)]
            plan = protocol.imported_plan(size=PERSONAS, per_call=PER_CALL)
            release = ModelRelease(family="bench", version=version, model=f"bench-{version}")
            audit = workspace.ledger.order(release, plan, work_for(answers, PER_CALL), source="imported")
            workspace.ledger.record_all(audit.id, answers)
            audits.append(workspace.ledger.change(audit.id, state="complete", finished_at=workspace.ledger.clock()))
        import registry.audits.taxonomy  # noqa: F401

        figures = {}
        began = time.perf_counter(), time.process_time()

        def lap(name: str) -> None:
            nonlocal began
            now = time.perf_counter(), time.process_time()
            figures[name] = {"wall_s": round(now[0] - began[0], 3), "cpu_s": round(now[1] - began[1], 3)}
            began = now

        for audit in audits:
            read_answers(workspace, audit)
        lap("read 2 x 10,000 personas from the ledger")
        for audit in audits:
            scored(workspace, audit)
        lap("score both, with all intervals")
        judged(workspace, audits[0], audits[1], workspace.home.policy())
        lap("freeze names, score both again, compare")
        figures["all"] = {unit: round(sum(f[unit] for f in figures.values()), 3) for unit in ("wall_s", "cpu_s")}
        figures["machine"] = {"cores": os.cpu_count() or 0}
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
