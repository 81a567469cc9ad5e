"""How often does a comparison of releases err? Many simulated comparisons, judged by the product's own engine.

Question: false alarms, coverage of intervals and power, for personas that depend on each other within answers.
Run: ``python -m benchmarks.calibration --runs 1000 --results FILE``; then ``--report``.
"""
