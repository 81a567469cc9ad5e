"""Whether an audit of messages asks about enough prompts for a verdict that is not about these prompts only."""

from __future__ import annotations

import math

from metrics.clustered import FEWEST_CELLS
from metrics.policy import Policy
from registry.audits.amounts import amounts
from registry.audits.design import CONTEXT_RICH, STANDALONE, Design
from registry.audits.plan import AuditPlan
from registry.audits.protocols.targeted_messages import design_of

_TO_SPARE = 1.5  # a prompt cell without a usable message of every group does not count, and models leave some


def too_few_prompts(plan: AuditPlan, policy: Policy) -> str:
    """Why audits of this plan can give no verdict in the context-rich mode, and which option does; empty when they can.

    Also empty for messages that somebody else collected, and below 5 prompt cells, where verdicts are about these only.

    >>> from registry.audits.protocols.targeted_messages import TargetedMessages
    >>> too_few_prompts(TargetedMessages().plan(cells=136, repeats=1), Policy())
    'the context-rich mode asks 15 prompt cells, and verdicts in it need 20: --cells 256 asks 30, some to spare'
    >>> too_few_prompts(TargetedMessages().plan(cells=256, repeats=1), Policy())
    ''
    """
    if not {"domain", "audiences"} <= set(plan.options) or CONTEXT_RICH not in plan.options["modes"]:
        return ""
    design = design_of(plan)
    asked, needed = amounts(design, **plan.sizes, size=None).contexts, policy.fewest_clusters
    if not FEWEST_CELLS <= asked < needed:
        return ""
    there = len(design.prompt_cells(CONTEXT_RICH))
    short = f"the {CONTEXT_RICH} mode asks {asked} prompt cells, and verdicts in it need {needed}"
    if there < needed:
        return f"{short}: this design has {there}, so give its domain more themes or regions"
    wanted = min(there, math.ceil(needed * _TO_SPARE))
    spare = ", some to spare" if wanted > needed else ""
    return f"{short}: --cells {_cells(design, wanted)} asks {wanted}{spare}"


def _cells(design: Design, contexts: int) -> int:
    standalone = len(design.cells_of(STANDALONE)) if STANDALONE in design.modes else 0
    return standalone + contexts * design.audience_cells
